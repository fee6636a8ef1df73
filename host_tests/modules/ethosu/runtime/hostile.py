# SPDX-License-Identifier: MIT
"""Hostile .tflite files: small ones that ask for much work, and ones whose numbers contradict.

A FlatBuffer may name one table any number of times. Here an object that a list holds twice becomes
one table, so each entry of such a list costs four bytes of the file.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.plan import record
from ethosu_tools.tflite import OFFSETS_NAME
from ethosu_tools.tflite.writer import Graph, _operator_code

TABLES = (
    schema.TensorT,
    schema.OperatorT,
    schema.SubGraphT,
    schema.OperatorCodeT,
    schema.MetadataT,
    schema.BufferT,
)


def _once(pack: Any) -> Any:
    made: dict[int, int] = {}

    def pack_once(self: Any, builder: Any) -> int:
        if id(self) not in made:
            made[id(self)] = pack(self, builder)
        return made[id(self)]

    return pack_once


@contextmanager
def _tables_once() -> Iterator[None]:
    with ExitStack() as stack:
        for table in TABLES:
            stack.enter_context(mock.patch.object(table, "Pack", _once(table.Pack)))
        yield


def write(graphs: Sequence[Graph], contents: Mapping[str, bytes], more_metadata: int = 0) -> bytes:
    """The file of these graphs with these contents of metadata; no table is written twice."""
    kinds = sorted({kind for graph in graphs for kind, _ in graph.operators})
    model = schema.ModelT()
    model.version, model.description = 3, "hostile"
    model.operatorCodes = [_operator_code(kind) for kind in kinds]
    model.buffers, model.metadata, model.subgraphs = [schema.BufferT()], [], []
    for name, data in contents.items():
        model.metadata.append(schema.MetadataT())
        model.metadata[-1].name, model.metadata[-1].buffer = name, len(model.buffers)
        model.buffers.append(schema.BufferT())
        model.buffers[-1].data = np.frombuffer(data, np.uint8)
    model.metadata += model.metadata[:1] * more_metadata
    done: dict[int, Any] = {}
    for graph in graphs:
        if id(graph) not in done:
            done[id(graph)] = _subgraph(graph, kinds, model.buffers)
        model.subgraphs.append(done[id(graph)])
    builder = flatbuffers.Builder(4096)
    with _tables_once():
        builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _subgraph(graph: Graph, kinds: list[str], buffers: list[Any]) -> Any:
    subgraph = schema.SubGraphT()
    subgraph.name, subgraph.inputs, subgraph.outputs = graph.name, graph.inputs, graph.outputs
    for tensor, data in {id(pair[0]): pair for pair in graph.tensors}.values():
        tensor.buffer = 0
        if data:
            tensor.buffer = len(buffers)
            buffers.append(schema.BufferT())
            buffers[-1].data = np.frombuffer(data, np.uint8)
    subgraph.tensors = [tensor for tensor, _ in graph.tensors]
    for kind, operator in graph.operators:
        operator.opcodeIndex = kinds.index(kind)
    subgraph.operators = [operator for _, operator in graph.operators]
    return subgraph


def placed(
    offsets: Sequence[int | None], arena: int, entries: Sequence[Any] = ()
) -> dict[str, bytes]:
    """Metadata with these offsets of tensors and this plan."""
    return {
        OFFSETS_NAME: record.encode_offsets([-1 if o is None else o for o in offsets]),
        record.RECORD_NAME: record.encode(arena, list(entries)),
    }


def with_scales(
    scales: int, zero_points: int, shape: tuple[int, ...], axis: int = 0, *, output: bool = False
) -> bytes:
    """A model whose input (or output) has so many scales and zero points."""
    graph = Graph("main")
    count = int(np.prod(shape))
    x = graph.tensor("x", shape, "int8", np.full(scales, 0.5, np.float32), axis=axis)
    y = graph.tensor("y", (count,), "int8", 0.5)
    graph.tensors[x][0].quantization.zeroPoint = [0] * zero_points
    if output:
        x, y = y, x
    graph.operator(
        "RESHAPE", [x], [y], "ReshapeOptions", newShape=list(shape) if output else [count]
    )
    graph.inputs, graph.outputs = [x], [y]
    high = (count + 15) // 16 * 16
    return write([graph], placed([0, high], 2 * high))


def _relu(tensors: int = 0) -> tuple[Graph, int, int]:
    graph = Graph("main")
    x, y, z = (graph.tensor(name, (16,), "int8", 0.5) for name in "xyz")
    graph.operator("RELU", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    graph.tensors += [graph.tensors[z]] * tensors
    return graph, y, z


def many_outputs(operators: int, outputs: int, tensors: int) -> bytes:
    """Operators, each with many outputs, in a graph of many tensors."""
    graph, y, _ = _relu(tensors)
    graph.operator("RESHAPE", [y], [y] * outputs, "ReshapeOptions", newShape=[16])
    graph.operators += [graph.operators[1]] * (operators - 1)
    return write([graph], placed([0, 16] + [None] * (tensors + 1), max(32, 16 * (tensors + 3))))


def many_operands(count: int, *, scattered: bool = False) -> bytes:
    """One CPU operator that names half of all tensors as inputs, the others as outputs."""
    graph = Graph("main")
    first = graph.tensor("x", (16,), "int8", 0.5)
    graph.tensors += [graph.tensors[first]] * (2 * count - 1)
    order = list(range(2 * count))
    if scattered:
        order = [(7919 * i) % (2 * count) for i in order]
    graph.operator("QUANTIZE", order[:count], order[count:])
    graph.inputs, graph.outputs = [0], [2 * count - 1]
    return write([graph], placed([16 * i for i in order], 32 * count))


def one_operator(kind: str, count: int, shape: Sequence[int] = (16,), **options: Any) -> bytes:
    """One operator of one tensor, named again and again."""
    graph = Graph("main")
    x, y = (graph.tensor(name, shape, "int8", 0.5) for name in "xy")
    table = options.pop("options", None)
    graph.operator(kind, [x], [y], table, **options)
    graph.operators *= count
    graph.inputs, graph.outputs = [x], [y]
    size = (int(np.prod(shape)) + 15) // 16 * 16
    return write([graph], placed([0, size], 2 * size))


def many_entries(operators: int) -> bytes:
    """A plan with an entry for each of many operators."""
    graph, _, _ = _relu()
    graph.operators *= operators
    entries = [record.Entry(i, 19, 1, 0, 0) for i in range(operators)]
    return write([graph], placed([0, 16, None], 32, entries))


def many_metadata(count: int) -> bytes:
    """A list of many metadata entries."""
    graph, _, _ = _relu()
    return write([graph], placed([0, 16, None], 32), count)


def many_calls(calls: int, graphs: int, operators: int) -> bytes:
    """CALL_ONCE again and again; the graphs that it names share one list of operators."""
    main, _, _ = _relu()
    init = Graph("init")
    constant = init.constant("c", np.zeros(16, np.int8), 0.5)
    y = init.tensor("y", (4, 4), "int8", 0.5)
    init.operator("RESHAPE", [constant], [y], "ReshapeOptions", newShape=[4, 4])
    init.operators *= operators
    for index in range(1, graphs + 1):
        main.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=index)
    main.operators += [main.operators[-1]] * calls
    offsets = [0, 16, None] + [None, 32] * graphs
    return write([main, *[init] * graphs], placed(offsets, 48))


def many_weights(channels: int, operators: int) -> bytes:
    """FULLY_CONNECTED with one scale for each of many channels, again and again."""
    graph = Graph("main")
    x = graph.tensor("x", (1, 1), "int8", 0.5)
    scales = np.full(channels, 0.5, np.float32)
    w = graph.constant("w", np.zeros((channels, 1), np.int8), scales)
    graph.tensors[w][0].quantization.zeroPoint = [0]
    y = graph.tensor("y", (1, channels), "int8", 0.5)
    graph.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    graph.operators *= operators
    graph.inputs, graph.outputs = [x], [y]
    return write([graph], placed([0, None, 16], 16 + (channels + 15) // 16 * 16))


def many_states(count: int, size: int) -> bytes:
    """Many state tensors that share one large block of memory, which a reset fills for each."""
    graph, _, _ = _relu()
    state = graph.tensor("state", (size,), "int8", 0.5, variable=True)
    graph.tensors += [graph.tensors[state]] * (count - 1)
    return write([graph], placed([0, 16, None] + [32] * count, 32 + size))


def _payloads(name: str, words: int, operators: int) -> Graph:
    """A graph of NPU calls; its tensors are x, y, payload, weights, scratch."""
    graph = Graph(name)
    x, y = (graph.tensor(name, (16,), "int8", 0.5) for name in "xy")
    stream = np.frombuffer(b"COP1" + b"\x05\0\0\0" * words + b"\x02\0\1\0\0\0\xff\xff", np.uint8)
    payload = graph.constant("payload", stream)
    weights = graph.constant("weights", np.zeros(16, np.uint8))
    scratch = graph.tensor("scratch", (64,), "uint8")
    graph.operator("ethos-u", [payload, weights, scratch, scratch, x], [y])
    graph.operators *= operators
    graph.inputs, graph.outputs = [x], [y]
    return graph


def many_payloads(words: int, operators: int, unused: int = 0) -> bytes:
    """One command stream of NOPs, run again and again; and so many bytes that nothing uses."""
    graph = _payloads("main", words, operators)
    offsets = record.encode_offsets([0, 16, -1, -1, 0])
    return write([graph], {OFFSETS_NAME: offsets, "unused": bytes(unused)})


def npu_initialises() -> bytes:
    """A model whose only NPU call is in the graph that initialises it."""
    main = Graph("main")
    x = main.tensor("x", (16,), "int8", 0.5)
    main.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    main.inputs, main.outputs = [x], [x]
    init = _payloads("init", 1, 1)
    return write([main, init], {OFFSETS_NAME: record.encode_offsets([0, 0, 16, -1, -1, 0])})


def many_options(keys: int, operators: int) -> bytes:
    """TFLite_Detection_PostProcess with a large map of options, searched for each operator."""
    graph = Graph("main")
    boxes = graph.tensor("boxes", (1, 4, 4), "float32")
    scores = graph.tensor("scores", (1, 4, 1), "float32")
    anchors = graph.tensor("anchors", (4, 4), "float32")
    outs = [
        graph.tensor(n, s, "float32")
        for n, s in zip("bcsn", ((1, 1, 4), (1, 1), (1, 1), (1,)), strict=True)
    ]
    # A map of byte-wide values: keys' offset, their width, number of entries, entries, types.
    names = b"".join(b"%c\0" % (97 + i % 26) for i in range(keys))
    width = 4
    keys_at = (len(names) + width - 1) // width * width
    body = bytearray(names.ljust(keys_at, b"\0"))
    body += keys.to_bytes(width, "little")
    first = len(body)
    for i in range(keys):
        body += (first + width * i - 2 * i).to_bytes(width, "little")
    table = len(body)
    body += (table - first).to_bytes(width, "little") + width.to_bytes(width, "little")
    body += keys.to_bytes(width, "little")
    values = len(body)
    body += b"\1\0\0\0" * keys + b"\4" * keys
    body += (len(body) - values).to_bytes(4, "little") + bytes([9 << 2 | 2, 4])
    graph.operator(
        "TFLite_Detection_PostProcess", [boxes, scores, anchors], outs, custom_options=bytes(body)
    )
    graph.operators *= operators
    graph.inputs, graph.outputs = [boxes, scores, anchors], outs
    sizes = [64, 16, 64, 16, 16, 16, 16]
    offsets = [0, *itertools.accumulate(sizes)][:-1]
    return write([graph], placed(offsets, sum(sizes)))


def slow_pool(size: int, window: int) -> bytes:
    """A pool of int8 over nearly the whole image, for each pixel."""
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
    """One operator with weights, with scratch enough for CMSIS-NN."""
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

# Operators that CMSIS-NN computes where a build has it.
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

# Files of about 64 KB: by a name that says what there is much of.
MUCH_WORK = {
    "operators, outputs and tensors": lambda: many_outputs(4000, 4000, 4000),
    "operands of one operator": lambda: many_operands(2700),
    "operands in no order": lambda: many_operands(2700, scattered=True),
    "operators with a table": lambda: one_operator("RELU", 15000),
    "operators without a step": lambda: one_operator(
        "RESHAPE", 15000, options="ReshapeOptions", newShape=[16]
    ),
    "entries of the plan": lambda: many_entries(2600),
    "metadata": lambda: many_metadata(15000),
    "calls of other graphs": lambda: many_calls(10000, 31, 4000),
    "channels of shared weights": lambda: many_weights(6000, 6000),
    "states in one block": lambda: many_states(7000, 1 << 20),
    "uses of one command stream": lambda: many_payloads(8000, 6000),
    "options of one operator": lambda: many_options(3000, 6000),
}

if __name__ == "__main__":
    for name, make in MUCH_WORK.items():
        print(name, len(make()))
