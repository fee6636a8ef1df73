# SPDX-License-Identifier: MIT
"""Writes memory plans for test models: all tensors and scratch in sequence, without overlap.

It writes the format of modules/ethosu/runtime/file/plan.h and computes scratch sizes
independently of the runtime (formulas: modules/ethosu/runtime/kernels/README.md). A runtime
with assertions compares them with its own.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.model.tflite import metadata

OFFSETS_NAME, PLAN_NAME = "OfflineMemoryAllocation", "ethosu_plan"
PLAN_MARK = 0x4E4C5045
PLAN_VERSION = 1
PLANNER_VERSION = 0
KERNEL_VERSION = 1
ALIGNMENT = 16

# Operators executed by the runtime itself: they have no kernel and no entry in the plan.
OWN = {"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "CALL_ONCE", "VAR_HANDLE"}
OWN |= {"READ_VARIABLE", "ASSIGN_VARIABLE"}

CODES = {
    value: name for name, value in vars(schema.BuiltinOperator).items() if not name.startswith("_")
}
SIZES = {
    schema.TensorType.FLOAT32: 4,
    schema.TensorType.INT32: 4,
    schema.TensorType.UINT8: 1,
    schema.TensorType.INT64: 8,
    schema.TensorType.BOOL: 1,
    schema.TensorType.INT16: 2,
    schema.TensorType.INT8: 1,
}


CMSIS_NN = 256  # added to a kernel's version if CMSIS-NN computes it
CMSIS_NN_KERNELS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
CANDIDATE_BYTES = 24  # DETECTION_POSTPROCESS: a box, its score, a place in the order


def scratch_size(name: str, tensors: list[Any], operator: Any) -> int:
    """Compute the bytes of scratch that a kernel needs."""
    first = tensors[operator.inputs[0]]
    if name == "CONV_2D":
        _, height, width, depth = tensors[operator.inputs[1]].shape
        return 0 if height * width == 1 else height * width * depth * SIZES[first.type]
    if name == "CUSTOM":  # DETECTION_POSTPROCESS
        return CANDIDATE_BYTES * first.shape[1]
    if name == "SOFTMAX":
        return 0 if first.type == schema.TensorType.INT16 else 4 * first.shape[-1]
    return 0


def cmsis_nn_scratch_size(name: str, tensors: list[Any], operator: Any) -> int:
    """Compute the bytes of scratch with CMSIS-NN, by formulas of cmsis_nn_scratch.c."""
    shapes = [() if index < 0 else tuple(tensors[index].shape) for index in operator.inputs]
    wide = tensors[operator.outputs[0]].type == schema.TensorType.INT16
    if name == "FULLY_CONNECTED":
        return 0 if wide else 4 * shapes[1][0]
    first, height, width, last = shapes[1]
    image = shapes[2 if name == "TRANSPOSE_CONV" else 0]
    window = height * width * image[3]
    lines = 4 * 16 * -(-window * (2 if wide else 1) // 16)
    if name == "CONV_2D":
        return 0 if height * width == 1 and not wide else lines
    if name == "DEPTHWISE_CONV_2D":
        if wide:
            return 8 * window + 8 if image[3] == last else 0
        if image[3] == 1 and last > 1:
            return lines + height * width * last
        return 4 * 124 * height * width if image[3] == last else 0
    if wide:
        return 0
    options = operator.builtinOptions
    if options.strideH <= 2 and options.strideW <= 2 and last > 16:
        return lines + window * first
    sums = (image[2] - 1) * options.strideW + max(width, options.strideW, options.strideH)
    size = 4 * first * sums * max(height, options.strideH)
    return size if size < 1 << 31 else 0


def make_plan(model: bytes, *, cmsis_nn: bool = False) -> dict[str, np.ndarray]:
    """Make the words of the plan's metadata, by name."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    graph = tree.subgraphs[0]
    offsets, end = [], 0
    for tensor in graph.tensors:
        data = tree.buffers[tensor.buffer].data
        if data is not None and len(data):
            offsets.append(-1)
            continue
        offsets.append(end)
        end = _align(end + int(np.prod(tensor.shape, dtype=np.int64)) * SIZES[tensor.type])
    entries = []
    for index, operator in enumerate(graph.operators):
        code = tree.operatorCodes[operator.opcodeIndex].builtinCode
        if CODES[code] in OWN:
            continue
        library = cmsis_nn and CODES[code] in CMSIS_NN_KERNELS
        sizes = cmsis_nn_scratch_size if library else scratch_size
        size = sizes(CODES[code], graph.tensors, operator)
        version = KERNEL_VERSION + (CMSIS_NN if library else 0)
        entries.append((index, code, version, end if size else 0, size))
        end = _align(end + size)
    head = (PLAN_MARK, PLAN_VERSION, PLANNER_VERSION, end, len(entries))
    return {
        OFFSETS_NAME: np.array([0, 0, len(offsets), *offsets], np.int32),
        PLAN_NAME: np.array([*head, *itertools.chain(*entries)], np.int32),
    }


def add_plan(model: bytes, plan: dict[str, np.ndarray] | None = None, **choices: bool) -> bytes:
    """Add a plan to a model's metadata."""
    plan = plan or make_plan(model, **choices)
    return metadata.put(model, {name: words.tobytes() for name, words in plan.items()})


def _align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
