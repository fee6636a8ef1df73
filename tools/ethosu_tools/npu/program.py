# SPDX-License-Identifier: MIT
"""What a compiled `.tflite` holds: tensors, arena offsets, operators, command streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import payload, tflite


def command_stream(data: bytes) -> bytes:
    """Command stream of a driver payload."""
    return payload.read(data).stream


@dataclass(frozen=True)
class Tensor:
    """A tensor; offset: in the arena, -1 when it is not there."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    zero_point: int
    content: bytes
    offset: int
    variable: bool

    @property
    def size(self) -> int:
        """Bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Operator:
    """An operator; shared_name and subgraph belong to VAR_HANDLE and CALL_ONCE."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    shared_name: bytes = b""
    subgraph: int = 0


@dataclass(frozen=True)
class Graph:
    """One subgraph."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def parse(data: bytes) -> list[Graph]:
    """Read all subgraphs of a `.tflite` file."""
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    offsets = _arena_offsets(model)
    graphs = []
    for index in range(model.SubgraphsLength()):
        graph = model.Subgraphs(index)
        tensors = tuple(
            _tensor(model, graph.Tensors(i), next(offsets, -1))
            for i in range(graph.TensorsLength())
        )
        operators = tuple(
            _operator(model, graph.Operators(i)) for i in range(graph.OperatorsLength())
        )
        inputs = tuple(int(i) for i in _array(graph.InputsAsNumpy()))
        outputs = tuple(int(i) for i in _array(graph.OutputsAsNumpy()))
        graphs.append(Graph(tensors, operators, inputs, outputs))
    return graphs


def _array(value: Any) -> Any:
    """Flatbuffers give 0 for an absent vector."""
    return [] if isinstance(value, int) else value


def _arena_offsets(model: Any) -> Iterator[int]:
    for index in range(model.MetadataLength()):
        metadata = model.Metadata(index)
        if metadata.Name() == b"OfflineMemoryAllocation":
            words = model.Buffers(metadata.Buffer()).DataAsNumpy().view(np.int32)
            return iter([int(word) for word in words[3:]])
    return iter([])


def _tensor(model: Any, tensor: Any, offset: int) -> Tensor:
    buffer = model.Buffers(tensor.Buffer())
    quantization = tensor.Quantization()
    zero = quantization is not None and quantization.ZeroPointLength() > 0
    return Tensor(
        name=(tensor.Name() or b"").decode(errors="replace"),
        shape=tuple(int(size) for size in _array(tensor.ShapeAsNumpy())),
        dtype=tflite.DTYPES.get(tensor.Type(), "uint8"),
        zero_point=int(quantization.ZeroPoint(0)) if zero else 0,
        content=buffer.DataAsNumpy().tobytes() if buffer.DataLength() else b"",
        offset=offset,
        variable=bool(tensor.IsVariable()),
    )


def _operator(model: Any, operator: Any) -> Operator:
    from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
    from ethosu.vela.tflite.CallOnceOptions import CallOnceOptions
    from ethosu.vela.tflite.VarHandleOptions import VarHandleOptions

    code = model.OperatorCodes(operator.OpcodeIndex())
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    names = {value: name for name, value in vars(BuiltinOperator).items() if name.isupper()}
    name = code.CustomCode().decode() if code.CustomCode() else names[number]
    shared, subgraph = b"", 0
    table = operator.BuiltinOptions()
    if table is not None and name == "VAR_HANDLE":
        handle = VarHandleOptions()
        handle.Init(table.Bytes, table.Pos)
        shared = (handle.Container() or b"") + b"/" + (handle.SharedName() or b"")
    if table is not None and name == "CALL_ONCE":
        once = CallOnceOptions()
        once.Init(table.Bytes, table.Pos)
        subgraph = once.InitSubgraphIndex()
    return Operator(
        name,
        tuple(int(i) for i in _array(operator.InputsAsNumpy())),
        tuple(int(i) for i in _array(operator.OutputsAsNumpy())),
        shared,
        subgraph,
    )
