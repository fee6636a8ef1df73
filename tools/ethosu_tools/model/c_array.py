# SPDX-License-Identifier: MIT
"""Models as C arrays, the form in TensorFlow Lite Micro, Zephyr and Arduino sketches."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
