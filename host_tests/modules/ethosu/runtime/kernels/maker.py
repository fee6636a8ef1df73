# SPDX-License-Identifier: MIT
"""Building blocks for random one-operator graphs, used by the generators in cases*.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ethosu_tools.model.tflite.writer import Graph, write

Array = np.ndarray
RANGES = {"int8": (-128, 127), "int16": (-32768, 32767), "int32": (-1000, 1000)}
STEPS = 2
# Kernels without uint8, for which TFLite has other arithmetic (weights with a zero point, floats).
NO_UINT8 = {
    "BATCH_MATMUL",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "RESIZE_BILINEAR",
    "SVDF",
    "TRANSPOSE_CONV",
}


@dataclass
class Tensor:
    """A tensor of a graph under construction."""

    index: int
    shape: tuple[int, ...]
    dtype: str
    scale: float | None
    zero_point: int


@dataclass
class Maker:
    """A one-operator graph and its random number generator."""

    rng: np.random.Generator
    graph: Graph = field(default_factory=lambda: Graph("main"))
    tensors: list[Tensor] = field(default_factory=list)
    unsigned: bool = False
    """Whether int8 tensors are written as uint8, with numbers and zero points 128 higher."""

    group: int = 0
    spread: float = 3
    """The standard deviation of float inputs."""

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, percent: int) -> bool:
        return bool(self.rng.integers(100) < percent)

    def integer(self, low: int, high: int) -> int:
        """Draw a number from low to high, inclusive."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, least: int = 1, most: int = 4, size: int = 6) -> tuple[int, ...]:
        return tuple(self.integer(1, size) for _ in range(self.integer(least, most)))

    def scale(self) -> float:
        return float(np.float32(2.0 ** self.rng.uniform(-8, -2)))

    def zero_point(self, dtype: str) -> int:
        return self.integer(-128, 127) if dtype == "int8" else 0

    def input(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: float | None = None,
        zero_point: int | None = None,
    ) -> Tensor:
        tensor = self._tensor("input", shape, dtype, scale, zero_point)
        self.graph.inputs.append(tensor.index)
        self.tensors.append(tensor)
        return tensor

    def output(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: float | None = None,
        zero_point: int | None = None,
    ) -> Tensor:
        tensor = self._tensor("output", shape, dtype, scale, zero_point)
        self.graph.outputs.append(tensor.index)
        return tensor

    def like(self, tensor: Tensor, shape: Sequence[int] | None = None) -> Tensor:
        """Make an output with the quantisation of a tensor."""
        shape = tensor.shape if shape is None else shape
        return self.output(shape, tensor.dtype, tensor.scale, tensor.zero_point)

    def constant(
        self,
        array: Any,
        dtype: str,
        scale: float | Array | None = None,
        zero_point: int = 0,
        axis: int = 0,
    ) -> Tensor:
        array = np.asarray(array, dtype)
        if self.unsigned and dtype == "int8":
            array, zero_point = _shift(array), zero_point + 128
        index = self.graph.constant("constant", array, scale, zero_point, axis)
        return Tensor(index, array.shape, dtype, None, zero_point)

    def operator(
        self,
        kind: str,
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
        *options: Any,
        **fields: Any,
    ) -> None:
        self.graph.operator(
            kind,
            [-1 if tensor is None else tensor.index for tensor in inputs],
            [tensor.index for tensor in outputs],
            *options,
            **fields,
        )

    def finish(self) -> Case:
        model = write([self.graph], "kernel test")
        inputs = [[self._values(t, step) for t in self.tensors] for step in range(STEPS)]
        return Case(model, inputs, self.group)

    def _tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | None,
        zero_point: int | None,
    ) -> Tensor:
        shape = tuple(int(size) for size in shape)
        if dtype in ("int8", "int16"):
            scale = self.scale() if scale is None else scale
            zero_point = self.zero_point(dtype) if zero_point is None else zero_point
        shifted = self.unsigned and dtype == "int8"
        index = self.graph.tensor(
            name,
            shape,
            "uint8" if shifted else dtype,
            scale,
            (zero_point or 0) + (128 if shifted else 0),
        )
        return Tensor(index, shape, dtype, scale, zero_point or 0)

    def _values(self, tensor: Tensor, step: int) -> Array:
        values = self._numbers(tensor, step)
        return _shift(values) if self.unsigned and tensor.dtype == "int8" else values

    def _numbers(self, tensor: Tensor, step: int) -> Array:
        if tensor.dtype == "float32":
            return self.rng.normal(0, self.spread, tensor.shape).astype(np.float32)
        if tensor.dtype == "bool":
            return self.rng.integers(0, 2, tensor.shape).astype(np.bool_)
        low, high = RANGES.get(tensor.dtype, (0, 3))
        if step == 1 and self.chance(30):
            return np.full(tensor.shape, self.pick(low, high), tensor.dtype)
        return self.rng.integers(low, high, tensor.shape, tensor.dtype, endpoint=True)


def _shift(array: Array) -> Array:
    """Convert int8 to uint8, preserving the order of the numbers."""
    return array.view(np.uint8) ^ 0x80


@dataclass
class Case:
    """A model and its inputs for each step."""

    model: bytes
    inputs: list[list[Array]]
    group: int = 0
    """Number of output entries for each detection; 0 if the outputs are no detections."""


Generator = Callable[[Maker], None]
GENERATORS: dict[str, Generator] = {}


def case(name: str) -> Callable[[Generator], Generator]:
    """Register a generator for an operator."""

    def register(function: Generator) -> Generator:
        GENERATORS[name] = function
        return function

    return register


def make(name: str, seed: int, *, unsigned: bool | None = None) -> Case:
    """Case number `seed` of an operator; one in four has uint8 for int8 if its kernel does."""
    if unsigned is None:
        unsigned = name not in NO_UINT8 and seed % 4 == 3
    maker = Maker(np.random.default_rng([seed, *name.encode()]), unsigned=unsigned)
    GENERATORS[name](maker)
    return maker.finish()
