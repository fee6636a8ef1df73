# SPDX-License-Identifier: MIT
"""Reads ExecuTorch programs (.pte).

Source of field numbers and layouts: schema/program.fbs and the extended header of
pytorch/executorch 1.5. Files come from anywhere, so every failure to read one is an InputError.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from .data_file import DataFile
from .tables import F64, I8, I32, I64, U8, U32, U64, Row
from .vela_binary import VelaBinary

IDENTIFIER = b"ET12"
BACKEND = "EthosUBackend"
_EXTENDED = b"eh00"
_HEADER = struct.Struct("<4sIQQ")
_HEADER_AT = 8
_HEADER_LEAST = 24
_LARGEST_TENSOR = 2**31 - 1
_MOST_DIMENSIONS = 16  # of ExecuTorch

# ExecuTorch's ScalarType numbers of the types that arrays can have here.
DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}

VALUES = (
    *("none", "null", "int", "bool", "double", "tensor", "string", "ints", "doubles", "bools"),
    *("tensors", "optional tensors"),
)
# Kinds whose content are numbers of values.
_LISTS = {"ints": I64, "tensors": I32, "optional tensors": I32}
KERNEL, DELEGATE, MOVE, JUMP, FREE = range(1, 6)
_CONSTANTS = ("null", "int", "bool", "double", "string", "tensor")
_INLINE, _SEGMENT = 0, 1


@dataclass(frozen=True)
class Tensor:
    """A tensor's place: planned in buffer 1 and up, or constant, in buffer 0.

    sizes are in the exporter's order (N, C, H, W); order names dimensions from outermost to
    innermost; data_index: where the constant or initial value is, 0: it has none.
    """

    dtype: str
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    data_index: int = 0
    buffer: int = 0
    offset: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order in which the bytes lie: NHWC for channels_last."""
        return tuple(self.sizes[index] for index in self.order)

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.sizes) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Value:
    """A value of a method; kind: one of VALUES; the content of most lists are numbers of values."""

    kind: str
    content: Any = None


@dataclass(frozen=True)
class Instruction:
    """A call of operator or delegate `index`, or another instruction, by its type."""

    type: int
    index: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Delegate:
    """What a backend computes; specs: how it was compiled."""

    backend: str
    data: bytes = field(repr=False)
    specs: dict[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class Method:
    """A function of a program; lists hold numbers of values; buffers: sizes, without number 0."""

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    instructions: tuple[Instruction, ...]
    operators: tuple[str, ...]
    delegates: tuple[Delegate, ...]
    buffers: tuple[int, ...]

    def tensor(self, index: int) -> Tensor:
        """A value that must be a tensor."""
        content = self.value(index).content
        if not isinstance(content, Tensor):
            raise InputError(f"value {index} of method {self.name} is no tensor")
        return content

    def value(self, index: int) -> Value:
        """A value by its number."""
        if not 0 <= index < len(self.values):
            raise InputError(f"method {self.name} names value {index} of {len(self.values)}")
        return self.values[index]

    def tensors(self, values: Iterable[int]) -> Iterator[int]:
        """Numbers of the tensors among these values, and in the lists among them."""
        for index in values:
            value = self.value(index)
            if value.kind == "tensor":
                yield index
            elif value.kind in ("tensors", "optional tensors"):
                yield from (each for each in value.content if each >= 0)

    @property
    def constant(self) -> Any:
        """What a method without instructions returns: a value, or a tuple of several.

        None: it is not such a method.
        """
        if self.instructions or self.inputs or not self.outputs:
            return None
        values = [self.value(index) for index in self.outputs]
        if any(value.kind not in _CONSTANTS for value in values):
            return None
        return values[0].content if len(values) == 1 else tuple(value.content for value in values)


class Program:
    """A program; methods are read when they are asked for."""

    def __init__(self, data: bytes, named: Iterable[DataFile] = ()) -> None:
        """Read a program; `named` are the files that hold its external data."""
        if data[4:8] != IDENTIFIER:
            raise InputError(
                f"not an ExecuTorch program: expected {IDENTIFIER!r} at byte 4, found {data[4:8]!r}"
            )
        self.data = data
        self._named = tuple(named)
        self._tables, self.segments_at = _header(data)
        self.root = Row.root(self._tables)
        self.methods = tuple(row.text(0) for row in self.root.tables(1))

    def method(self, name: str = "forward") -> Method:
        """Read a method."""
        if name not in self.methods:
            raise InputError(f"there is no method {name}, but {', '.join(self.methods) or 'none'}")
        return self._method(self.root.entry(1, self.methods.index(name)))

    @property
    def constants_at(self) -> tuple[int, tuple[int, ...]]:
        """The segment of the constants, and where each begins in it."""
        row = self.root.table(5)
        return (row.number(0, U32), row.numbers(1, U64)) if row else (0, ())

    def constant(self, name: str) -> Any:
        """What a constant method returns; None: there is no such method."""
        return self.method(name).constant if name in self.methods else None

    def binary(self, delegate: Delegate, missing: bytes | None = None) -> VelaBinary:
        """The blocks of an Ethos-U delegate; `missing` stands for data that is nowhere."""
        if delegate.backend != BACKEND:
            raise InputError(f"a delegate is for {delegate.backend}, expected {BACKEND}")
        return VelaBinary.parse(delegate.data, lambda key: self.find(key, missing))

    def absent(self, method: Method) -> set[str]:
        """Names of data that a method's delegates need, and that is nowhere."""
        keys: set[str] = set()

        def note(key: str) -> bytes:
            found = self.find(key, b"")
            if not found:
                keys.add(key)
            return found

        for delegate in method.delegates:
            if delegate.backend == BACKEND:
                VelaBinary.parse(delegate.data, note)
        return keys

    def find(self, key: str, missing: bytes | None = None) -> bytes:
        """External data, in the program or in the files given with it, else `missing`."""
        if key in self._entries:
            return self.segment(self._entries[key])
        for file in self._named:
            if key in file.entries:
                return file.entries[key]
        if missing is not None:
            return missing
        raise InputError(f"data {key} is in another file (.ptd), which was not given")

    def segment(self, index: int) -> bytes:
        """The contents of a segment."""
        row = self.root.entry(4, index)
        offset, size = row.number(0, U64), row.number(1, U64)
        start = self.segments_at + offset
        if start + size > len(self.data):
            raise InputError(f"segment {index} ends at byte {start + size:,} of {len(self.data):,}")
        return self.data[start : start + size]

    @cached_property
    def _entries(self) -> dict[str, int]:
        return {row.text(0): row.number(1, U32) for row in self.root.tables(7)}

    def _method(self, row: Row) -> Method:
        chains = list(row.tables(5))
        if len(chains) > 1:
            raise InputError(f"method {row.text(0)} has {len(chains)} chains of instructions")
        operators = ((each.text(0), each.text(1)) for each in row.tables(6))
        return Method(
            name=row.text(0),
            values=tuple(_value(*each.union(0)) for each in row.tables(2)),
            inputs=row.numbers(3, I32),
            outputs=row.numbers(4, I32),
            instructions=tuple(
                _instruction(*each.union(0)) for chain in chains for each in chain.tables(2)
            ),
            operators=tuple(name for name, _ in operators),
            delegates=tuple(self._delegate(each) for each in row.tables(7)),
            buffers=row.numbers(8, I64)[1:],
        )

    def _delegate(self, row: Row) -> Delegate:
        reference = row.table(1)
        place = reference.number(0, I8) if reference else _INLINE
        index = reference.number(1, U32) if reference else 0
        if place == _SEGMENT:
            data = self.segment(index)
        else:
            data = bytes(self.root.entry(3, index).contents(0))
        specs = {spec.text(0): bytes(spec.contents(1)) for spec in row.tables(2)}
        return Delegate(row.text(0), data, specs)


def _header(data: bytes) -> tuple[bytes, int]:
    """The tables of a file, and where its segments begin."""
    if data[_HEADER_AT : _HEADER_AT + 4] != _EXTENDED:
        return data, 0
    _, length, tables, segments = _HEADER.unpack_from(data, _HEADER_AT)
    if length < _HEADER_LEAST or tables > len(data) or segments > len(data):
        raise InputError(
            f"its header has {length} bytes and names tables up to byte {tables:,}, segments at "
            f"byte {segments:,} of {len(data):,}"
        )
    return data[:tables], segments


def _value(kind: int, row: Row | None) -> Value:
    if kind >= len(VALUES):
        return Value(f"type {kind}")
    name = VALUES[kind]
    if row is None or name in ("none", "null"):
        return Value(name)
    scalars = {"int": I64, "bool": U8, "double": F64}
    if name in scalars:
        number = row.number(0, scalars[name])
        return Value(name, bool(number) if name == "bool" else number)
    if name == "string":
        return Value(name, row.text(0))
    if name in _LISTS:
        return Value(name, row.numbers(0, _LISTS[name]))
    return Value(name, _tensor(row) if name == "tensor" else None)


def _tensor(row: Row) -> Tensor:
    number = row.number(0, I8)
    sizes, order = row.numbers(2, I32), row.numbers(3, U8)
    if number not in DTYPES:
        raise InputError(f"a tensor has type {number}, which no array can hold")
    if max(len(sizes), len(order)) > _MOST_DIMENSIONS:
        raise InputError(
            f"a tensor has {len(sizes):,} dimensions, at most {_MOST_DIMENSIONS} expected"
        )
    if row.number(8, I8) != 0:
        raise InputError("a tensor has a dynamic shape: export it with static shapes")
    if sorted(order) != list(range(len(sizes))) or min(sizes, default=0) < 0:
        raise InputError(f"a tensor has sizes {list(sizes)} in the order {list(order)}")
    place = row.table(6)
    tensor = Tensor(
        DTYPES[number],
        sizes,
        order,
        row.number(5, U32),
        place.number(0, U32) if place else 0,
        place.number(1, U32) | place.number(2, U32) << 32 if place else 0,
    )
    if tensor.size > _LARGEST_TENSOR:
        raise InputError(f"a tensor has sizes {list(sizes)}: no arena can hold it")
    return tensor


def _instruction(kind: int, row: Row | None) -> Instruction:
    if row is None:
        raise InputError(f"an instruction of type {kind} has no content")
    arguments = row.numbers(1, I32) if kind in (KERNEL, DELEGATE) else ()
    return Instruction(kind, row.number(0, I32), arguments)
