# SPDX-License-Identifier: MIT
"""Puts metadata into a `.tflite` and leaves everything else as it is, bit by bit.

What has its old length is written over. For the rest, a new root table is put in front of the file:
it points to the old tables where they lie, to new lists of buffers and metadata, and to the new
contents. Flatbuffers point by distance and only forward, so the old bytes need no change, and since
the front is a multiple of 64 bytes long, nothing loses its alignment: an NPU reads command stream
and weights where they lie in the file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..tflite import IDENTIFIER

CONTENT_ALIGNMENT = 16
FILE_ALIGNMENT = 64

# Fields of the schema's tables, by number.
MODEL_BUFFERS, MODEL_METADATA = 4, 6
MODEL_SCALARS = (0,)  # the version; every other field points to a table, string or vector
GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS = 1, 2, 3
METADATA_NAME, METADATA_BUFFER = 0, 1
BUFFER_DATA = 0


def put(data: bytes, contents: Mapping[str, bytes]) -> bytes:
    """A model with this metadata, in place of what it had under these names."""
    result = bytearray(data)
    missing = {}
    places = _places(data)
    for name, content in contents.items():
        start, length = places.get(name, (0, -1))
        if length == len(content):
            result[start : start + length] = content
        else:
            missing[name] = content
    return _with_front(bytes(result), missing) if missing else bytes(result)


def get(data: bytes, name: str) -> bytes | None:
    """Contents of a metadata entry, None when there is none."""
    start, length = _places(data).get(name, (0, -1))
    return None if length < 0 else data[start : start + length]


def set_graph(
    data: bytes, order: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """A model of the same length whose main graph has these operators and ends.

    `order` has numbers of operators, each once; there are as many inputs and outputs as before.
    """
    from ethosu.vela.tflite.Model import Model

    table = Model.GetRootAs(data, 0).Subgraphs(0)._tab
    result = bytearray(data)

    def vector(field: int) -> int:
        return int(table.Vector(table.Offset(4 + 2 * field)))

    for field_number, tensors in ((GRAPH_INPUTS, inputs), (GRAPH_OUTPUTS, outputs)):
        if tensors:
            struct.pack_into(f"<{len(tensors)}i", result, vector(field_number), *tensors)
    if order:
        start = vector(GRAPH_OPERATORS)
        struct.pack_into("<I", result, start - 4, len(order))
        for position, index in enumerate(order):
            slot, old = start + 4 * position, start + 4 * index
            target = old + struct.unpack_from("<I", data, old)[0]
            struct.pack_into("<I", result, slot, target - slot)
    return bytes(result)


def _places(data: bytes) -> dict[str, tuple[int, int]]:
    """Where the contents of each metadata entry lie: first byte and length."""
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    places = {}
    for index in range(model.MetadataLength()):
        entry = model.Metadata(index)
        table = model.Buffers(entry.Buffer())._tab
        offset = table.Offset(4 + 2 * BUFFER_DATA)
        if offset:
            name = (entry.Name() or b"").decode(errors="replace")
            places[name] = (table.Vector(offset), table.VectorLen(offset))
    return places


@dataclass
class _Front:
    """Bytes in the making; pointers are filled in when all is laid out."""

    data: bytearray = field(default_factory=bytearray)

    def reserve(self, size: int, alignment: int = 4) -> int:
        """Take bytes; returns where they begin."""
        self.data += bytes(-len(self.data) % alignment)
        at = len(self.data)
        self.data += bytes(size)
        return at

    def word(self, at: int, value: int) -> None:
        struct.pack_into("<I", self.data, at, value)

    def point(self, at: int, target: int) -> None:
        self.word(at, target - at)

    def table(self, fields: Mapping[int, int]) -> dict[int, int]:
        """A table with 4-byte fields at the numbers given; returns where each field is.

        Key -1 is the table itself.
        """
        slots = max(fields, default=-1) + 1
        vtable = self.reserve(4 + 2 * slots, 2)
        table = self.reserve(4 + 4 * len(fields))
        struct.pack_into("<HH", self.data, vtable, 4 + 2 * slots, 4 + 4 * len(fields))
        struct.pack_into("<i", self.data, table, table - vtable)
        places = {-1: table}
        for position, (number, value) in enumerate(sorted(fields.items())):
            places[number] = table + 4 + 4 * position
            struct.pack_into("<H", self.data, vtable + 4 + 2 * number, 4 + 4 * position)
            self.word(places[number], value)
        return places

    def vector(self, count: int) -> int:
        """A vector of `count` pointers; returns where the first is."""
        at = self.reserve(4 + 4 * count)
        self.word(at, count)
        return at + 4

    def bytes(self, content: bytes, alignment: int = 4) -> int:
        """A vector of bytes, aligned; a zero follows, as strings want it. Returns its start."""
        self.data += bytes(-(len(self.data) + 4) % alignment)
        at = self.reserve(4 + len(content) + 1)
        self.word(at, len(content))
        self.data[at + 4 : at + 4 + len(content)] = content
        return at


def _with_front(data: bytes, contents: Mapping[str, bytes]) -> bytes:
    """The file behind a new root table that adds (or replaces) metadata."""
    from ethosu.vela.tflite.Model import Model

    old = Model.GetRootAs(data, 0)
    kept = [
        index
        for index in range(old.MetadataLength())
        if (old.Metadata(index).Name() or b"").decode(errors="replace") not in contents
    ]
    front = _Front()
    front.reserve(8)
    front.data[4:8] = IDENTIFIER
    fields = _root_fields(old)
    root = front.table(dict.fromkeys({*fields, MODEL_BUFFERS, MODEL_METADATA}, 0))
    front.point(0, root[-1])
    buffers = front.vector(old.BuffersLength() + len(contents))
    metadata = front.vector(len(kept) + len(contents))
    front.point(root[MODEL_BUFFERS], buffers - 4)
    front.point(root[MODEL_METADATA], metadata - 4)
    for index, (name, content) in enumerate(contents.items()):
        number = old.BuffersLength() + index
        _add_buffer(front, buffers + 4 * number, content)
        _add_entry(front, metadata + 4 * (len(kept) + index), name, number)
    front.reserve(0, FILE_ALIGNMENT)
    for number, at in fields.items():
        value = struct.unpack_from("<I", data, at)[0]
        if number in MODEL_SCALARS:
            front.word(root[number], value)
        elif number not in (MODEL_BUFFERS, MODEL_METADATA):
            front.point(root[number], len(front.data) + at + value)
    for index in range(old.BuffersLength()):
        front.point(buffers + 4 * index, len(front.data) + old.Buffers(index)._tab.Pos)
    for index, number in enumerate(kept):
        front.point(metadata + 4 * index, len(front.data) + old.Metadata(number)._tab.Pos)
    return bytes(front.data) + data


def _root_fields(model: Any) -> dict[int, int]:
    """Where the old root's fields lie in the old file, by number."""
    table = model._tab
    vtable = table.Pos - struct.unpack_from("<i", table.Bytes, table.Pos)[0]
    slots = (struct.unpack_from("<H", table.Bytes, vtable)[0] - 4) // 2
    offsets = struct.unpack_from(f"<{slots}H", table.Bytes, vtable + 4)
    return {number: table.Pos + offset for number, offset in enumerate(offsets) if offset}


def _add_buffer(front: _Front, slot: int, content: bytes) -> None:
    table = front.table({BUFFER_DATA: 0})
    front.point(slot, table[-1])
    front.point(table[BUFFER_DATA], front.bytes(content, CONTENT_ALIGNMENT))


def _add_entry(front: _Front, slot: int, name: str, buffer: int) -> None:
    table = front.table({METADATA_NAME: 0, METADATA_BUFFER: buffer})
    front.point(slot, table[-1])
    front.point(table[METADATA_NAME], front.bytes(name.encode()))
