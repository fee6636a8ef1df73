# SPDX-License-Identifier: MIT
"""Tensors, operators and graphs of a model file of any format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.errors import InputError

# TensorFlow Lite's TensorType numbers of the supported array types.
DTYPES = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    6: "bool",
    7: "int16",
    9: "int8",
    10: "float64",
    12: "uint64",
    15: "uint32",
    16: "uint16",
}
# TensorType numbers of types that a board cannot use as arrays of numbers.
OTHER_TYPES = {
    5: "string",
    8: "complex64",
    11: "complex128",
    13: "resource",
    14: "variant",
    17: "int4",
    18: "bfloat16",
    19: "int2",
    20: "uint4",
    21: "float8_e4m3fn",
    22: "float8_e5m2",
}
ITEM_SIZES = {name: np.dtype(name).itemsize for name in DTYPES.values()}

# TensorFlow Lite's operators from number 162 on, which the runtime has no names for, because no
# converter for microcontrollers writes them; all but two begin with STABLEHLO_.
_NEWER = """
LOGISTIC ADD DIVIDE MULTIPLY MAXIMUM RESHAPE CLAMP CONCATENATE BROADCAST_IN_DIM CONVOLUTION SLICE
CUSTOM_CALL REDUCE ABS AND COSINE EXPONENTIAL FLOOR LOG MINIMUM NEGATE OR POWER REMAINDER RSQRT
SELECT SUBTRACT TANH SCATTER COMPARE CONVERT DYNAMIC_SLICE DYNAMIC_UPDATE_SLICE PAD IOTA DOT_GENERAL
REDUCE_WINDOW SORT WHILE GATHER TRANSPOSE DILATE RNG_BIT_GENERATOR REDUCE_WINDOW COMPOSITE
SHIFT_LEFT CBRT CASE
"""
NEWER_OPERATORS = {
    code: name if code in (203, 205) else f"STABLEHLO_{name}"
    for code, name in enumerate(_NEWER.split(), 162)
}
NPU_OPERATOR = "ethos-u"
# Leading inputs of an ethos-u operator, before those addressed by its command stream.
NPU_STREAM, NPU_CONSTANTS, NPU_SCRATCH, NPU_FAST_SCRATCH, NPU_FIRST_INPUT = range(5)


@dataclass(frozen=True)
class Tensor:
    """A tensor; values are raw quantised numbers.

    dtype: NumPy's name, or "type N" if NumPy has none; offset: in the arena or in its planned
    buffer, -1: not planned; data: constant contents, as stored in the file. For a program: order
    lists the exporter's dimensions (N, C, H, W) from outermost to innermost in memory; buffer is
    the planned one, 0: constant; constant is the number of its contents.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0
    offset: int = -1
    variable: bool = False
    data: bytes | memoryview = field(default=b"", repr=False, compare=False)
    order: tuple[int, ...] = field(default=(), repr=False)
    buffer: int = field(default=0, repr=False)
    constant_index: int = field(default=0, repr=False)

    @property
    def size(self) -> int:
        """Size in bytes; 0 for handles, strings and the like."""
        return math.prod(self.shape) * ITEM_SIZES.get(self.dtype, 0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape with the exporter's order of dimensions."""
        sizes = dict(zip(self.order, self.shape, strict=True))
        return tuple(sizes[axis] for axis in sorted(sizes))

    @property
    def content(self) -> bytes:
        """A copy of the constant contents; empty if it is not a constant."""
        return bytes(self.data)

    @property
    def constant(self) -> bool:
        """Whether the tensor's contents are in the file."""
        return len(self.data) > 0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        names = ("name", "shape", "dtype", "scale", "zero_point")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Value:
    """A value of a method; content: a number, a text, a Tensor, or numbers of values."""

    kind: str
    content: Any = None


@dataclass(frozen=True)
class Operator:
    """An operator; name: the schema's or a custom operator's; absent inputs are -1.

    known: the runtime supports it. For a program: outputs are everything that it writes, including
    scratch, and its result twice; instructions that only move values or jump have no name.
    """

    name: str
    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    known: bool = False

    @property
    def on_npu(self) -> bool:
        """Whether the NPU runs it."""
        return self.name == NPU_OPERATOR

    @property
    def on_cpu(self) -> bool:
        """Whether the CPU computes it."""
        return self.name not in ("", NPU_OPERATOR)

    @property
    def arguments(self) -> tuple[int, ...]:
        """Inputs and outputs."""
        return self.inputs + self.outputs


@dataclass(frozen=True)
class Graph:
    """A subgraph; tensors are named by their index."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def fast_scratch(self) -> int | None:
        """The tensor of the NPU's fast scratch; None if it is the scratch itself or missing.

        It is not part of the arena, although it has an offset: Vela plans it for another memory.
        """
        for operator in self.operators:
            if operator.on_npu:  # all of them share both tensors
                fast = operator.inputs[NPU_FAST_SCRATCH]
                return None if fast == operator.inputs[NPU_SCRATCH] else fast
        return None


@dataclass(frozen=True)
class Method:
    """A method of a program; lists hold numbers of values; buffers: planned sizes."""

    name: str
    values: tuple[Value, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    buffers: tuple[int, ...] = ()
    quantized: int = 0
    nchw: bool = False

    @property
    def input_tensors(self) -> tuple[int, ...]:
        """Inputs that a caller passes.

        The others are numbers and None that the exporter fixed; the runtime ignores them.
        """
        fixed = ("null", "int", "bool", "double", "string")
        return tuple(index for index in self.inputs if self.value(index).kind not in fixed)

    def tensor(self, index: int) -> Tensor:
        """Return a value that must be a tensor."""
        content = self.value(index).content
        if not isinstance(content, Tensor):
            raise InputError(f"value {index} of method {self.name} is not a tensor")
        return content

    def value(self, index: int) -> Value:
        """Return a value by its number."""
        if not 0 <= index < len(self.values):
            raise InputError(f"method {self.name} refers to value {index} of {len(self.values)}")
        return self.values[index]

    def tensors(self, values: Iterable[int]) -> Iterator[int]:
        """Return the numbers of the tensors among these values, including those in lists."""
        for index in values:
            value = self.value(index)
            if value.kind == "tensor":
                yield index
            elif value.kind == "tensors":
                yield from (each for each in value.content if each >= 0)

    @property
    def constant(self) -> Any:
        """Return the result of a method without instructions: a value, or a tuple of several.

        None for other methods.
        """
        if self.operators or self.inputs or not self.outputs:
            return None
        values = [self.value(index) for index in self.outputs]
        if any(value.kind in ("ints", "tensors", "other") for value in values):
            return None
        return values[0].content if len(values) == 1 else tuple(value.content for value in values)


@dataclass(frozen=True)
class NpuOperator:
    """One command stream for the NPU.

    constants_at: offset of the constants in the file, to which a data file counts as appended;
    streams may share constants. fast_scratch_bytes: 0 if the scratch itself serves as fast scratch,
    None if the file does not specify a size.
    """

    npu: str
    stream_bytes: int
    constants_at: int = field(compare=False)
    constant_bytes: int
    scratch_bytes: int
    fast_scratch_bytes: int | None
