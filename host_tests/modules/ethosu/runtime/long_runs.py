# SPDX-License-Identifier: MIT
"""Makes small .tflite files with long-running CPU operators, all of which can be stopped."""

import functools
import itertools

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.compile.plan import record
from ethosu_tools.model.tflite.writer import Graph

from .hostile import finished, one_operator, table_of


def pool(kind: str, size: tuple[int, int], window: tuple[int, int]) -> bytes:
    """Make an int8 pool of one channel."""
    fields = {"filterHeight": window[0], "filterWidth": window[1], "strideW": 1, "strideH": 1}
    return one_operator(kind, 1, (1, *size, 1), padding=0, **fields)


def slow_pool(size: int, window: int) -> bytes:
    """Make a pool whose window covers nearly the whole image, for each pixel."""
    return pool("AVERAGE_POOL_2D", (size, size), (window, window))


def reshapes(count: int, size: int) -> bytes:
    """Make copies of a row."""
    return one_operator("RESHAPE", count, (size,), newShape=[size])


def long_row(count: int) -> bytes:
    """Make SOFTMAX of one long row."""
    graph = Graph("main")
    x = graph.tensor("x", (1, count), "int8", 0.5)
    y = graph.tensor("y", (1, count), "int8", 1 / 256, -128)
    graph.operator("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    entry = record.Entry(0, schema.BuiltinOperator.SOFTMAX, 1, 2 * count, 4 * count)
    return finished(graph, [x], [y], [0, count], 6 * count, [entry])


def row_beyond_32_bits() -> bytes:
    """Make SOFTMAX of a row whose exponentials, in 32 bits, seem to take 16 bytes."""
    graph = Graph("main")
    x, y = (graph.tensor(name, (1, (1 << 30) + 4), "int8", 1 / 256, -128) for name in "xy")
    graph.operator("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    end = (1 << 30) + 16
    entry = record.Entry(0, schema.BuiltinOperator.SOFTMAX, 1, end, 16)
    return finished(graph, [x], [y], [0, 0], end + 16, [entry])


def long_products(depth: int) -> bytes:
    """Make FULLY_CONNECTED of one long row, with weights in the file."""
    graph = Graph("main")
    x = graph.tensor("x", (1, depth), "int8", 0.5)
    w = graph.constant("w", np.ones((2, depth), np.int8), 0.5)
    y = graph.tensor("y", (1, 2), "int8", 0.5)
    graph.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    return finished(graph, [x], [y], [0, None, depth], depth + 16)


def long_sum(count: int) -> bytes:
    """Make MEAN of all elements."""
    graph = Graph("main")
    x = graph.tensor("x", (1, count), "int8", 0.5)
    axes = graph.constant("axes", np.array([0, 1], np.int32))
    y = graph.tensor("y", (1, 1), "int8", 0.5)
    graph.operator("MEAN", [x, axes], [y], "ReducerOptions", keepDims=True)
    return finished(graph, [x], [y], [0, None, count], count + 16)


def transposed(size: int, depth: int) -> bytes:
    """Make TRANSPOSE_CONV to an image of size x size x 4, with windows of 2x2 x depth."""
    graph = Graph("main")
    shape = graph.constant("shape", np.array([1, size, size, 4], np.int32))
    w = graph.constant("w", np.ones((4, 2, 2, depth), np.int8), 0.5)
    x = graph.tensor("x", (1, size // 2, size // 2, depth), "int8", 0.5)
    y = graph.tensor("y", (1, size, size, 4), "int8", 0.5)
    options = {"padding": 0, "strideW": 2, "strideH": 2}
    graph.operator("TRANSPOSE_CONV", [shape, w, x], [y], "TransposeConvOptions", **options)
    high = size * size * depth // 4
    return finished(graph, [x], [y], [None, None, 0, high], high + 4 * size * size)


def weighted(
    kind: str,
    image: tuple[int, ...],
    weights: tuple[int, ...],
    stride: int = 1,
    dtype: str = "int8",
) -> bytes:
    """Make a weighted operator with scratch for CMSIS-NN, padded if it has windows."""
    transposed, depthwise = kind == "TRANSPOSE_CONV", kind == "DEPTHWISE_CONV_2D"
    size = [stride * each for each in image[1:-1]]
    out = (image[0], *size, weights[-1 if depthwise else 0])
    graph = Graph("main")
    x, y = graph.tensor("x", image, dtype, 0.5), graph.tensor("y", out, dtype, 0.5)
    w = graph.constant("w", np.ones(weights, np.int8), 0.001)
    bias = np.zeros(out[-1], np.int32 if dtype == "int8" else np.int64)
    inputs = [x, w, graph.constant("b", bias, 0.0005)]
    if transposed:
        inputs = [graph.constant("shape", np.array(out, np.int32)), w, x, inputs[2]]
    options = {} if kind == "FULLY_CONNECTED" else {"strideW": stride, "strideH": stride}
    options |= {"depthMultiplier": out[-1] // image[-1]} if depthwise else {}
    options |= {"padding": 1} if transposed else {}
    graph.operator(kind, inputs, [y], table_of(kind), **options)
    width = np.dtype(dtype).itemsize
    ends = [
        0,
        *itertools.accumulate((int(np.prod(s)) * width + 15) // 16 * 16 for s in (image, out)),
    ]
    entry = record.Entry(0, getattr(schema.BuiltinOperator, kind), 1, ends[2], 1 << 22)
    places: list[int | None] = [None] * len(graph.tensors)
    places[x], places[y] = ends[0], ends[1]
    return finished(graph, [x], [y], places, ends[2] + (1 << 22), [entry])


def filters(frames: int, frame: int, units: int, memory: int) -> bytes:
    """Make SVDF of many frames."""
    graph = Graph("main")
    x = graph.tensor("x", (frames, frame), "int8", 0.5)
    w = graph.constant("w", np.ones((units, frame), np.int8), 0.5)
    times = graph.constant("times", np.ones((units, memory), np.int16), 0.5)
    state = graph.tensor("state", (frames, units * memory), "int16", 0.5, variable=True)
    y = graph.tensor("y", (frames, units), "int8", 0.5)
    graph.operator("SVDF", [x, w, times, -1, state], [y], "SVDFOptions", rank=1)
    sizes = [frames * frame, 2 * frames * units * memory, frames * units]
    at = [0, *itertools.accumulate(sizes)]
    return finished(graph, [x], [y], [at[0], None, None, at[1], at[2]], at[3])


# Files whose operators take long, by name; each operator can be stopped.
LONG_RUNS = {
    "a large window": lambda: slow_pool(512, 511),
    "a wide window": lambda: pool("MAX_POOL_2D", (1, 1 << 18), (1, (1 << 18) - 1)),
    "many tables": lambda: one_operator("RELU", 100, (1, 1 << 19)),
    "small steps": lambda: one_operator("RELU", 100, (1, 16)),
    "short copies": lambda: reshapes(300, 60000),
    "one large copy": lambda: reshapes(1, 1 << 24),
    "a long row": lambda: long_row(1 << 20),
    "a long sum": lambda: long_sum(1 << 22),
    "long products": lambda: long_products(1 << 20),
    "large pixels": lambda: one_operator("RESIZE_NEAREST_NEIGHBOR", 20, (1, 2, 2, 1 << 20)),
    "bilinear": lambda: one_operator("RESIZE_BILINEAR", 1, (1, 64, 64, 256)),
    "bilinear, one channel": lambda: one_operator("RESIZE_BILINEAR", 8, (1, 128, 128, 1)),
    "transposed, small windows": lambda: transposed(256, 16),
    "transposed, large windows": lambda: transposed(16, 4096),
    "many short filters": lambda: filters(1024, 16, 32, 16),
    "long filters": lambda: filters(64, 8192, 16, 16),
    "filters of long memory": lambda: filters(32, 16, 4, 4096),
}

CONV, DEPTHWISE, DENSE, TRANSPOSE = (
    functools.partial(functools.partial, weighted, kind)
    for kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
)
# Operators that CMSIS-NN computes, if built in, with their images, weights and strides.
WEIGHTED_RUNS = {
    "1x1": CONV((1, 64, 64, 64), (64, 1, 1, 64)),
    "3x3": CONV((1, 64, 64, 32), (32, 3, 3, 32)),
    "3x3, few channels": CONV((1, 256, 256, 1), (1, 3, 3, 1)),
    "3x3, one line is long": CONV((1, 4, 256, 64), (64, 3, 3, 64)),
    "1x3, one line": CONV((1, 1, 8192, 16), (32, 1, 3, 16)),
    "1x1, many images": CONV((200, 8, 8, 32), (32, 1, 1, 32)),
    "groups": CONV((1, 64, 64, 32), (32, 3, 3, 4)),
    "3x3, int16": CONV((1, 64, 64, 32), (32, 3, 3, 32), dtype="int16"),
    "depthwise": DEPTHWISE((1, 64, 64, 64), (1, 3, 3, 64)),
    "depthwise, 8 of 4": DEPTHWISE((1, 64, 64, 4), (1, 3, 3, 32)),
    "depthwise, 9x9": DEPTHWISE((1, 64, 64, 16), (1, 9, 9, 16)),
    "depthwise, int16": DEPTHWISE((1, 64, 64, 32), (1, 3, 3, 32), dtype="int16"),
    "rows": DENSE((64, 512), (512, 512)),
    "rows, short": DENSE((4096, 4), (16, 4)),
    "one row": DENSE((1, 4096), (4096, 4096)),
    "one row, int16": DENSE((1, 256), (8192, 256), dtype="int16"),
    "transposed": TRANSPOSE((1, 32, 32, 32), (16, 2, 2, 32), 2),
    "transposed, few channels": TRANSPOSE((1, 64, 64, 8), (8, 3, 3, 8), 3),
    "transposed, many images": TRANSPOSE((50, 8, 8, 32), (16, 2, 2, 32), 2),
}
