# SPDX-License-Identifier: MIT
"""Rewrites a graph with unsigned 8-bit numbers: int8 becomes uint8, with 128 added.

TFLite has no per-channel scales for uint8, so each tensor keeps its first scale.
"""

from __future__ import annotations

import numpy as np
from ai_edge_litert.schema_py_generated import TensorType
from ethosu_tools.model.tflite.writer import Graph

from .builder import UnsuitableError

_STEPS = 128


def rewrite(graph: Graph) -> None:
    """Change all int8 tensors of a graph to uint8 with the same real values."""
    types = {tensor.type for tensor, _ in graph.tensors}
    if TensorType.INT16 in types or TensorType.INT8 not in types:
        raise UnsuitableError("16-bit numbers go with int8 weights, and others have no use for it")
    for place, (tensor, data) in enumerate(graph.tensors):
        quantization = tensor.quantization
        if quantization is not None:
            quantization.scale = quantization.scale[:1]
            quantization.zeroPoint = quantization.zeroPoint[:1]
        if tensor.type == TensorType.INT8:
            tensor.type = TensorType.UINT8
            quantization.zeroPoint = [quantization.zeroPoint[0] + _STEPS]
            data = raised(np.frombuffer(data, np.int8)).tobytes()
        graph.tensors[place] = tensor, data


def raised(array: np.ndarray) -> np.ndarray:
    """Convert an int8 array to uint8, adding 128; other arrays are unchanged."""
    return array.view(np.uint8) ^ _STEPS if array.dtype == np.int8 else array
