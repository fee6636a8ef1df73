# SPDX-License-Identifier: MIT
"""C's values in the memory of a WebAssembly instance, which the tools use like those of cffi."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any, Protocol

from . import layout


class Memory(Protocol):
    """What values need of an instance."""

    native: Any
    """cffi's FFI, for the types."""

    def address(self, at: int) -> int:
        """Return where a byte of the instance is in this process."""

    def place(self, value: Any, kept: list[Any]) -> int:
        """Return a pointer's number; objects of Python are copied, and the copies put in `kept`."""


class Value:
    """A pointer, an array or a structure at `at`, as `ctype` of cffi says."""

    __slots__ = ("__weakref__", "_at", "_ctype", "_kept", "_memory")

    def __init__(self, memory: Memory, ctype: Any, at: int, kept: list[Any] | None = None) -> None:
        """Refer to memory; `kept` are the objects whose memory must not be freed before."""
        for name, each in (("_memory", memory), ("_ctype", ctype), ("_at", at)):
            object.__setattr__(self, name, each)
        object.__setattr__(self, "_kept", [] if kept is None else kept)

    def __bool__(self) -> bool:
        return bool(self._at)

    def __int__(self) -> int:
        return int(self._at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._at == other._at

    def __hash__(self) -> int:
        return hash(self._at)

    def __dir__(self) -> list[str]:
        ctype = self._ctype.item if self._ctype.kind == "pointer" else self._ctype
        return sorted(layout.of(ctype).fields)

    def __getattr__(self, name: str) -> Any:
        at, ctype = self._field(name)
        return self._get(ctype, at)

    def __setattr__(self, name: str, value: Any) -> None:
        at, ctype = self._field(name)
        self._set(ctype, at, value)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(index.start or 0, index.stop)]
        item = self._ctype.item
        return self._get(item, self._at + index * layout.of(item).size)

    def __setitem__(self, index: int, value: Any) -> None:
        item = self._ctype.item
        self._set(item, self._at + index * layout.of(item).size, value)

    def __len__(self) -> int:
        if self._ctype.kind != "array":
            raise TypeError(f"{self._ctype.cname} has no length")
        return int(self._ctype.length)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def fill(self, content: Any) -> None:
        """Set the value that this pointer points to, or the items of this array."""
        if self._ctype.kind == "array":
            for index, each in enumerate(content):
                self[index] = each
        else:
            self[0] = content

    def bytes(self, size: int) -> Any:
        """Return the memory from here on, of which slices are bytes."""
        return (ctypes.c_char * size).from_address(self._memory.address(self._at))

    def _field(self, name: str) -> tuple[int, Any]:
        ctype = self._ctype.item if self._ctype.kind == "pointer" else self._ctype
        try:
            offset, field = layout.of(ctype).fields[name]
        except KeyError:
            raise AttributeError(f"{ctype.cname} has no field {name}") from None
        return self._at + offset, field

    def _get(self, ctype: Any, at: int) -> Any:
        if ctype.kind in ("struct", "union", "array"):
            return Value(self._memory, ctype, at, self._kept)
        each = layout.of(ctype)
        number = struct.unpack(
            f"<{each.code}", ctypes.string_at(self._memory.address(at), each.size)
        )[0]
        return number if ctype.kind in ("primitive", "enum") else Value(self._memory, ctype, number)

    def _set(self, ctype: Any, at: int, value: Any) -> None:
        each = layout.of(ctype)
        if each.code:
            if ctype.kind not in ("primitive", "enum"):
                value = self._memory.place(value, self._kept)
            encoded = struct.pack(f"<{each.code}", value)
            ctypes.memmove(self._memory.address(at), encoded, each.size)
        elif isinstance(value, Value):  # a structure
            size = layout.of(ctype).size
            source = self._memory.address(int(value))
            ctypes.memmove(self._memory.address(at), source, size)
            self._kept.extend(value._kept)
        elif ctype.kind == "array":
            Value(self._memory, ctype, at, self._kept).fill(value)
        else:
            target = Value(self._memory, ctype, at, self._kept)
            rows = value if isinstance(value, dict) else dict(zip(each.fields, value, strict=False))
            for name, content in rows.items():
                setattr(target, name, content)
