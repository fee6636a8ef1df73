# SPDX-License-Identifier: MIT
"""Sets the shapes of detections, which many models do not state.

TensorFlow Lite derives them from the operator's options when it loads a model. Vela does not, and
reserves memory for a single value for each output without a shape.
"""

from __future__ import annotations

from typing import Any

from .. import ModelFile, reading

NAME = "TFLite_Detection_PostProcess"
_LIMIT = 1 << 15  # the kernel's limit


def with_shapes(model: ModelFile) -> ModelFile:
    """Add the missing shapes of outputs of TFLite_Detection_PostProcess."""
    if all(
        graph.tensors[index].shape
        for graph in model.graphs
        for operator in graph.operators
        if operator.name == NAME
        for index in operator.outputs
    ):
        return model
    from .writer import packed, schema  # slow to load

    with reading(model):
        tree = schema.ModelT.InitFromPackedBuf(bytearray(model.data))
        codes = [code.customCode for code in tree.operatorCodes]
        for graph in tree.subgraphs:
            for operator in graph.operators:
                if codes[operator.opcodeIndex] == NAME.encode():
                    _set_shapes(graph, operator)
        return model.with_data(packed(tree))


def _set_shapes(graph: Any, operator: Any) -> None:
    """Set shapes for as many boxes, classes and scores as the options allow, and their number."""
    from flatbuffers import flexbuffers

    try:
        # Values are read one by one, because a damaged value can contain itself and never end.
        options = flexbuffers.GetRoot(bytearray(operator.customOptions)).AsMap
        most, each = (
            options[name].AsInt for name in ("max_detections", "max_classes_per_detection")
        )
    except KeyError:  # the kernel rejects an absent option or an unknown type
        return
    if not (0 < most < _LIMIT and 0 < each < _LIMIT):
        return
    places = most * each
    for index, shape in zip(
        operator.outputs, ([1, places, 4], [1, places], [1, places], [1]), strict=False
    ):
        tensor = graph.tensors[index]
        if tensor.shape is None or len(tensor.shape) == 0:
            tensor.shape = shape
