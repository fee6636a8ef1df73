# SPDX-License-Identifier: MIT
"""Small .tflite files with long-running CPU operators, all of which can be stopped."""

import itertools

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.compile.plan import record
from ethosu_tools.model.tflite.writer import Graph

from .hostile import one_operator, placed, write


def slow_pool(size: int, window: int) -> bytes:
    """An int8 pool whose window covers nearly the whole image, for each pixel."""
    fields = {"filterWidth": window, "filterHeight": window, "strideW": 1, "strideH": 1}
    return one_operator(
        "AVERAGE_POOL_2D", 1, (1, size, size, 1), options="Pool2DOptions", padding=0, **fields
    )


def wide_pool(width: int) -> bytes:
    """A pool along one long line."""
    fields = {"filterWidth": width - 1, "filterHeight": 1, "strideW": 1, "strideH": 1}
    return one_operator(
        "MAX_POOL_2D", 1, (1, 1, width, 1), options="Pool2DOptions", padding=0, **fields
    )


def long_row(count: int) -> bytes:
    """SOFTMAX of one long row."""
    graph = Graph("main")
    x = graph.tensor("x", (1, count), "int8", 0.5)
    y = graph.tensor("y", (1, count), "int8", 1 / 256, -128)
    graph.operator("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    graph.inputs, graph.outputs = [x], [y]
    entry = record.Entry(0, schema.BuiltinOperator.SOFTMAX, 1, 2 * count, 4 * count)
    return write([graph], placed([0, count], 6 * count, [entry]))


def row_beyond_32_bits() -> bytes:
    """SOFTMAX of a row whose exponentials take 16 bytes, counted in 32 bits."""
    graph = Graph("main")
    x, y = (graph.tensor(name, (1, (1 << 30) + 4), "int8", 1 / 256, -128) for name in "xy")
    graph.operator("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    graph.inputs, graph.outputs = [x], [y]
    end = (1 << 30) + 16
    entry = record.Entry(0, schema.BuiltinOperator.SOFTMAX, 1, end, 16)
    return write([graph], placed([0, 0], end + 16, [entry]))


def long_products(depth: int) -> bytes:
    """FULLY_CONNECTED of one long row: its weights are in the file."""
    graph = Graph("main")
    x = graph.tensor("x", (1, depth), "int8", 0.5)
    w = graph.constant("w", np.ones((2, depth), np.int8), 0.5)
    y = graph.tensor("y", (1, 2), "int8", 0.5)
    graph.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    graph.inputs, graph.outputs = [x], [y]
    return write([graph], placed([0, None, depth], depth + 16))


def long_sum(count: int) -> bytes:
    """MEAN of all elements."""
    graph = Graph("main")
    x = graph.tensor("x", (1, count), "int8", 0.5)
    axes = graph.constant("axes", np.array([0, 1], np.int32))
    y = graph.tensor("y", (1, 1), "int8", 0.5)
    graph.operator("MEAN", [x, axes], [y], "ReducerOptions", keepDims=True)
    graph.inputs, graph.outputs = [x], [y]
    return write([graph], placed([0, None, count], count + 16))


def transposed(size: int, depth: int) -> bytes:
    """TRANSPOSE_CONV to an image of size x size x 4, with windows of 2x2 x depth."""
    graph = Graph("main")
    shape = graph.constant("shape", np.array([1, size, size, 4], np.int32))
    w = graph.constant("w", np.ones((4, 2, 2, depth), np.int8), 0.5)
    x = graph.tensor("x", (1, size // 2, size // 2, depth), "int8", 0.5)
    y = graph.tensor("y", (1, size, size, 4), "int8", 0.5)
    options = {"padding": 0, "strideW": 2, "strideH": 2}
    graph.operator("TRANSPOSE_CONV", [shape, w, x], [y], "TransposeConvOptions", **options)
    graph.inputs, graph.outputs = [x], [y]
    high = size * size * depth // 4
    return write([graph], placed([None, None, 0, high], high + 4 * size * size))


def weighted(
    kind: str,
    image: tuple[int, ...],
    weights: tuple[int, ...],
    out: tuple[int, ...],
    *,
    dtype: str = "int8",
    **options: int,
) -> bytes:
    """One weighted operator, with enough scratch for CMSIS-NN."""
    graph = Graph("main")
    x, y = graph.tensor("x", image, dtype, 0.5), graph.tensor("y", out, dtype, 0.5)
    w = graph.constant("w", np.ones(weights, np.int8), 0.001)
    bias = np.zeros(out[-1], np.int32 if dtype == "int8" else np.int64)
    inputs = [x, w, graph.constant("b", bias, 0.0005)]
    if kind == "TRANSPOSE_CONV":
        inputs = [graph.constant("shape", np.array(out, np.int32)), w, x, inputs[2]]
    table = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}
    table |= {"FULLY_CONNECTED": "FullyConnectedOptions", "TRANSPOSE_CONV": "TransposeConvOptions"}
    if kind != "FULLY_CONNECTED":
        options = {"strideW": 1, "strideH": 1} | options
    graph.operator(kind, inputs, [y], table[kind], **options)
    graph.inputs, graph.outputs = [x], [y]
    width = np.dtype(dtype).itemsize
    ends = [
        0,
        *itertools.accumulate((int(np.prod(s)) * width + 15) // 16 * 16 for s in (image, out)),
    ]
    entry = record.Entry(0, getattr(schema.BuiltinOperator, kind), 1, ends[2], 1 << 22)
    places: list[int | None] = [None] * len(graph.tensors)
    places[x], places[y] = ends[0], ends[1]
    return write([graph], placed(places, ends[2] + (1 << 22), [entry]))


def filters(frames: int, frame: int, units: int, memory: int) -> bytes:
    """SVDF of many frames."""
    graph = Graph("main")
    x = graph.tensor("x", (frames, frame), "int8", 0.5)
    w = graph.constant("w", np.ones((units, frame), np.int8), 0.5)
    times = graph.constant("times", np.ones((units, memory), np.int16), 0.5)
    state = graph.tensor("state", (frames, units * memory), "int16", 0.5, variable=True)
    y = graph.tensor("y", (frames, units), "int8", 0.5)
    graph.operator("SVDF", [x, w, times, -1, state], [y], "SVDFOptions", rank=1)
    graph.inputs, graph.outputs = [x], [y]
    sizes = [frames * frame, 2 * frames * units * memory, frames * units]
    at = [0, *itertools.accumulate(sizes)]
    return write([graph], placed([at[0], None, None, at[1], at[2]], at[3]))


# Files whose operators take long, by what they do. Each can be stopped.
LONG_RUNS = {
    "a large window": lambda: slow_pool(512, 511),
    "a wide window": lambda: wide_pool(1 << 18),
    "many tables": lambda: one_operator("RELU", 100, (1, 1 << 19)),
    "small steps": lambda: one_operator("RELU", 100, (1, 16)),
    "short copies": lambda: one_operator(
        "RESHAPE", 300, (60000,), options="ReshapeOptions", newShape=[60000]
    ),
    "one large copy": lambda: one_operator(
        "RESHAPE", 1, (1 << 24,), options="ReshapeOptions", newShape=[1 << 24]
    ),
    "a long row": lambda: long_row(1 << 20),
    "a long sum": lambda: long_sum(1 << 22),
    "long products": lambda: long_products(1 << 20),
    "large pixels": lambda: one_operator(
        "RESIZE_NEAREST_NEIGHBOR", 20, (1, 2, 2, 1 << 20), options="ResizeNearestNeighborOptions"
    ),
    "bilinear": lambda: one_operator(
        "RESIZE_BILINEAR", 1, (1, 64, 64, 256), options="ResizeBilinearOptions"
    ),
    "bilinear, one channel": lambda: one_operator(
        "RESIZE_BILINEAR", 8, (1, 128, 128, 1), options="ResizeBilinearOptions"
    ),
    "transposed, small windows": lambda: transposed(256, 16),
    "transposed, large windows": lambda: transposed(16, 4096),
    "many short filters": lambda: filters(1024, 16, 32, 16),
    "long filters": lambda: filters(64, 8192, 16, 16),
    "filters of long memory": lambda: filters(32, 16, 4, 4096),
}

# Operators computed by CMSIS-NN in builds that include it.
WEIGHTED_RUNS = {
    "1x1": lambda: weighted("CONV_2D", (1, 64, 64, 64), (64, 1, 1, 64), (1, 64, 64, 64)),
    "3x3": lambda: weighted("CONV_2D", (1, 64, 64, 32), (32, 3, 3, 32), (1, 64, 64, 32)),
    "3x3, few channels": lambda: weighted(
        "CONV_2D", (1, 256, 256, 1), (1, 3, 3, 1), (1, 256, 256, 1)
    ),
    "3x3, one line is long": lambda: weighted(
        "CONV_2D", (1, 4, 256, 64), (64, 3, 3, 64), (1, 4, 256, 64)
    ),
    "1x3, one line": lambda: weighted(
        "CONV_2D", (1, 1, 8192, 16), (32, 1, 3, 16), (1, 1, 8192, 32)
    ),
    "1x1, many images": lambda: weighted(
        "CONV_2D", (200, 8, 8, 32), (32, 1, 1, 32), (200, 8, 8, 32)
    ),
    "groups": lambda: weighted("CONV_2D", (1, 64, 64, 32), (32, 3, 3, 4), (1, 64, 64, 32)),
    "3x3, int16": lambda: weighted(
        "CONV_2D", (1, 64, 64, 32), (32, 3, 3, 32), (1, 64, 64, 32), dtype="int16"
    ),
    "depthwise": lambda: weighted(
        "DEPTHWISE_CONV_2D", (1, 64, 64, 64), (1, 3, 3, 64), (1, 64, 64, 64), depthMultiplier=1
    ),
    "depthwise, 8 of 4": lambda: weighted(
        "DEPTHWISE_CONV_2D", (1, 64, 64, 4), (1, 3, 3, 32), (1, 64, 64, 32), depthMultiplier=8
    ),
    "depthwise, 9x9": lambda: weighted(
        "DEPTHWISE_CONV_2D", (1, 64, 64, 16), (1, 9, 9, 16), (1, 64, 64, 16), depthMultiplier=1
    ),
    "depthwise, int16": lambda: weighted(
        "DEPTHWISE_CONV_2D",
        (1, 64, 64, 32),
        (1, 3, 3, 32),
        (1, 64, 64, 32),
        dtype="int16",
        depthMultiplier=1,
    ),
    "rows": lambda: weighted("FULLY_CONNECTED", (64, 512), (512, 512), (64, 512)),
    "rows, short": lambda: weighted("FULLY_CONNECTED", (4096, 4), (16, 4), (4096, 16)),
    "one row": lambda: weighted("FULLY_CONNECTED", (1, 4096), (4096, 4096), (1, 4096)),
    "one row, int16": lambda: weighted(
        "FULLY_CONNECTED", (1, 256), (8192, 256), (1, 8192), dtype="int16"
    ),
    "transposed": lambda: weighted(
        "TRANSPOSE_CONV",
        (1, 32, 32, 32),
        (16, 2, 2, 32),
        (1, 64, 64, 16),
        strideW=2,
        strideH=2,
        padding=1,
    ),
    "transposed, few channels": lambda: weighted(
        "TRANSPOSE_CONV",
        (1, 64, 64, 8),
        (8, 3, 3, 8),
        (1, 192, 192, 8),
        strideW=3,
        strideH=3,
        padding=1,
    ),
    "transposed, many images": lambda: weighted(
        "TRANSPOSE_CONV",
        (50, 8, 8, 32),
        (16, 2, 2, 32),
        (50, 16, 16, 16),
        strideW=2,
        strideH=2,
        padding=1,
    ),
}
