# SPDX-License-Identifier: MIT
"""A model's main graph as the planner needs it: sizes, places, and who reads and writes what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..tflite import DTYPES, NPU_OPERATOR
from .record import OFFSETS_NAME

# Bytes of an element by TensorFlow Lite's TensorType; types that are not listed have no memory.
TYPE_SIZES = {number: np.dtype(name).itemsize for number, name in DTYPES.items()}
FLOAT32, INT8 = 0, 9

OFFSETS_HEADER_WORDS = 3  # version, subgraphs, number of tensors
MAX_ARENA = 2**31 - 1  # offsets are signed 32-bit words

# Inputs of an ethos-u operator before the tensors that its command stream addresses.
NPU_SCRATCH_INPUT, NPU_FIRST_TENSOR = 2, 4


@dataclass(frozen=True)
class Tensor:
    """A tensor; `offset` is its place in the arena so far, None when it has none."""

    name: str
    shape: tuple[int, ...]
    type: int
    constant: bool
    variable: bool
    offset: int | None

    @property
    def element_size(self) -> int:
        """Bytes of an element; 0 for handles, strings and the like."""
        return TYPE_SIZES.get(self.type, 0)

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * self.element_size


@dataclass(frozen=True)
class Operator:
    """An operator; `name` is the schema's, or a custom operator's own. Inputs of -1 are absent."""

    name: str
    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    stride: tuple[int, int] = (1, 1)  # of TRANSPOSE_CONV: height, width

    @property
    def on_npu(self) -> bool:
        """Does the NPU run it?"""
        return self.name == NPU_OPERATOR


@dataclass(frozen=True)
class Graph:
    """The main subgraph of a model."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    cmsis_nn: bool = False  # does the runtime compute with CMSIS-NN where it can?

    def tensors_of(self, operator: Operator) -> list[Tensor | None]:
        """An operator's inputs."""
        return [None if index < 0 else self.tensors[index] for index in operator.inputs]


def read_graph(data: bytes, *, cmsis_nn: bool = False) -> Graph:
    """Read the main graph of a `.tflite` file."""
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    if model.SubgraphsLength() < 1:
        raise InputError("the model has no graph")
    graph = model.Subgraphs(0)
    offsets = _offsets(model)
    count = graph.TensorsLength()
    if offsets and len(offsets) < count:
        raise InputError(f"{OFFSETS_NAME} has {len(offsets)} offsets for {count} tensors")
    tensors = tuple(
        _tensor(model, graph.Tensors(index), index, offsets[index] if offsets else -1)
        for index in range(count)
    )
    operators = tuple(
        _operator(model, graph.Operators(index)) for index in range(graph.OperatorsLength())
    )
    result = Graph(
        tensors,
        operators,
        _indices(graph.InputsAsNumpy()),
        _indices(graph.OutputsAsNumpy()),
        cmsis_nn,
    )
    _check_indices(result)
    return result


def _offsets(model: Any) -> list[int]:
    for index in range(model.MetadataLength()):
        entry = model.Metadata(index)
        if entry.Name() == OFFSETS_NAME.encode():
            buffer = model.Buffers(entry.Buffer())
            words = np.frombuffer(buffer.DataAsNumpy().tobytes(), "<i4")
            return [int(word) for word in words[OFFSETS_HEADER_WORDS:]]
    return []


def _tensor(model: Any, tensor: Any, index: int, offset: int) -> Tensor:
    shape = tuple(_indices(tensor.ShapeAsNumpy()))
    result = Tensor(
        name=(tensor.Name() or b"").decode(errors="replace"),
        shape=shape,
        type=int(tensor.Type()),
        constant=model.Buffers(tensor.Buffer()).DataLength() > 0,
        variable=bool(tensor.IsVariable()),
        offset=None if offset < 0 else offset,
    )
    if min(shape, default=1) < 0 or result.size > MAX_ARENA:
        raise InputError(f"tensor {index} ({result.name}) has shape {list(shape)}: nobody can plan")
    return result


def _operator(model: Any, operator: Any) -> Operator:
    from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator

    code = model.OperatorCodes(operator.OpcodeIndex())
    number = int(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))
    names = {value: name for name, value in vars(BuiltinOperator).items() if name.isupper()}
    custom = code.CustomCode()
    return Operator(
        name=custom.decode(errors="replace") if custom else names.get(number, f"#{number}"),
        code=number,
        inputs=_indices(operator.InputsAsNumpy()),
        outputs=_indices(operator.OutputsAsNumpy()),
        stride=_stride(operator),
    )


def _stride(operator: Any) -> tuple[int, int]:
    from ethosu.vela.tflite.BuiltinOptions import BuiltinOptions
    from ethosu.vela.tflite.TransposeConvOptions import TransposeConvOptions

    table = operator.BuiltinOptions()
    if table is None or operator.BuiltinOptionsType() != BuiltinOptions.TransposeConvOptions:
        return (1, 1)
    options = TransposeConvOptions()
    options.Init(table.Bytes, table.Pos)
    return (int(options.StrideH()), int(options.StrideW()))


def _indices(vector: Any) -> tuple[int, ...]:
    """Flatbuffers give 0 for an absent vector."""
    return () if isinstance(vector, int) else tuple(int(value) for value in vector)


def _check_indices(graph: Graph) -> None:
    count = len(graph.tensors)
    lists = [(graph.inputs, 0, "the graph's inputs"), (graph.outputs, 0, "the graph's outputs")]
    for index, operator in enumerate(graph.operators):
        lists.append((operator.inputs, -1, f"operator {index} ({operator.name})"))
        lists.append((operator.outputs, 0, f"operator {index} ({operator.name})"))
        if operator.on_npu and len(operator.inputs) < NPU_FIRST_TENSOR:
            raise InputError(f"operator {index} (ethos-u) has {len(operator.inputs)} inputs")
    for indices, lowest, where in lists:
        for index in indices:
            if not lowest <= index < count:
                raise InputError(f"{where} names tensor {index} of {count}")
