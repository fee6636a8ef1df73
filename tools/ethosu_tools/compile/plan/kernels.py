# SPDX-License-Identifier: MIT
"""Queries the runtime about its CPU kernels, for the planner.

The runtime's host library (`make sim-host`) reads the model and lists the operators that have a
kernel, and the scratch that each needs (ethosu_model_kernels()). With CMSIS-NN the scratch differs;
`make sim-host CMSIS_NN_DIR=...` builds that library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...base import library, paths
from ...base.library import ffi
from ...model.description import RECORD_NAME
from ...model.tflite import OFFSETS_NAME, Graph
from ...model.tflite.metadata import get, put
from .placement import align
from .record import encode, encode_offsets

# Operators that the runtime handles without a kernel; the first three only rename bytes.
RENAMING = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
STATEFUL = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")


@dataclass(frozen=True)
class Kernel:
    """The kernel of one operator; scratch: bytes.

    in_place: the output may have the same location as an input of the same size.
    """

    version: int
    scratch: int = 0
    in_place: bool = False


# Kernels by operator number; operators without a kernel are absent.
Kernels = Mapping[int, Kernel]


def needs_kernel(graph: Graph) -> list[int]:
    """Return the numbers of the operators that only a kernel can compute."""
    without = (*RENAMING, *STATEFUL)
    return [i for i, op in enumerate(graph.operators) if not op.on_npu and op.name not in without]


def find_kernels(data: bytes, graph: Graph, *, cmsis_nn: bool = False) -> dict[int, Kernel]:
    """Find the kernels of a model's main graph; InputError if the runtime rejects an operator."""
    count = len(needs_kernel(graph))
    if count == 0:
        return {}
    runtime = library.load_sim(paths.host_library(cmsis_nn=cmsis_nn))
    file = _with_any_offsets(data, graph)
    source = ffi().new(
        "struct ethosu_model_source *", {"file": ffi().from_buffer(file), "file_size": len(file)}
    )
    error = ffi().new("struct ethosu_model_error *")
    rows = ffi().new("struct ethosu_model_kernel[]", count)
    written = ffi().new("uint32_t *", count)
    library.check(runtime.ethosu_model_kernels(source, rows, written, error), error)
    return {
        row.operator_index: Kernel(row.version, row.scratch, row.in_place)
        for row in rows[0 : written[0]]
    }


def _with_any_offsets(data: bytes, graph: Graph) -> bytes:
    """Add an offset for each tensor and an empty plan, both of which the runtime requires."""
    end = max((t.offset + t.size for t in graph.tensors if t.offset >= 0), default=0)
    offsets = []
    for tensor in graph.tensors:
        offset = tensor.offset
        if offset < 0 and not tensor.constant:
            offset = align(end)
            end = offset + tensor.size
        offsets.append(offset)
    contents = {
        OFFSETS_NAME: encode_offsets(offsets, get(data, OFFSETS_NAME)),
        RECORD_NAME: encode(end, []),
    }
    return put(data, contents)
