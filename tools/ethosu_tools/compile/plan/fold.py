# SPDX-License-Identifier: MIT
"""Replaces a model's float inputs and outputs by quantised ones, before Vela plans memory.

If a graph begins with QUANTIZE of an input or ends with DEQUANTIZE into an output, the caller can
convert instead: `predict()` quantises directly into the tensor that the next operator reads.
"""

from __future__ import annotations

from ...model import Graph, Model, ModelFile, reading
from ...model.tflite.metadata import set_graph


def fold_quantization(model: Model) -> tuple[ModelFile, list[str]]:
    """Remove conversions at both ends; also returns the names of the removed float tensors."""
    file = ModelFile.of(model)
    graph = file.graph
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    order, folded = [], []
    for index, operator in enumerate(graph.operators):
        if operator.name == "QUANTIZE":
            tensors, real, quantised = inputs, operator.inputs[0], operator.outputs[0]
        elif operator.name == "DEQUANTIZE":
            tensors, real, quantised = outputs, operator.outputs[0], operator.inputs[0]
        else:
            order.append(index)
            continue
        if quantised not in (*inputs, *outputs) and _is_only_use(graph, tensors, real, quantised):
            tensors[tensors.index(real)] = quantised
            folded.append(graph.tensors[real].name)
        else:
            order.append(index)
    if not folded or not order:
        return file, []
    with reading(file):
        return file.with_data(set_graph(file.data, order, inputs, outputs)), folded


def _is_only_use(graph: Graph, tensors: list[int], real: int, quantised: int) -> bool:
    """Whether a float tensor is a graph input or output that no other operator uses."""
    users = [op for op in graph.operators if real in (*op.inputs, *op.outputs)]
    return (
        tensors.count(real) == 1
        and len(users) == 1
        and not (real in graph.inputs and real in graph.outputs)
        and graph.tensors[real].dtype == "float32"
        and not graph.tensors[quantised].constant
    )
