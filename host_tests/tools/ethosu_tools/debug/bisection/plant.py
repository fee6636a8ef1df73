# SPDX-License-Identifier: MIT
"""Plants a fault in one layer of a model, before or after Vela."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.model import debug_table
from ethosu_tools.model.tflite import metadata

from host_tests.conformance.generator import coverage
from host_tests.conformance.generator.known_defects.defects import Register
from host_tests.conformance.generator.known_defects.test_defects import PARAMETERS, with_registers
from host_tests.modules.ethosu.driver.streams import commands, npu_calls

Edit = Callable[[Any, Any], None]  # takes a model and one of its operators

# Names of an operator's fields.
WEIGHTS, BIAS = 1, 2
_REGISTERS = 0x100  # the first code of a command that sets one
RELU, RELU_N1_TO_1 = 1, 2


def edited(model: bytes, layer: int, edit: Edit) -> bytes:
    """Edit one operator of a model."""
    root = schema.ModelT.InitFromPackedBuf(model, 0)
    edit(root, root.subgraphs[0].operators[layer])
    builder = flatbuffers.Builder()
    builder.Finish(root.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def tensor_of(root: Any, number: int) -> Any:
    """Return a tensor of the main graph."""
    return root.subgraphs[0].tensors[number]


def contents(place: int, dtype: str, change: Callable[[np.ndarray], None]) -> Edit:
    """Change the values of a constant input."""

    def edit(root: Any, operator: Any) -> None:
        buffer = root.buffers[tensor_of(root, operator.inputs[place]).buffer]
        values = np.array(buffer.data, np.uint8).view(dtype)
        change(values)
        buffer.data = values.view(np.uint8)

    return edit


def scale(place: int | None, factor: float) -> Edit:
    """Scale the quantisation of an input's first channel, or of the output (None)."""

    def edit(root: Any, operator: Any) -> None:
        number = operator.outputs[0] if place is None else operator.inputs[place]
        quantization = tensor_of(root, number).quantization
        scales = np.array(quantization.scale, np.float32)
        scales[0] *= factor
        quantization.scale = scales.tolist()

    return edit


def zero_point(change: int) -> Edit:
    """Move the zero point of the output."""

    def edit(root: Any, operator: Any) -> None:
        quantization = tensor_of(root, operator.outputs[0]).quantization
        quantization.zeroPoint = [int(quantization.zeroPoint[0]) + change]

    return edit


def option(name: str, value: object) -> Edit:
    """Set an option."""

    def edit(_: Any, operator: Any) -> None:
        assert getattr(operator.builtinOptions, name) != value
        setattr(operator.builtinOptions, name, value)

    return edit


def register(compiled: bytes, operation: int, name: str, change: int) -> bytes:
    """Change the value of a register for one operation of a compiled model."""
    _, _, state = list(coverage.operations(compiled))[operation]
    param, payload = state[name]
    value = param if name in PARAMETERS else payload or param
    mask = 0xFFFF_FFFF if payload and name not in PARAMETERS else 0xFFFF
    row = Register(operation, name, value, (value + change) & mask)
    changed: bytes = with_registers(compiled, [row])
    assert changed != compiled
    return with_table(compiled, changed)


def with_table(compiled: bytes, changed: bytes) -> bytes:
    """Adapt the debug table of a changed model to the commands' new offsets."""
    before, after = (
        [command.offset for command in commands(call.stream) if command.code < _REGISTERS]
        for (call,) in (npu_calls(compiled), npu_calls(changed))
    )
    table = metadata.get(compiled, debug_table.NAME)
    if table is None:  # the file is as Vela wrote it
        return changed
    entries = debug_table.parse(table)
    moved = [replace(each, end=after[before.index(each.end)]) for each in entries]
    result: bytes = metadata.put(changed, {debug_table.NAME: debug_table.pack(moved)})
    return result


def as_float(model: bytes) -> bytes:
    """Return the model with real numbers, as before quantisation."""
    root = schema.ModelT.InitFromPackedBuf(model, 0)
    graph = root.subgraphs[0]
    for tensor in graph.tensors:
        quantization, data = tensor.quantization, root.buffers[tensor.buffer].data
        if quantization is None or quantization.scale is None:
            continue
        if data is not None:
            dtype = np.int8 if tensor.type == schema.TensorType.INT8 else np.int32
            values = np.array(data, np.uint8).view(dtype).reshape(tensor.shape).astype(np.float32)
            shape = [1] * len(tensor.shape)
            shape[quantization.quantizedDimension] = -1
            scales = np.array(quantization.scale, np.float32)
            values *= scales.reshape(shape) if scales.size > 1 else scales[0]
            root.buffers[tensor.buffer].data = np.frombuffer(values.tobytes(), np.uint8)
        tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
    for code in root.operatorCodes:
        code.version = 1
    builder = flatbuffers.Builder()
    builder.Finish(root.Pack(builder), b"TFL3")
    return bytes(builder.Output())
