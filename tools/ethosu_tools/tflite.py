# SPDX-License-Identifier: MIT
"""What a `.tflite` file says about itself: tensors at its ends, NPU operators, other operators.

Files come from anywhere, so every failure to read one ends in one InputError.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import payload
from .errors import InputError

IDENTIFIER = b"TFL3"
NPU_OPERATOR = b"ethos-u"

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

# What the generated reader raises, or lets us run into, where a file is damaged.
_DAMAGE = (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Tensor:
    """A tensor at one end of the graph; values are raw quantised numbers."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero_point: int

    @property
    def size(self) -> int:
        """Bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class NpuOperator:
    """One command stream for the NPU; fast_scratch_bytes: beside the scratch, 0 when it is that."""

    npu: str
    stream_bytes: int
    constant_bytes: int
    scratch_bytes: int
    fast_scratch_bytes: int


@dataclass(frozen=True)
class Description:
    """What a model needs and offers."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    npu_operators: tuple[NpuOperator, ...]
    cpu_operators: dict[str, int]

    @property
    def npu(self) -> str | None:
        """NPU that the model was compiled for, None when it was not compiled."""
        return self.npu_operators[0].npu if self.npu_operators else None

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        return {"npu": self.npu, **asdict(self)}


def read(path: Path) -> bytes:
    """Read a file that should be a `.tflite`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if data[4:8] != IDENTIFIER:
        raise InputError(
            f"{path} is not a TensorFlow Lite model: expected {IDENTIFIER!r} at byte 4, "
            f"found {data[4:8]!r}"
        )
    return data


def describe(path: Path) -> Description:
    """Read and describe a model."""
    data = read(path)
    with reading(path):
        return _describe(data)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever goes wrong while a file's contents are read becomes one InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (*_DAMAGE, MemoryError) as error:
        raise InputError(f"{path} is damaged or cut short: {_damage(error)}") from error


def _damage(error: BaseException) -> str:
    """What is wrong in our words, if it is that something lies behind the end."""
    found = re.search(r"at least (\d+) bytes.*actual buffer size is (\d+)", str(error))
    if found:
        return f"it has {int(found[2]):,} bytes, its tables reach to byte {int(found[1]):,}"
    return " ".join(str(error).split())


def describe_compiled(path: Path) -> Description:
    """Describe a model that must have gone through Vela."""
    description = describe(path)
    if description.npu is None:
        raise InputError(
            f"{path} was never compiled for an NPU; run: ethosu compile {path} --npu ethos-u55-128"
        )
    return description


def _describe(data: bytes) -> Description:
    # Vela brings the schema's generated reader; imported here because it is slow to load.
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    if model.SubgraphsLength() < 1:
        raise InputError("the model has no graph")
    graph = model.Subgraphs(0)
    npu_operators = []
    cpu_operators: Counter[str] = Counter()
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        code = model.OperatorCodes(operator.OpcodeIndex())
        if code.CustomCode() == NPU_OPERATOR:
            npu_operators.append(_npu_operator(model, graph, operator))
        else:
            cpu_operators[_operator_name(code)] += 1
    return Description(
        inputs=tuple(_tensor(graph, graph.Inputs(i)) for i in range(graph.InputsLength())),
        outputs=tuple(_tensor(graph, graph.Outputs(i)) for i in range(graph.OutputsLength())),
        npu_operators=tuple(npu_operators),
        cpu_operators=dict(cpu_operators),
    )


def _tensor(graph: Any, index: int) -> Tensor:
    if not 0 <= index < graph.TensorsLength():
        raise InputError(f"the graph names tensor {index} of {graph.TensorsLength()}")
    tensor = graph.Tensors(index)
    if tensor.Type() not in DTYPES:
        raise InputError(f"tensor {index} has type {tensor.Type()}, which no array can hold")
    quantization = tensor.Quantization()
    quantised = quantization is not None and quantization.ScaleLength() > 0
    return Tensor(
        name=(tensor.Name() or b"").decode(errors="replace"),
        shape=tuple(int(tensor.Shape(axis)) for axis in range(tensor.ShapeLength())),
        dtype=DTYPES[tensor.Type()],
        scale=float(quantization.Scale(0)) if quantised else 0.0,
        zero_point=int(quantization.ZeroPoint(0))
        if quantised and quantization.ZeroPointLength()
        else 0,
    )


def _operator_name(code: Any) -> str:
    from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator

    if code.CustomCode():
        return str(code.CustomCode().decode(errors="replace"))
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    names: dict[int, str] = {
        value: name for name, value in vars(BuiltinOperator).items() if name.isupper()
    }
    return names.get(number, f"operator {number}")


def _npu_operator(model: Any, graph: Any, operator: Any) -> NpuOperator:
    stream, constants, scratch, fast = (graph.Tensors(operator.Inputs(i)) for i in range(4))
    shared = operator.Inputs(2) == operator.Inputs(3)
    content = payload.read(_buffer(model, stream))
    return NpuOperator(
        npu=content.npu,
        stream_bytes=len(content.stream),
        constant_bytes=len(_buffer(model, constants)),
        scratch_bytes=_elements(scratch),
        fast_scratch_bytes=0 if shared else _elements(fast),
    )


def _elements(tensor: Any) -> int:
    return int(np.prod([tensor.Shape(i) for i in range(tensor.ShapeLength())]))


def _buffer(model: Any, tensor: Any) -> bytes:
    buffer = model.Buffers(tensor.Buffer())
    return buffer.DataAsNumpy().tobytes() if buffer.DataLength() else b""
