# SPDX-License-Identifier: MIT
"""A memory plan for test models: all tensors and scratch one after the other, without overlap.

It writes what the runtime reads (modules/ethosu/runtime/plan.h). The size of each kernel's scratch
is that of `ethosu plan`; a runtime with assertions compares it with its own.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.plan.graph import read_graph
from ethosu_tools.plan.kernels import RUNTIME_OPERATORS, kernel_version, scratch_bytes

PLAN_NAME = "ethosu_plan"
PLAN_MARK = 0x4E4C5045
PLAN_VERSION = 1
PLANNER_VERSION = 0
ALIGNMENT = 16

SIZES = {
    schema.TensorType.FLOAT32: 4,
    schema.TensorType.INT32: 4,
    schema.TensorType.UINT8: 1,
    schema.TensorType.INT64: 8,
    schema.TensorType.BOOL: 1,
    schema.TensorType.INT16: 2,
    schema.TensorType.INT8: 1,
}


@dataclass
class Entry:
    """The plan's words for one operator."""

    operator: int
    code: int
    kernel: int
    offset: int
    size: int


def add_plan(model: bytes, *, cmsis_nn: bool = False) -> bytes:
    """The model with a plan in its metadata."""
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
    planned = read_graph(model, cmsis_nn=cmsis_nn)
    for index, operator in enumerate(planned.operators):
        if operator.name in RUNTIME_OPERATORS:
            continue
        size = scratch_bytes(operator, planned)
        version = kernel_version(operator, planned)
        entries.append(Entry(index, operator.code, version, end if size else 0, size))
        end = _align(end + size)
    return write_plan(tree, offsets, entries, end)


def write_plan(tree: Any, offsets: list[int], entries: list[Entry], arena: int) -> bytes:
    """Pack a model with the given plan."""
    plan = [PLAN_MARK, PLAN_VERSION, PLANNER_VERSION, arena, len(entries)]
    for entry in entries:
        plan += [entry.operator, entry.code, entry.kernel, entry.offset, entry.size]
    tree.metadata = []
    _add_metadata(tree, "OfflineMemoryAllocation", [0, 0, len(offsets), *offsets])
    _add_metadata(tree, PLAN_NAME, plan)
    return pack(tree)


def pack(tree: Any) -> bytes:
    """The bytes of a model's tree."""
    builder = flatbuffers.Builder(4096)
    builder.Finish(tree.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _add_metadata(tree: Any, name: str, words: list[int]) -> None:
    entry = schema.MetadataT()
    entry.name = name
    entry.buffer = len(tree.buffers)
    buffer = schema.BufferT()
    data = struct.pack(f"<{len(words)}I", *(int(word) & 0xFFFFFFFF for word in words))
    buffer.data = np.frombuffer(data, np.uint8)
    tree.buffers.append(buffer)
    tree.metadata.append(entry)


def _align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
