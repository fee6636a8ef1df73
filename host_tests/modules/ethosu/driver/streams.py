# SPDX-License-Identifier: MIT
"""NPU calls of a compiled model as passed to the driver: payload, regions and their sizes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ethosu.vela.tflite.Model import Model
from ethosu_tools.tflite import DTYPES, NPU_OPERATOR


@dataclass(frozen=True)
class Call:
    """One ethos-u operator."""

    payload: bytes
    constants: bytes
    sizes: list[int]


def npu_calls(compiled: Path | bytes) -> list[Call]:
    """Read the NPU calls of a compiled model, a file or its contents."""
    content = compiled if isinstance(compiled, bytes) else compiled.read_bytes()
    model = Model.GetRootAs(content, 0)
    graph = model.Subgraphs(0)

    def data(index: int) -> bytes:
        buffer = model.Buffers(graph.Tensors(index).Buffer())
        return buffer.DataAsNumpy().tobytes() if buffer.DataLength() else b""

    def size(index: int) -> int:
        tensor = graph.Tensors(index)
        shape = [tensor.Shape(axis) for axis in range(tensor.ShapeLength())]
        return int(np.prod(shape, dtype=np.int64)) * np.dtype(DTYPES[tensor.Type()]).itemsize

    calls = []
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        if model.OperatorCodes(operator.OpcodeIndex()).CustomCode() != NPU_OPERATOR.encode():
            continue
        inputs = [operator.Inputs(i) for i in range(operator.InputsLength())]
        outputs = [operator.Outputs(i) for i in range(operator.OutputsLength())]
        bases = (inputs[1:] + outputs)[:8]
        calls.append(Call(data(inputs[0]), data(bases[0]), [size(base) for base in bases]))
    return calls
