# SPDX-License-Identifier: MIT
"""Edits a `.tflite` and leaves everything else in it bit-identical.

Metadata of unchanged length is overwritten. Otherwise, a new root table is prepended to the file.
It refers to the old tables in place, to new lists of buffers and metadata, and to the new
contents. The new front part is a multiple of 64 bytes long to preserve alignment, because an NPU
reads command stream and weights directly from the file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers

from ..model import TFLITE

CONTENT_ALIGNMENT = 16
FILE_ALIGNMENT = 64

# Fields of the schema's tables, by number.
_MODEL_VERSION, _MODEL_BUFFERS, _MODEL_METADATA = 0, 4, 6
_GRAPH_INPUTS, _GRAPH_OUTPUTS, _GRAPH_OPERATORS = 1, 2, 3
_BUFFER_DATA = 0


def put(data: bytes, contents: Mapping[str, bytes]) -> bytes:
    """A model with this metadata, replacing entries with the same names."""
    result = bytearray(data)
    missing = {}
    spans = _spans(data)
    for name, content in contents.items():
        start, length = spans.get(name, (0, -1))
        if length == len(content):
            result[start : start + length] = content
        else:
            missing[name] = content
    return _with_front(bytes(result), missing) if missing else bytes(result)


def get(data: bytes, name: str) -> bytes | None:
    """Contents of a metadata entry, or None."""
    start, length = _spans(data).get(name, (0, -1))
    return None if length < 0 else data[start : start + length]


def set_graph(
    data: bytes, order: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """A model of the same length whose main graph has these operators, inputs and outputs.

    `order` is a permutation of operator numbers; the number of inputs and outputs is unchanged.
    """
    table = _model(data).Subgraphs(0)._tab
    result = bytearray(data)

    def vector(field: int) -> int:
        return int(table.Vector(table.Offset(4 + 2 * field)))

    for field, tensors in ((_GRAPH_INPUTS, inputs), (_GRAPH_OUTPUTS, outputs)):
        if tensors:
            struct.pack_into(f"<{len(tensors)}i", result, vector(field), *tensors)
    if order:
        start = vector(_GRAPH_OPERATORS)
        struct.pack_into("<I", result, start - 4, len(order))
        for position, index in enumerate(order):
            slot, old = start + 4 * position, start + 4 * index
            target = old + struct.unpack_from("<I", data, old)[0]
            struct.pack_into("<I", result, slot, target - slot)
    return bytes(result)


def _model(data: bytes) -> Any:
    from ethosu.vela.tflite.Model import Model

    return Model.GetRootAs(data, 0)


def _name(entry: Any) -> str:
    return (entry.Name() or b"").decode(errors="replace")


def _spans(data: bytes) -> dict[str, tuple[int, int]]:
    """Offset and length of the contents of each metadata entry."""
    model = _model(data)
    spans = {}
    for index in range(model.MetadataLength()):
        entry = model.Metadata(index)
        table = model.Buffers(entry.Buffer())._tab
        offset = table.Offset(4 + 2 * _BUFFER_DATA)
        if offset:
            spans[_name(entry)] = (table.Vector(offset), table.VectorLen(offset))
    return spans


def _with_front(data: bytes, contents: Mapping[str, bytes]) -> bytes:
    """The file behind a new root table that adds (or replaces) metadata.

    A builder fills its bytes from the end and counts offsets from there. The old file is therefore
    put at the end first, and its tables are addressed by their distance from it.
    """
    from ethosu.vela.tflite import Buffer, Metadata

    data += bytes(-len(data) % FILE_ALIGNMENT)
    old = _model(data)
    builder = flatbuffers.Builder(2 * len(data))
    builder.head = len(builder.Bytes) - len(data)
    builder.Bytes[builder.head :] = data
    builder.minalign = FILE_ALIGNMENT

    buffers = [len(data) - old.Buffers(i)._tab.Pos for i in range(old.BuffersLength())]
    entries = [old.Metadata(i) for i in range(old.MetadataLength())]
    metadata = [len(data) - each._tab.Pos for each in entries if _name(each) not in contents]
    for name, content in contents.items():
        label = builder.CreateString(name)
        builder.Prep(CONTENT_ALIGNMENT, len(content))
        vector = builder.CreateByteVector(content)
        Buffer.Start(builder)
        Buffer.AddData(builder, vector)
        buffers.append(Buffer.End(builder))
        Metadata.Start(builder)
        Metadata.AddName(builder, label)
        Metadata.AddBuffer(builder, len(buffers) - 1)
        metadata.append(Metadata.End(builder))
    lists = {_MODEL_BUFFERS: _vector(builder, buffers), _MODEL_METADATA: _vector(builder, metadata)}
    _finish(builder, old, len(data), lists)
    return bytes(builder.Output())


def _vector(builder: Any, tables: Sequence[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return int(builder.EndVector())


def _finish(builder: Any, old: Any, size: int, lists: Mapping[int, int]) -> None:
    """Write a root table with the fields of the old one, except these lists."""
    table = old._tab
    vtable = table.Pos - table.Get(flatbuffers.number_types.SOffsetTFlags, table.Pos)
    slots = (table.Get(flatbuffers.number_types.VOffsetTFlags, vtable) - 4) // 2
    builder.StartObject(max(slots, *(field + 1 for field in lists)))
    for field in range(slots):
        offset = table.Offset(4 + 2 * field)
        if offset and field == _MODEL_VERSION:
            builder.PrependUint32Slot(field, old.Version(), 0)
        elif offset and field not in lists:
            builder.PrependUOffsetTRelativeSlot(field, size - table.Indirect(table.Pos + offset), 0)
    for field, vector in lists.items():
        builder.PrependUOffsetTRelativeSlot(field, vector, 0)
    builder.Finish(builder.EndObject(), TFLITE.mark)
