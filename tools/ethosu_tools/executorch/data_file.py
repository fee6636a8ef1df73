# SPDX-License-Identifier: MIT
"""Data files (.ptd, "FlatTensor"): blocks of data that programs name.

Source: extension/flat_tensor of pytorch/executorch 1.5.
"""

import struct
from dataclasses import dataclass

from ..errors import InputError
from .tables import U32, U64, Row

IDENTIFIER = b"FT01"
_MAGIC = b"FH01"
_HEADER = struct.Struct("<4sIQQQQ")
_HEADER_AT = 8


@dataclass(frozen=True)
class DataFile:
    """The blocks of a file, by key."""

    entries: dict[str, bytes]

    @classmethod
    def parse(cls, data: bytes) -> "DataFile":
        """Read a file."""
        if len(data) < _HEADER_AT + _HEADER.size:
            raise InputError(f"not a .ptd file: {len(data)} bytes, its header alone has more")
        magic, _, _, _, start, size = _HEADER.unpack_from(data, _HEADER_AT)
        if data[4:8] != IDENTIFIER or magic != _MAGIC:
            raise InputError(
                f"not a .ptd file: expected {IDENTIFIER!r} and {_MAGIC!r} at bytes 4 and 8, "
                f"found {data[4:8]!r} and {magic!r}"
            )
        if start + size > len(data):
            raise InputError(f"segments at bytes {start:,} to {start + size:,} of {len(data):,}")
        root = Row.root(data)
        segments = [(row.number(0, U64), row.number(1, U64)) for row in root.tables(1)]
        entries = {}
        for row in root.tables(2):
            index = row.number(1, U32)
            if index >= len(segments):
                raise InputError(f"data {row.text(0)} is in segment {index} of {len(segments)}")
            offset, length = segments[index]
            if offset + length > size:
                raise InputError(f"segment {index} ends at byte {offset + length:,} of {size:,}")
            entries[row.text(0)] = data[start + offset : start + offset + length]
        return cls(entries)
