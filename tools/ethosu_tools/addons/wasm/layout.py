# SPDX-License-Identifier: MIT
"""Where C's values are in the memory of a WebAssembly instance.

cffi knows the declarations, but lays them out for this machine. In WebAssembly pointers, `long` and
enumerations have 4 bytes, and each number is aligned to its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

POINTER = "I"
# Codes of the module `struct`, by C's names.
_CODES = {
    "char": "c",
    "signed char": "b",
    "int8_t": "b",
    "unsigned char": "B",
    "uint8_t": "B",
    "_Bool": "?",
    "short": "h",
    "int16_t": "h",
    "unsigned short": "H",
    "uint16_t": "H",
    "int": "i",
    "long": "i",
    "int32_t": "i",
    "intptr_t": "i",
    "ptrdiff_t": "i",
    "ssize_t": "i",
    "off_t": "i",
    "unsigned int": "I",
    "unsigned long": "I",
    "uint32_t": "I",
    "size_t": "I",
    "uintptr_t": "I",
    "long long": "q",
    "int64_t": "q",
    "unsigned long long": "Q",
    "uint64_t": "Q",
    "float": "f",
    "double": "d",
}
_SIZES = dict(zip("cbB?hHiIqQfd", (1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8), strict=True))


@dataclass(frozen=True)
class Layout:
    """Size and alignment of a type; code: of a number or pointer, or ""; fields: of a structure."""

    size: int
    align: int
    code: str
    fields: dict[str, tuple[int, Any]]


@cache
def of(ctype: Any) -> Layout:
    """Lay out a type of cffi."""
    if ctype.kind in ("struct", "union"):
        return _of_fields(ctype)
    if ctype.kind == "array":
        item = of(ctype.item)
        return Layout(item.size * (ctype.length or 0), item.align, "", {})
    code = _CODES[ctype.cname] if ctype.kind == "primitive" else POINTER
    if ctype.kind == "enum" and any(value < 0 for value in ctype.elements):
        code = "i"
    return Layout(_SIZES[code], _SIZES[code], code, {})


def _of_fields(ctype: Any) -> Layout:
    fields: dict[str, tuple[int, Any]] = {}
    end, size, align = 0, 0, 1
    for name, field in ctype.fields or ():
        if field.bitsize >= 0:
            raise NotImplementedError(f"{ctype.cname}.{name} is a bit field")
        each = of(field.type)
        at = 0 if ctype.kind == "union" else _round_up(end, each.align)
        fields[name] = at, field.type
        end = at + each.size
        size, align = max(size, end), max(align, each.align)
    return Layout(_round_up(size, align), align, "", fields)


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align
