# SPDX-License-Identifier: MIT
"""Writes a FlatBuffer from dictionaries, by the numbers of the schema's fields.

A table is a dictionary from field to scalar, text, bytes (aligned to 16), numbers, table, or list
of tables. A dictionary that is used more than once is stored as one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import flatbuffers
from flatbuffers import number_types as types


@dataclass(frozen=True)
class Scalar:
    """A number in a table; a 0 is not stored."""

    kind: Any
    value: Any


@dataclass(frozen=True)
class Numbers:
    """A vector of numbers."""

    kind: Any
    values: Sequence[Any]


Table = Mapping[int, Any]


# Numbers in a table, by type: u8(3), f32(0.5).
u8, i8 = partial(Scalar, types.Uint8Flags), partial(Scalar, types.Int8Flags)
u32, i32 = partial(Scalar, types.Uint32Flags), partial(Scalar, types.Int32Flags)
u64, i64 = partial(Scalar, types.Uint64Flags), partial(Scalar, types.Int64Flags)
f32, f64 = partial(Scalar, types.Float32Flags), partial(Scalar, types.Float64Flags)
# Vectors of numbers: i32s([1, 2]).
u8s, i32s = partial(Numbers, types.Uint8Flags), partial(Numbers, types.Int32Flags)
u64s, i64s = partial(Numbers, types.Uint64Flags), partial(Numbers, types.Int64Flags)
f32s = partial(Numbers, types.Float32Flags)


def encode(root: Table, identifier: bytes) -> bytes:
    """Encode a root table as a FlatBuffer."""
    builder = flatbuffers.Builder(4096)
    builder.Finish(_table(builder, root, {}), identifier)
    return bytes(builder.Output())


def _vector(builder: Any, kind: Any, values: Sequence[Any], alignment: int) -> int:
    builder.StartVector(kind.bytewidth, len(values), alignment)
    for value in reversed(values):
        builder.Prepend(kind, value)
    return int(builder.EndVector())


def _offset(builder: Any, node: Any, tables: dict[int, int]) -> int:
    if isinstance(node, str):
        return int(builder.CreateString(node))
    if isinstance(node, bytes):
        return _vector(builder, types.Uint8Flags, node, 16)
    if isinstance(node, Numbers):
        return _vector(builder, node.kind, node.values, node.kind.bytewidth)
    if isinstance(node, list):
        offsets = [_table(builder, each, tables) for each in node]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return int(builder.EndVector())
    return _table(builder, node, tables)


def _table(builder: Any, fields: Table, tables: dict[int, int]) -> int:
    """Write a table, unless it is already in `tables`.

    Tables are identified by id(), since all dictionaries live as long as the root.
    """
    if id(fields) in tables:
        return tables[id(fields)]
    offsets = {
        number: _offset(builder, node, tables)
        for number, node in fields.items()
        if not isinstance(node, Scalar)
    }
    builder.StartObject(max(fields, default=-1) + 1)
    for number, node in fields.items():
        if isinstance(node, Scalar):
            builder.PrependSlot(node.kind, number, node.value, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(number, offsets[number], 0)
    tables[id(fields)] = int(builder.EndObject())
    return tables[id(fields)]
