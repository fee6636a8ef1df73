# SPDX-License-Identifier: MIT
"""Models as C arrays, the form in TensorFlow Lite Micro, Zephyr and Arduino sketches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..base.errors import UsageError
from .kinds import MODELS, kind_of

# An initialiser with only numbers, as `xxd -i` and converters write it.
_ARRAY = re.compile(rb"=\s*\{([\s0-9a-fA-FxX,uU]+)\}")
_COMMENTS = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)


def find(text: bytes) -> bytes | None:
    """Find the first model in C source; None if there is none, or the file is not text."""
    if b"\0" in text or b"{" not in text:
        return None
    found = _arrays(_COMMENTS.sub(b" ", text))
    return next((array for array in found if kind_of(array) in MODELS), None)


def _arrays(text: bytes) -> Iterator[bytes]:
    """Return the bytes of each array whose elements are numbers of one byte."""
    for match in _ARRAY.finditer(text):
        words = match[1].translate(None, b" \t\r\n").rstrip(b",").split(b",")
        try:
            yield bytes(int(word.rstrip(b"uU"), 0) for word in words)
        except ValueError:  # an element does not fit a byte, or is not a number
            continue


HEADERS, SOURCES = (".h", ".hpp"), (".c", ".cc", ".cpp")
# The NPU reads weights in place from this alignment, which TensorFlow Lite Micro needs, too.
_ALIGNMENT = 16
_PER_LINE = 16
# Words that no array in C or C++ can have as a name.
_KEYWORDS = re.compile(
    "alignas|alignof|and|asm|auto|bool|break|case|catch|char|class|const|continue|default|"
    "delete|do|double|else|enum|explicit|export|extern|false|final|float|for|friend|goto|"
    "if|inline|int|long|mutable|namespace|new|not|nullptr|operator|or|override|private|"
    "protected|public|register|restrict|return|short|signed|sizeof|static|struct|switch|"
    "template|this|throw|true|try|typedef|typename|union|unsigned|using|virtual|void|"
    "volatile|while|xor"
)


def name_of(file: Path) -> str:
    """Return the name of the array in a file: the file's, as an identifier of C and C++."""
    if file.suffix not in (*HEADERS, *SOURCES):
        raise UsageError(f"{file} must end in {', '.join((*HEADERS, *SOURCES))}")
    name = re.sub(r"_*\W+_*|__+", "_", file.stem, flags=re.ASCII).strip("_")
    return name if name and name[0].isalpha() and not _KEYWORDS.fullmatch(name) else f"model_{name}"


def source(data: bytes, file: Path, comment: str, section: str | None = None) -> str:
    """Return C and C++ source with a file as NAME[], and its size as NAME_len.

    A header has them as static, a source as external. `section` is that of the linker.
    """
    name = name_of(file)
    attributes = [f"aligned({_ALIGNMENT})", *([f'section("{section}")'] if section else [])]
    types = {f"{name}[]": "const unsigned char", f"{name}_len": "const unsigned int"}
    if file.suffix in HEADERS:
        head, static = ["#pragma once"], "static "
    else:
        head, static = [f"extern {kind} {variable};" for variable, kind in types.items()], ""
    rows = (data[at : at + _PER_LINE] for at in range(0, len(data), _PER_LINE))
    array, length = (f"{static}{kind} {variable}" for variable, kind in types.items())
    return "\n".join(
        [
            f"/* {comment.replace('*/', '* /')} */",
            *head,
            f"{array} __attribute__(({', '.join(attributes)})) = {{",
            *(f"    {', '.join(f'0x{byte:02x}' for byte in row)}," for row in rows),
            "};",
            f"{length} = {len(data)};",
            "",
        ]
    )
