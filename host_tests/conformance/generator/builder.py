# SPDX-License-Identifier: MIT
"""Builds one graph: values, their quantisation, and operators' choice of inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ethosu_tools.model.tflite.writer import Graph, write

from .draws import Draws

# Maximum elements per tensor, so that thousands of cases run in minutes.
MAX_ELEMENTS = 40_000

# TFLite's fused activation functions.
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3


@dataclass(frozen=True)
class Value:
    """A tensor of the graph."""

    index: int
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero_point: int
    low: int  # least and largest value of a graph input
    high: int

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return int(np.prod(self.shape))


def limits(dtype: str) -> tuple[int, int]:
    """Return the smallest and largest value drawn for a type."""
    if dtype in ("bool", "int32", "int64"):
        return (0, 1) if dtype == "bool" else (-1000, 1000)
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


class UnsuitableError(Exception):
    """An operator cannot be used in this graph; the graph continues without it."""


class Builder:
    """A graph under construction; operators `pick` values and leave `result`s."""

    def __init__(self, draws: Draws, npu: str = "") -> None:
        self.draws = draws
        self.npu = npu
        self.graph = Graph("main")
        self._more_graphs: list[Graph] = []
        self.inputs: list[Value] = []
        self.operators: list[str] = []
        # Default types for an operator's inputs.
        self.types: tuple[str, ...] = ("int8", "int16")
        self.outputs: list[int] = []
        # Values that some operators must avoid, since Vela miscompiles the pair (known_defects).
        self.parts: set[int] = set()  # results of SLICE, SPLIT, ...
        self.unpacked: set[int] = set()  # results of UNPACK of channels
        self.reshaped: set[int] = set()  # inputs and outputs of RESHAPE, TRANSPOSE, ...
        self.standalone: set[int] = set()  # not to be reshaped or put into a larger tensor
        self.internal: set[int] = set()  # not to be an output of the graph
        self.without_table: set[int] = set()  # not to be read by an operator with a table
        self._weights: set[bytes] = set()  # weights of operators and groups so far
        self._pool: list[Value] = []
        self._used: set[int] = set()

    @property
    def free(self) -> bool:
        """Whether Vela allows any stride with any padding and dilation: on Ethos-U85."""
        return "u85" in self.npu

    # --- values ---------------------------------------------------------------

    def scale(self) -> float:
        """Draw a quantisation scale from 1/256 to 1/8; powers of two are the simplest."""
        scale = 2.0 ** self.draws.integer(-8, -4)
        if self.draws.chance(80):
            scale *= 1 + self.draws.integer(1, 999) / 1000
        return float(np.float32(scale))

    def zero_point(self, dtype: str) -> int:
        """Draw a zero point that TFLite allows for the type."""
        if dtype not in ("int8", "uint8"):
            return 0
        kind = self.draws.integer(0, 3)
        low = -128 if dtype == "int8" else 0
        if kind == 0:
            return low + 128
        return low if kind == 1 else low + self.draws.integer(0, 255)

    def input(
        self,
        shape: Sequence[int],
        dtype: str,
        scale: float | None = None,
        zero_point: int | None = None,
        low: int | None = None,
        high: int | None = None,
    ) -> Value:
        """Add an input to the graph."""
        value = self.tensor(shape, dtype, scale, zero_point, "input")
        if low is not None:
            value = replace(value, low=low)
        if high is not None:
            value = replace(value, high=high)
        self.inputs.append(value)
        self._pool.append(value)
        return value

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str,
        scale: float | None = None,
        zero_point: int | None = None,
        name: str = "t",
    ) -> Value:
        """Add a tensor without data; quantisation is drawn unless given."""
        shape = tuple(int(size) for size in shape)
        if np.prod(shape) > MAX_ELEMENTS:
            raise UnsuitableError(f"{shape} is too large")
        scale = self.scale() if scale is None else float(np.float32(scale))
        zero_point = self.zero_point(dtype) if zero_point is None else zero_point
        name = f"{name}{len(self.graph.tensors)}"
        # Booleans have no quantisation, as converters write them.
        index = self.graph.tensor(
            name, shape, dtype, None if dtype == "bool" else scale, zero_point
        )
        low, high = limits(dtype)
        return Value(index, shape, dtype, scale, zero_point, low, high)

    def variable(self, shape: Sequence[int], dtype: str, scale: float, zero_point: int) -> Value:
        """Add a tensor that keeps its values between inferences."""
        index = self.graph.tensor("state", shape, dtype, scale, zero_point, variable=True)
        return Value(index, tuple(shape), dtype, scale, zero_point, 0, 0)

    def constant(
        self,
        array: np.ndarray,
        scale: float | np.ndarray | None = None,
        zero_point: int = 0,
        axis: int = 0,
    ) -> Value:
        """Add a tensor with data."""
        name = f"c{len(self.graph.tensors)}"
        if array.dtype == bool:
            scale = None
        index = self.graph.constant(name, array, scale, zero_point, axis)
        first = 0.0 if scale is None else float(np.atleast_1d(scale)[0])
        return Value(index, array.shape, array.dtype.name, first, zero_point, 0, 0)

    def integers(self, *numbers: int) -> Value:
        """Add a constant int32 vector: shapes, axes, paddings."""
        return self.constant(np.array(numbers, np.int32))

    def use_once(self, weights: np.ndarray) -> None:
        """Register weights that must be unique in this graph."""
        # Vela defect: operators-of-equal-weights
        if weights.tobytes() in self._weights:
            raise UnsuitableError("equal weights")
        self._weights.add(weights.tobytes())

    def random_data(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        """Draw random values of a type."""
        low, high = limits(dtype)
        return self.draws.rng().integers(low, high, tuple(shape), dtype, endpoint=True)

    def random_constant(
        self, shape: Sequence[int], dtype: str, scale: float | None = None, zp: int | None = None
    ) -> Value:
        """Add a quantised constant of random values."""
        data = self.random_data(shape, dtype)
        scale = self.scale() if scale is None else scale
        return self.constant(data, scale, self.zero_point(dtype) if zp is None else zp)

    # --- operators --------------------------------------------------------------

    def pick(
        self,
        dtypes: Sequence[str] | None = None,
        ranks: Sequence[int] = (4,),
        batch: bool = False,
        accept: Callable[[Value], bool] = lambda value: True,
        largest: int = 24,
        shape: tuple[int, ...] | None = None,
        avoid: Collection[int] = (),
    ) -> Value:
        """Pick a value for an operator: one of the graph's, or a new input (of `shape`, if given).

        The graph's values with indices in `avoid` are not used.
        """
        # Vela defect: shared-between-shapes
        avoid = {*avoid, *(self.reshaped & self._used)}
        dtypes = dtypes or self.types
        fits = [
            value
            for value in self._pool
            if value.dtype in dtypes
            and value.rank in ranks
            and (batch or value.rank < 4 or value.shape[0] == 1)
            and shape in (None, value.shape)
            and value.index not in avoid
            and accept(value)
        ]
        # The newest comes first, because chains are the simplest graphs.
        if fits and not self.draws.chance(10):
            return self.draws.choice(fits[::-1])
        if shape is None:
            shape = self.shape(self.draws.choice(ranks), batch, largest)
        return self.input(shape, self.dtype(dtypes))

    def dtype(self, dtypes: Sequence[str]) -> str:
        """Draw one of the types, for a new input."""
        return self.draws.choice(dtypes)

    def shape(self, rank: int, batch: bool = False, largest: int = 24) -> tuple[int, ...]:
        """Draw a shape: N, H, W, C, or the last dimensions for lower ranks."""
        draws = self.draws
        depth = draws.size(48)
        sides = [draws.size(largest) for _ in range(rank - 1)]
        if rank >= 4:
            sides[0] = draws.integer(2, 3) if batch and draws.chance(20) else 1
        while np.prod(sides) * depth > MAX_ELEMENTS // 4:
            sides = [max(1, side // 2) for side in sides]
        return (*sides, depth)

    def operator(
        self,
        kind: str,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value],
        options: str | None = None,
        **fields: Any,
    ) -> None:
        """Append an operator; its outputs may be picked from now on."""
        taken = [-1 if value is None else value.index for value in inputs]
        self.graph.operator(kind, taken, [value.index for value in outputs], options, **fields)
        self._used.update(taken)
        self._pool.extend(outputs)
        self.operators.append(kind)

    def add_graph(self, graph: Graph) -> int:
        """Add a graph that this one calls; returns its index."""
        self._more_graphs.append(graph)
        return len(self._more_graphs)

    def pick_to_reshape(self, **conditions: Any) -> Value:
        """Pick a value that only one operator reads, in another shape."""
        # Vela defect: shared-between-shapes
        x = self.pick(avoid=self._used | self.standalone, **conditions)
        self.reshaped.add(x.index)
        return x

    def activation(self) -> int:
        """Draw a fused activation function."""
        return self.draws.choice((NONE, NONE, RELU, RELU6, RELU_N1_TO_1))

    def finish(self) -> bytes:
        """Encode the file: unused values, and sometimes others, become outputs."""
        fed = {value.index for value in self.inputs}
        made = [value for value in self._pool if value.index not in fed]
        outputs = [value.index for value in made if value.index not in self._used]
        more = [value.index for value in made if value.index in self._used - self.internal]
        if more and self.draws.chance(25):
            outputs.append(self.draws.choice(more))
        self.graph.inputs = [value.index for value in self.inputs if value.index in self._used]
        self.inputs = [value for value in self.inputs if value.index in self._used]
        self.graph.outputs = self.outputs = outputs
        model: bytes = write([self.graph, *self._more_graphs], "generated")
        return model
