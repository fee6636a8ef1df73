# SPDX-License-Identifier: MIT
"""What a compiled `.tflite` holds: tensors, arena offsets, operators, command streams."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import tflite
from ..errors import InputError

_ACTION_CONFIG = 1
_ACTION_STREAM = 2
_SEPARATE_IO = 2  # bit of COP2's feature flags


def command_stream(payload: bytes) -> bytes:
    """Command stream of a driver payload, "COP1" or "COP2"."""
    if payload[:4] == b"COP2":
        entry, metadata = (
            struct.unpack_from("<I", payload, 20)[0],
            struct.unpack_from("<I", payload, 24)[0],
        )
        start = 28 + metadata
        return payload[start : start + entry - 4 - metadata]
    if payload[:4] != b"COP1":
        raise InputError(f"a driver payload starts with b'COP1', found {payload[:4]!r}")
    at = 4
    while at + 4 <= len(payload):
        (word,) = struct.unpack_from("<I", payload, at)
        at += 4
        if word & 0xFF == _ACTION_STREAM:
            length = 4 * (word >> 16 | (word >> 8 & 0xFF) << 16)
            return payload[at : at + length]
        at += 8 if word & 0xFF == _ACTION_CONFIG else 0
    raise InputError("a driver payload holds no command stream")


def has_separate_io(payload: bytes) -> bool:
    """COP2 says whether inputs and outputs are regions of their own."""
    return payload[:4] == b"COP2" and bool(struct.unpack_from("<I", payload, 48)[0] & _SEPARATE_IO)


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
