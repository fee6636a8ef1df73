# SPDX-License-Identifier: MIT
"""Writes ExecuTorch programs (.pte) and data files (.ptd) from scratch, for tests.

Field numbers: schema/program.fbs and extension/flat_tensor of pytorch/executorch 1.5, repeated
here, independently of the tools' reader and the runtime.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ethosu_tools.model.tflite.flatbuffer_writer import (
    encode,
    f64,
    i8,
    i32,
    i32s,
    i64,
    i64s,
    u8,
    u8s,
    u32,
    u64,
    u64s,
)

SCALARS = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "uint16": 27,
}
NULL, INT, BOOL, DOUBLE, TENSOR, STRING, INTS = range(1, 8)
TENSORS = 10
KERNEL, DELEGATE, MOVE, JUMP, FREE = range(1, 6)
SEGMENT_ALIGNMENT = 128
_HEADER_BYTES = 32


def union(kind: int, content: Mapping[int, Any]) -> dict[int, Any]:
    return {0: u8(kind), 1: content}


@dataclass
class Method:
    """A function of a program, which collects values and instructions."""

    name: str = "forward"
    values: Any = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    instructions: Any = field(default_factory=list)
    operators: list[tuple[str, str]] = field(default_factory=list)
    delegates: list[Any] = field(default_factory=list)
    planned: int = 0
    buffers: int = 1
    """Planned buffers of equal sizes; tensors are in the last one."""

    def value(self, kind: int, content: Mapping[int, Any] | None = None) -> int:
        self.values.append(union(kind, content or {}))
        return len(self.values) - 1

    def number(self, value: float | None) -> int:
        """Add an Int, a Bool, a Double, or Null."""
        if value is None:
            return self.value(NULL)
        if isinstance(value, bool):
            return self.value(BOOL, {0: u8(value)})
        if isinstance(value, int):
            return self.value(INT, {0: i64(value)})
        return self.value(DOUBLE, {0: f64(value)})

    def numbers(self, values: Sequence[int]) -> int:
        """Add an IntList, given as value indices."""
        return self.value(INTS, {0: i64s([self.number(value) for value in values])})

    def tensors(self, values: Sequence[int]) -> int:
        """Add a list of tensors, given as value indices."""
        return self.value(TENSORS, {0: i32s(values)})

    def tensor(
        self,
        dtype: str,
        sizes: Sequence[int],
        order: Sequence[int] | None = None,
        *,
        at: int | None = None,
        data: int = 0,
        constant: bool = False,
    ) -> int:
        """Add a tensor, planned after the others or at an offset; data: index of its contents."""
        fields: dict[int, Any] = {
            0: i8(SCALARS[dtype]),
            2: i32s(sizes),
            3: u8s(order or range(len(sizes))),
            5: u32(data),
        }
        if not constant:
            size = int(np.prod(sizes)) * np.dtype(dtype).itemsize
            at = self.planned if at is None else at
            self.planned = max(self.planned, (at + size + 15) // 16 * 16)
            fields[6] = {0: u32(self.buffers), 1: u32(at)}
        return self.value(TENSOR, fields)

    def kernel(self, name: str, arguments: Sequence[int], overload: str = "out") -> None:
        """Call an operator."""
        if (name, overload) not in self.operators:
            self.operators.append((name, overload))
        index = self.operators.index((name, overload))
        self.instructions.append(union(KERNEL, {0: i32(index), 1: i32s(arguments)}))

    def delegate(self, reference: tuple[int, int], arguments: Sequence[int], backend: str) -> None:
        """Call a delegate; data: (0, index of inline data) or (1, index of segment)."""
        place, index = reference
        specs = [{0: "target", 1: b"ethos-u55-128"}]
        data = {0: i8(place), 1: u32(index)}
        self.delegates.append({0: backend, 1: data, 2: specs})
        number = len(self.delegates) - 1
        self.instructions.append(union(DELEGATE, {0: i32(number), 1: i32s(arguments)}))

    def move(self, source: int, target: int) -> None:
        """Move the value `source` to `target`."""
        self.instructions.append(union(MOVE, {0: i32(source), 1: i32(target)}))

    def jump_unless(self, condition: int, destination: int) -> None:
        """Jump to another instruction if the condition is false."""
        self.instructions.append(union(JUMP, {0: i32(condition), 1: i32(destination)}))

    def tree(self) -> dict[int, Any]:
        return {
            0: self.name,
            2: self.values,
            3: i32s(self.inputs),
            4: i32s(self.outputs),
            5: [{2: self.instructions}],
            6: [{0: name, 1: overload} for name, overload in self.operators],
            7: self.delegates,
            8: i64s([0, *[self.planned] * self.buffers]),
        }


@dataclass
class Program:
    """A program, which collects methods and data."""

    methods: list[Method] = field(default_factory=lambda: [Method()])
    inline: list[bytes] = field(default_factory=list)
    segments: list[bytes] = field(default_factory=lambda: [b""])
    constants: list[int] = field(default_factory=lambda: [0])
    initial: bytes = b""
    initial_at: list[int] = field(default_factory=lambda: [0])
    named: dict[str, int] = field(default_factory=dict)
    unused_names: int = 0

    @property
    def forward(self) -> Method:
        return self.methods[0]

    def constant(self, array: np.ndarray) -> int:
        """Put a constant into segment 0; returns its index, for Method.tensor()."""
        data = self.segments[0]
        self.constants.append(len(data))
        self.segments[0] = data + array.tobytes() + bytes(-array.nbytes % 16)
        return len(self.constants) - 1

    def initial_value(self, array: np.ndarray) -> int:
        """Store the initial value of a planned tensor; returns its index."""
        self.initial_at.append(len(self.initial))
        self.initial += array.tobytes()
        return len(self.initial_at) - 1

    def segment(self, data: bytes) -> int:
        self.segments.append(data)
        return len(self.segments) - 1

    def delegate(
        self,
        data: bytes,
        arguments: Sequence[int],
        *,
        inline: bool = False,
        backend: str = "EthosUBackend",
        method: Method | None = None,
    ) -> None:
        """Call a delegate with this data, in forward() by default."""
        if inline:
            self.inline.append(data)
            reference = (0, len(self.inline) - 1)
        else:
            reference = (1, self.segment(data))
        (method or self.forward).delegate(reference, arguments, backend)

    def constant_method(self, name: str, *values: float | str | bool | np.ndarray) -> None:
        """Add a method that returns these values."""
        method = Method(name)
        method.outputs = [self._constant(method, value) for value in values]
        self.methods.append(method)

    def _constant(self, method: Method, value: Any) -> int:
        if isinstance(value, np.ndarray):
            index = self.constant(value)
            return method.tensor(str(value.dtype), value.shape, constant=True, data=index)
        if isinstance(value, str):
            return method.value(STRING, {0: value})
        return method.number(value)

    def encode(self) -> bytes:
        """Encode the file."""
        segments = list(self.segments)
        mutable = []
        if self.initial:
            segments.append(self.initial)
            mutable = [{0: u32(len(segments) - 1), 1: u64s(self.initial_at)}]
        rows, data = [], b""
        for segment in segments:
            data += bytes(-len(data) % SEGMENT_ALIGNMENT)
            rows.append({0: u64(len(data)), 1: u64(len(segment))})
            data += segment
        named = [{0: key, 1: u32(index)} for key, index in self.named.items()]
        tree = {
            1: [method.tree() for method in self.methods],
            3: [{0: each} for each in self.inline],
            4: rows,
            5: {0: u32(0), 1: u64s(self.constants)},
            6: mutable,
            7: [{0: "x" * 64, 1: u32(0)}] * self.unused_names + named,
        }
        return _with_segments(encode(tree, b"ET12"), data)


def _with_segments(tables: bytes, data: bytes) -> bytes:
    """Join extended header, tables, padding and segments."""
    if not data:
        return tables
    size = len(tables) + _HEADER_BYTES
    base = -(-size // SEGMENT_ALIGNMENT) * SEGMENT_ALIGNMENT
    header = struct.pack("<4sIQQQ", b"eh00", _HEADER_BYTES, size, base, len(data))
    root = struct.pack("<I", struct.unpack_from("<I", tables)[0] + _HEADER_BYTES)
    whole = root + tables[4:8] + header + tables[8:]
    return whole + bytes(base - size) + data


def data_file(entries: Mapping[str, bytes]) -> bytes:
    """Encode a .ptd file."""
    rows, data = [], b""
    for content in entries.values():
        data += bytes(-len(data) % 16)
        rows.append({0: u64(len(data)), 1: u64(len(content))})
        data += content
    named = [{0: key, 1: u32(index)} for index, key in enumerate(entries)]
    tables = encode({1: rows, 2: named}, b"FT01")
    length = 40
    size = len(tables) + length
    base = -(-size // 256) * 256
    header = struct.pack("<4sIQQQQ", b"FH01", length, length + 8, len(tables), base, len(data))
    root = struct.pack("<I", struct.unpack_from("<I", tables)[0] + length)
    return root + tables[4:8] + header + tables[8:] + bytes(base - size) + data


def bundle(
    program: bytes,
    suites: Mapping[str, Sequence[tuple[Sequence[Any], Sequence[Any]]]],
    order: Sequence[int] | None = None,
) -> bytes:
    """Encode a .bpte file with pairs of inputs and outputs, arrays or ints, for each method.

    `order` is the memory order of rank 4 arrays.
    """

    def value(content: Any) -> dict[int, Any]:
        if isinstance(content, int):
            return union(2, {0: i64(content)})
        dimensions = list(order if order and content.ndim == 4 else range(content.ndim))
        stored = content.transpose(dimensions)
        tensor = {
            0: i8(SCALARS[str(content.dtype)]),
            1: i32s(content.shape),
            2: stored.tobytes(),
            3: u8s(dimensions),
        }
        return union(1, tensor)

    rows = [
        {
            0: name,
            1: [{0: list(map(value, inputs)), 1: list(map(value, out))} for inputs, out in cases],
        }
        for name, cases in suites.items()
    ]
    return encode({0: u32(2), 1: rows, 2: program}, b"BP08")
