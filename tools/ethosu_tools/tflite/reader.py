# SPDX-License-Identifier: MIT
"""Reads `.tflite` files, with the schema classes that Vela brings.

Files come from anywhere, so every failure to read one ends in one InputError.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import payload
from ..errors import InputError
from ..files import read_whole

IDENTIFIER = b"TFL3"
NPU_OPERATOR = "ethos-u"
# Metadata with the arena offset of each tensor: three words in front, then an int32 for each.
OFFSETS_NAME = "OfflineMemoryAllocation"
# Metadata with the version of the Vela that wrote the file.
VELA_NAME = "vela_version"
_OFFSETS_HEADER_WORDS = 3
_LARGEST_TENSOR = 2**31 - 1  # an arena offset is an int32

# TensorFlow Lite's TensorType numbers of the types that arrays can have here.
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
_ITEM_SIZES = {name: np.dtype(name).itemsize for name in DTYPES.values()}

# Inputs of an ethos-u operator, before those that its command stream addresses.
NPU_STREAM, NPU_CONSTANTS, NPU_SCRATCH, NPU_FAST_SCRATCH, NPU_FIRST_INPUT = range(5)

# What the generated reader raises, or lets us run into, where a file is damaged.
_DAMAGE = (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Tensor:
    """A tensor; values are raw quantised numbers.

    dtype: NumPy's name, "type N" for what no array holds; offset: in the arena, -1: not planned;
    data: constant contents, as they lie in the file.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0
    offset: int = -1
    variable: bool = False
    data: bytes | memoryview = field(default=b"", repr=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes; 0 for handles, strings and the like."""
        return math.prod(self.shape) * _ITEM_SIZES.get(self.dtype, 0)

    @property
    def content(self) -> bytes:
        """A copy of the constant contents; empty when there are none."""
        return bytes(self.data)

    @property
    def constant(self) -> bool:
        """Has it contents in the file?"""
        return len(self.data) > 0

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        names = ("name", "shape", "dtype", "scale", "zero_point")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Operator:
    """An operator; name: the schema's, or a custom operator's own; inputs of -1 are absent."""

    name: str
    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def on_npu(self) -> bool:
        """Does the NPU run it?"""
        return self.name == NPU_OPERATOR


@dataclass(frozen=True)
class Graph:
    """One subgraph; tensors are named by their index."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def fast_scratch(self) -> int | None:
        """The tensor of the NPU's fast scratch; None: it is the scratch itself, or there is none.

        It is no part of the arena, though it has an offset: Vela plans it for another memory.
        """
        for operator in self.operators:
            if operator.on_npu:  # all of them share both tensors
                fast = operator.inputs[NPU_FAST_SCRATCH]
                return None if fast == operator.inputs[NPU_SCRATCH] else fast
        return None


@dataclass(frozen=True)
class NpuOperator:
    """One command stream for the NPU.

    fast_scratch_bytes: 0 when it is the scratch itself, None when the file does not say.
    """

    npu: str
    stream_bytes: int
    constant_bytes: int
    scratch_bytes: int
    fast_scratch_bytes: int | None


@dataclass(frozen=True)
class Description:
    """What a model needs and offers."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    npu_operators: tuple[NpuOperator, ...]
    cpu_operators: dict[str, int]
    compiled: bool

    @property
    def npu(self) -> str | None:
        """NPU that the model was compiled for; None when it has nothing for an NPU."""
        return self.npu_operators[0].npu if self.npu_operators else None

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        return {
            "npu": self.npu,
            "compiled": self.compiled,
            "inputs": [tensor.as_dict() for tensor in self.inputs],
            "outputs": [tensor.as_dict() for tensor in self.outputs],
            "npu_operators": [asdict(operator) for operator in self.npu_operators],
            "cpu_operators": self.cpu_operators,
        }


def name_of(model: Path | bytes) -> str:
    """What error messages call a model: its file, if it comes from one."""
    return "the model" if isinstance(model, bytes) else str(model)


def read(model: Path | bytes) -> bytes:
    """The contents of a `.tflite`, which may be given as they are."""
    data = model if isinstance(model, bytes) else read_whole(model)
    if data[4:8] != IDENTIFIER:
        raise InputError(
            f"{name_of(model)} is not a TensorFlow Lite model: expected {IDENTIFIER!r} at byte 4, "
            f"found {data[4:8]!r}"
        )
    return data


@contextmanager
def reading(model: Path | bytes) -> Iterator[None]:
    """Whatever goes wrong while a file's contents are read becomes one InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name_of(model)}: {error}") from error
    except (*_DAMAGE, MemoryError) as error:
        raise InputError(f"{name_of(model)} is damaged or cut short: {_damage(error)}") from error


def _damage(error: BaseException) -> str:
    """Say what is wrong; most often a table lies behind the end."""
    found = re.search(r"at least (\d+) bytes.*actual buffer size is (\d+)", str(error))
    if found:
        return f"it has {int(found[2]):,} bytes, its tables reach to byte {int(found[1]):,}"
    return " ".join(str(error).split())


def describe(model: Path | bytes) -> Description:
    """Read and describe a model."""
    data = read(model)
    with reading(model):
        return _describe(parse(data)[0], compiled=_vela_version(data) is not None)


def describe_compiled(model: Path | bytes) -> Description:
    """Describe a model that must have gone through Vela, which may leave all of it to the CPU."""
    description = describe(model)
    if not description.compiled:
        file = "MODEL.tflite" if isinstance(model, bytes) else str(model)
        raise InputError(
            f"{name_of(model)} was never compiled for an NPU; "
            f"run: ethosu compile {file} --board BOARD (`ethosu boards` lists them)"
        )
    return description


def vela_version(model: Path | bytes) -> str | None:
    """Which Vela wrote this file; None: it does not say, as files of Vela for Ethos-U85 do not."""
    data = read(model)
    with reading(model):
        return _vela_version(data)


def _vela_version(data: bytes) -> str | None:
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    for index in range(model.MetadataLength()):
        entry = model.Metadata(index)
        if entry.Name() == VELA_NAME.encode():
            buffer = model.Buffers(entry.Buffer())
            content = buffer.DataAsNumpy().tobytes() if buffer.DataLength() else b""
            return content.rstrip(b"\0").decode(errors="replace")
    return None


def _describe(graph: Graph, *, compiled: bool) -> Description:
    for index in (*graph.inputs, *graph.outputs):
        if graph.tensors[index].dtype not in _ITEM_SIZES:
            dtype = graph.tensors[index].dtype
            raise InputError(f"tensor {index} has {dtype}, which no array can hold")
    cpu_operators = Counter(op.name for op in graph.operators if not op.on_npu)
    return Description(
        inputs=tuple(graph.tensors[index] for index in graph.inputs),
        outputs=tuple(graph.tensors[index] for index in graph.outputs),
        npu_operators=tuple(_npu_operator(graph, op) for op in graph.operators if op.on_npu),
        cpu_operators=dict(cpu_operators),
        compiled=compiled or any(op.on_npu for op in graph.operators),
    )


def _npu_operator(graph: Graph, operator: Operator) -> NpuOperator:
    stream, constants, scratch, fast = (graph.tensors[i] for i in operator.inputs[:NPU_FIRST_INPUT])
    shared = operator.inputs[NPU_SCRATCH] == operator.inputs[NPU_FAST_SCRATCH]
    content = payload.read(stream.content)
    return NpuOperator(
        npu=content.npu,
        stream_bytes=len(content.stream),
        constant_bytes=len(constants.data),
        scratch_bytes=scratch.size,
        fast_scratch_bytes=0 if shared else fast.size,
    )


def parse(data: bytes) -> list[Graph]:
    """Read all graphs of a `.tflite` file, the main one first."""
    # Imported here because it is slow to load.
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    if model.SubgraphsLength() < 1:
        raise InputError("the model has no graph")
    offsets = _offsets(model)
    graphs = []
    for index in range(model.SubgraphsLength()):
        graph = _graph(model, model.Subgraphs(index), offsets)
        offsets = offsets[len(graph.tensors) :]
        graphs.append(graph)
    return graphs


def _offsets(model: Any) -> list[int]:
    for index in range(model.MetadataLength()):
        entry = model.Metadata(index)
        if entry.Name() == OFFSETS_NAME.encode():
            words = [word for (word,) in struct.iter_unpack("<i", _buffer(model, entry.Buffer()))]
            count = model.Subgraphs(0).TensorsLength()
            if len(words) < _OFFSETS_HEADER_WORDS + count:
                found = max(0, len(words) - _OFFSETS_HEADER_WORDS)
                raise InputError(f"{OFFSETS_NAME} has {found} offsets for {count} tensors")
            return words[_OFFSETS_HEADER_WORDS:]
    return []


def _graph(model: Any, graph: Any, offsets: list[int]) -> Graph:
    count = graph.TensorsLength()
    result = Graph(
        tuple(
            _tensor(model, graph.Tensors(index), index, offsets[index] if offsets[index:] else -1)
            for index in range(count)
        ),
        tuple(_operator(model, graph.Operators(i)) for i in range(graph.OperatorsLength())),
        _numbers(graph.InputsAsNumpy()),
        _numbers(graph.OutputsAsNumpy()),
    )
    _check_indices(result)
    return result


def _tensor(model: Any, tensor: Any, index: int, offset: int) -> Tensor:
    quantization = tensor.Quantization()
    quantised = quantization is not None and quantization.ScaleLength() > 0
    result = Tensor(
        name=(tensor.Name() or b"").decode(errors="replace"),
        shape=_numbers(tensor.ShapeAsNumpy()),
        dtype=DTYPES.get(tensor.Type(), f"type {tensor.Type()}"),
        scale=float(quantization.Scale(0)) if quantised else 0.0,
        zero_point=int(quantization.ZeroPoint(0))
        if quantised and quantization.ZeroPointLength()
        else 0,
        offset=max(offset, -1),
        variable=bool(tensor.IsVariable()),
        data=_buffer(model, tensor.Buffer()),
    )
    if min(result.shape, default=1) < 0 or result.size > _LARGEST_TENSOR:
        shape = list(result.shape)
        raise InputError(f"tensor {index} ({result.name}) has shape {shape}: no arena can hold it")
    return result


def _operator(model: Any, operator: Any) -> Operator:
    from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator

    code = _entry(model.OperatorCodes, operator.OpcodeIndex(), model.OperatorCodesLength(), "code")
    number = int(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()))
    names = {value: name for name, value in vars(BuiltinOperator).items() if name.isupper()}
    custom = code.CustomCode()
    return Operator(
        name=custom.decode(errors="replace") if custom else names.get(number, f"operator {number}"),
        code=number,
        inputs=_numbers(operator.InputsAsNumpy()),
        outputs=_numbers(operator.OutputsAsNumpy()),
    )


def _buffer(model: Any, index: int) -> memoryview:
    """The contents of a buffer where they lie, so that large constants are not copied."""
    buffer = _entry(model.Buffers, index, model.BuffersLength(), "buffer")
    return memoryview(buffer.DataAsNumpy()) if buffer.DataLength() else memoryview(b"")


def _entry(get: Callable[[int], Any], index: int, count: int, kind: str) -> Any:
    """An entry of a vector; the generated reader itself does not look how many there are."""
    if not 0 <= index < count:
        raise InputError(f"the file names {kind} {index} of {count}")
    return get(index)


def _numbers(vector: Any) -> tuple[int, ...]:
    """The generated reader gives 0 for an absent vector."""
    return () if isinstance(vector, int) else tuple(vector.tolist())


def _check_indices(graph: Graph) -> None:
    count = len(graph.tensors)
    lists = [(graph.inputs, 0, "the graph"), (graph.outputs, 0, "the graph")]
    for index, operator in enumerate(graph.operators):
        where = f"operator {index} ({operator.name})"
        lists += [(operator.inputs, -1, where), (operator.outputs, 0, where)]
        if operator.on_npu and len(operator.inputs) < NPU_FIRST_INPUT:
            raise InputError(f"{where} has {len(operator.inputs)} inputs")
        if operator.on_npu and min(operator.inputs) < 0:
            raise InputError(f"{where} lacks an input")
    for indices, lowest, where in lists:
        for index in indices:
            if not lowest <= index < count:
                raise InputError(f"{where} names tensor {index} of {count}")
