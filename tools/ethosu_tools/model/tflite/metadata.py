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
from flatbuffers import number_types
from flatbuffers.table import Table

from .. import TFLITE

CONTENT_ALIGNMENT = 16
FILE_ALIGNMENT = 64

# Fields of the schema's tables, by number.
_MODEL_VERSION, _MODEL_GRAPHS, _MODEL_BUFFERS, _MODEL_METADATA = 0, 2, 4, 6
_GRAPH_TENSORS, _GRAPH_INPUTS, _GRAPH_OUTPUTS, _GRAPH_OPERATORS = 0, 1, 2, 3
_TENSOR_BUFFER = 2
_BUFFER_DATA = 0
_METADATA_NAME, _METADATA_BUFFER = 0, 1
# Fields that are numbers, by table; all others are offsets.
_WORD, _BYTE = number_types.Uint32Flags, number_types.Uint8Flags
_MODEL_NUMBERS = {_MODEL_VERSION: _WORD}
_GRAPH_NUMBERS = {5: _WORD}  # debug_metadata_index
_TENSOR_NUMBERS = {1: _BYTE, _TENSOR_BUFFER: _WORD, 5: _BYTE, 8: _BYTE}  # type, variable, has_rank


def put(data: bytes, contents: Mapping[str, bytes]) -> bytes:
    """Store metadata in a model, replacing entries with the same names."""
    result = bytearray(data)
    missing = {}
    spans = _spans(data)
    for name, content in contents.items():
        start, length = spans.get(name, (0, -1))
        if length == len(content):
            result[start : start + length] = content
        else:
            missing[name] = content
    return _with_front(bytes(result), missing, {}) if missing else bytes(result)


def put_constants(data: bytes, contents: Mapping[tuple[int, int], bytes]) -> bytes:
    """Turn tensors, given by numbers of graph and tensor, into constants."""
    return _with_front(data, {}, contents) if contents else data


def get(data: bytes, name: str) -> bytes | None:
    """Return the contents of a metadata entry, or None."""
    start, length = _spans(data).get(name, (0, -1))
    return None if length < 0 else data[start : start + length]


def set_graph(
    data: bytes, order: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """Give the main graph these operators, inputs and outputs; the file's length is unchanged.

    `order` is a permutation of operator numbers; the number of inputs and outputs is unchanged.
    """
    table = _tables(_model(data), _MODEL_GRAPHS)[0]
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


def swap_graphs(data: bytes, graph: int) -> bytes:
    """Exchange this subgraph and the first one; the file's length is unchanged."""
    table = _model(data)
    start = table.Vector(table.Offset(4 + 2 * _MODEL_GRAPHS))
    slots = [start, start + 4 * graph]
    targets = [slot + struct.unpack_from("<I", data, slot)[0] for slot in slots]
    result = bytearray(data)
    for slot, target in zip(slots, reversed(targets), strict=True):
        struct.pack_into("<I", result, slot, target - slot)
    return bytes(result)


def _model(data: bytes) -> Table:
    return Table(data, *struct.unpack_from("<I", data))


def _tables(table: Table, field: int) -> list[Table]:
    """Return the tables of a vector of them."""
    offset = table.Offset(4 + 2 * field)
    if not offset:
        return []
    start = table.Vector(offset)
    return [
        Table(table.Bytes, table.Indirect(start + 4 * index))
        for index in range(table.VectorLen(offset))
    ]


def _name(entry: Table) -> str:
    offset = entry.Offset(4 + 2 * _METADATA_NAME)
    name = entry.String(entry.Pos + offset) if offset else b""
    return str(name.decode(errors="replace"))


def _buffer_of(entry: Table) -> int:
    offset = entry.Offset(4 + 2 * _METADATA_BUFFER)
    return int(entry.Get(_WORD, entry.Pos + offset)) if offset else 0


def _spans(data: bytes) -> dict[str, tuple[int, int]]:
    """Return offset and length of the contents of each metadata entry."""
    model = _model(data)
    spans = {}
    buffers = _tables(model, _MODEL_BUFFERS)
    for entry in _tables(model, _MODEL_METADATA):
        table = buffers[_buffer_of(entry)]
        offset = table.Offset(4 + 2 * _BUFFER_DATA)
        if offset:
            spans[_name(entry)] = (table.Vector(offset), table.VectorLen(offset))
    return spans


def _with_front(
    data: bytes, contents: Mapping[str, bytes], constants: Mapping[tuple[int, int], bytes]
) -> bytes:
    """Prepend a new root table that adds (or replaces) metadata and values of tensors.

    A builder fills its bytes from the end and counts offsets from there. The old file is therefore
    put at the end first, and its tables are addressed by their distance from it.
    """
    data += bytes(-len(data) % FILE_ALIGNMENT)
    old = _model(data)
    builder = flatbuffers.Builder(2 * len(data))
    builder.head = len(builder.Bytes) - len(data)
    builder.Bytes[builder.head :] = data
    builder.minalign = FILE_ALIGNMENT

    buffers = [len(data) - each.Pos for each in _tables(old, _MODEL_BUFFERS)]
    entries = _tables(old, _MODEL_METADATA)
    metadata = [len(data) - each.Pos for each in entries if _name(each) not in contents]
    for name, content in contents.items():
        label = builder.CreateString(name)
        buffers.append(_buffer(builder, content))
        builder.StartObject(_METADATA_BUFFER + 1)
        builder.PrependUOffsetTRelativeSlot(_METADATA_NAME, label, 0)
        builder.PrependUint32Slot(_METADATA_BUFFER, len(buffers) - 1, 0)
        metadata.append(builder.EndObject())
    graphs = {}
    subgraphs = _tables(old, _MODEL_GRAPHS)
    for number in {graph for graph, _ in constants}:
        tensors = {}
        for tensor in (tensor for graph, tensor in constants if graph == number):
            buffers.append(_buffer(builder, constants[number, tensor]))
            tensors[tensor] = len(buffers) - 1
        graphs[number] = _with_buffers(builder, subgraphs[number], len(data), tensors)
    lists = {_MODEL_BUFFERS: _vector(builder, buffers), _MODEL_METADATA: _vector(builder, metadata)}
    if graphs:
        tables = [graphs.get(i, len(data) - each.Pos) for i, each in enumerate(subgraphs)]
        lists[_MODEL_GRAPHS] = _vector(builder, tables)
    builder.Finish(_table(builder, old, len(data), _MODEL_NUMBERS, lists), TFLITE.mark)
    return bytes(builder.Output())


def _buffer(builder: Any, content: bytes) -> int:
    builder.Prep(CONTENT_ALIGNMENT, len(content))
    vector = builder.CreateByteVector(content)
    builder.StartObject(_BUFFER_DATA + 1)
    builder.PrependUOffsetTRelativeSlot(_BUFFER_DATA, vector, 0)
    return int(builder.EndObject())


def _with_buffers(builder: Any, graph: Table, size: int, buffers: Mapping[int, int]) -> int:
    """Copy a graph and give tensors other buffers, both by number."""
    tensors = []
    for number, table in enumerate(_tables(graph, _GRAPH_TENSORS)):
        if number in buffers:
            changes = {_TENSOR_BUFFER: buffers[number]}
            tensors.append(_table(builder, table, size, _TENSOR_NUMBERS, changes))
        else:
            tensors.append(size - table.Pos)
    changes = {_GRAPH_TENSORS: _vector(builder, tensors)}
    return _table(builder, graph, size, _GRAPH_NUMBERS, changes)


def _vector(builder: Any, tables: Sequence[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return int(builder.EndVector())


def _table(
    builder: Any, old: Table, size: int, numbers: Mapping[int, Any], changes: Mapping[int, int]
) -> int:
    """Copy a table without these fields; `numbers` are the types of its scalar fields."""
    vtable = old.Pos - old.Get(number_types.SOffsetTFlags, old.Pos)
    slots = (old.Get(number_types.VOffsetTFlags, vtable) - 4) // 2
    length = max(slots, *(field + 1 for field in changes))
    builder.StartObject(length)
    for field in range(length):
        offset = old.Offset(4 + 2 * field) if field < slots else 0
        if field in numbers and (offset or field in changes):
            value = changes.get(field)
            stored = old.Get(numbers[field], old.Pos + offset) if value is None else value
            builder.PrependSlot(numbers[field], field, stored, None)
        elif offset or field in changes:
            value = changes.get(field)
            target = size - old.Indirect(old.Pos + offset) if value is None else value
            builder.PrependUOffsetTRelativeSlot(field, target, 0)
    return int(builder.EndObject())
