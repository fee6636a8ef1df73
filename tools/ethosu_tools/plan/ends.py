# SPDX-License-Identifier: MIT
"""Makes float ends of a model quantised ones, before Vela plans its memory.

Where a graph begins with QUANTIZE of an input, or ends with DEQUANTIZE into an output, who feeds
the model can do that himself: straight into the tensor that the next operator reads.
"""

from __future__ import annotations

from ..tflite.metadata import set_graph
from .graph import FLOAT32, Graph, read_graph


def fold_ends(data: bytes) -> tuple[bytes, list[str]]:
    """The model without those operators, and the names of the float tensors that it has lost."""
    graph = read_graph(data)
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    order, lost = [], []
    for index, operator in enumerate(graph.operators):
        ends, step = {"QUANTIZE": (inputs, 1), "DEQUANTIZE": (outputs, -1)}.get(
            operator.name, ([], 0)
        )
        real, quantised = (operator.inputs[0], operator.outputs[0])[::step] if step else (-1, -1)
        if quantised not in (*inputs, *outputs) and _is_end(graph, ends, real, quantised):
            ends[ends.index(real)] = quantised
            lost.append(graph.tensors[real].name)
        else:
            order.append(index)
    if not lost or not order:
        return data, []
    return set_graph(data, order, inputs, outputs), lost


def _is_end(graph: Graph, ends: list[int], real: int, quantised: int) -> bool:
    """Is this float tensor an end of the graph, which nothing else touches?"""
    touching = [op for op in graph.operators if real in (*op.inputs, *op.outputs)]
    return (
        ends.count(real) == 1
        and len(touching) == 1
        and not (real in graph.inputs and real in graph.outputs)
        and graph.tensors[real].type == FLOAT32
        and not graph.tensors[quantised].constant
    )
