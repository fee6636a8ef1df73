# SPDX-License-Identifier: MIT
"""Makes hostile files: small ones that cause a lot of work, and inconsistent ones.

A FlatBuffer can refer to the same table any number of times. Here an object that appears twice in
a list becomes one table, so each entry of such a list takes four bytes of the file.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.compile.plan import record
from ethosu_tools.model.tflite import OFFSETS_NAME
from ethosu_tools.model.tflite.writer import Graph, operator_code, packed

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
    """Write a file with these graphs and this metadata; no table is written twice."""
    kinds = sorted({kind for graph in graphs for kind, _ in graph.operators})
    model = schema.ModelT()
    model.version, model.description = 3, "hostile"
    model.operatorCodes = [operator_code(kind) for kind in kinds]
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
    with _tables_once():
        return packed(model)


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
    """Make metadata with these tensor offsets and this plan."""
    return {
        OFFSETS_NAME: record.encode_offsets([-1 if o is None else o for o in offsets]),
        record.RECORD_NAME: record.encode(arena, list(entries)),
    }


def finished(graph: Graph, inputs: Sequence[int], outputs: Sequence[int], *plan: Any) -> bytes:
    """Make a file with this graph, and placed(*plan)."""
    graph.inputs, graph.outputs = list(inputs), list(outputs)
    return write([graph], placed(*plan))


def with_scales(
    scales: int, zero_points: int, shape: tuple[int, ...], axis: int = 0, *, output: bool = False
) -> bytes:
    """Make a model whose input (or output) has this many scales and zero points."""
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
    high = (count + 15) // 16 * 16
    return finished(graph, [x], [y], [0, high], 2 * high)


def _relu(tensors: int = 0) -> tuple[Graph, int, int]:
    graph = Graph("main")
    x, y, z = (graph.tensor(name, (16,), "int8", 0.5) for name in "xyz")
    graph.operator("RELU", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    graph.tensors += [graph.tensors[z]] * tensors
    return graph, y, z


def many_outputs(operators: int, outputs: int, tensors: int) -> bytes:
    """Make operators, each with many outputs, in a graph of many tensors."""
    graph, y, _ = _relu(tensors)
    graph.operator("RESHAPE", [y], [y] * outputs, "ReshapeOptions", newShape=[16])
    graph.operators += [graph.operators[1]] * (operators - 1)
    return write([graph], placed([0, 16] + [None] * (tensors + 1), max(32, 16 * (tensors + 3))))


def many_operands(count: int, *, scattered: bool = False) -> bytes:
    """Make one CPU operator with half of all tensors as inputs, the others as outputs."""
    graph = Graph("main")
    first = graph.tensor("x", (16,), "int8", 0.5)
    graph.tensors += [graph.tensors[first]] * (2 * count - 1)
    order = list(range(2 * count))
    if scattered:
        order = [(7919 * i) % (2 * count) for i in order]
    graph.operator("QUANTIZE", order[:count], order[count:])
    return finished(graph, [0], [2 * count - 1], [16 * i for i in order], 32 * count)


def table_of(kind: str) -> str | None:
    """Return the schema's name for the options of an operator."""
    if kind == "RELU":
        return None
    return "Pool2DOptions" if "POOL" in kind else f"{kind.title().replace('_', '')}Options"


def one_operator(kind: str, count: int, shape: Sequence[int] = (16,), **options: Any) -> bytes:
    """Repeat one operator of one tensor."""
    graph = Graph("main")
    x, y = (graph.tensor(name, shape, "int8", 0.5) for name in "xy")
    graph.operator(kind, [x], [y], table_of(kind), **options)
    graph.operators *= count
    size = (int(np.prod(shape)) + 15) // 16 * 16
    return finished(graph, [x], [y], [0, size], 2 * size)


def many_entries(operators: int) -> bytes:
    """Make a plan with an entry for each of many operators."""
    graph, _, _ = _relu()
    graph.operators *= operators
    entries = [record.Entry(i, 19, 1, 0, 0) for i in range(operators)]
    return write([graph], placed([0, 16, None], 32, entries))


def many_metadata(count: int) -> bytes:
    """Make a list of many metadata entries."""
    graph, _, _ = _relu()
    return write([graph], placed([0, 16, None], 32), count)


def many_calls(calls: int, graphs: int, operators: int) -> bytes:
    """Repeat CALL_ONCE; the called graphs share one list of operators."""
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
    """Repeat FULLY_CONNECTED with one scale for each of many channels."""
    graph = Graph("main")
    x = graph.tensor("x", (1, 1), "int8", 0.5)
    scales = np.full(channels, 0.5, np.float32)
    w = graph.constant("w", np.zeros((channels, 1), np.int8), scales)
    graph.tensors[w][0].quantization.zeroPoint = [0]
    y = graph.tensor("y", (1, channels), "int8", 0.5)
    graph.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    graph.operators *= operators
    return finished(graph, [x], [y], [0, None, 16], 16 + (channels + 15) // 16 * 16)


def many_states(count: int, size: int) -> bytes:
    """Make many state tensors in one large block, which a reset fills for each."""
    graph, _, _ = _relu()
    state = graph.tensor("state", (size,), "int8", 0.5, variable=True)
    graph.tensors += [graph.tensors[state]] * (count - 1)
    return write([graph], placed([0, 16, None] + [32] * count, 32 + size))


def _payloads(name: str, words: int, operators: int) -> Graph:
    """Make a graph of NPU calls with the tensors x, y, payload, weights, scratch."""
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
    """Make a stream of NOPs that runs repeatedly, and this many unused bytes."""
    graph = _payloads("main", words, operators)
    offsets = record.encode_offsets([0, 16, -1, -1, 0])
    return write([graph], {OFFSETS_NAME: offsets, "unused": bytes(unused)})


def npu_initialises() -> bytes:
    """Make a model whose only NPU call is in its initialisation graph."""
    main = Graph("main")
    x = main.tensor("x", (16,), "int8", 0.5)
    main.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    main.inputs, main.outputs = [x], [x]
    init = _payloads("init", 1, 1)
    return write([main, init], {OFFSETS_NAME: record.encode_offsets([0, 0, 16, -1, -1, 0])})


def many_options(keys: int, operators: int) -> bytes:
    """Repeat TFLite_Detection_PostProcess with a large map of options, searched each time."""
    graph = Graph("main")
    boxes = graph.tensor("boxes", (1, 4, 4), "float32")
    scores = graph.tensor("scores", (1, 4, 1), "float32")
    anchors = graph.tensor("anchors", (4, 4), "float32")
    outs = [
        graph.tensor(n, s, "float32")
        for n, s in zip("bcsn", ((1, 1, 4), (1, 1), (1, 1), (1,)), strict=True)
    ]
    # A map of byte-wide values has offset and width of the keys, number of entries, entries, types.
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
    sizes = [64, 16, 64, 16, 16, 16, 16]
    offsets = [0, *itertools.accumulate(sizes)][:-1]
    return finished(graph, [boxes, scores, anchors], outs, offsets, sum(sizes))


# Files of about 64 KB, by the name of their excessive content.
MUCH_WORK = {
    "operators, outputs and tensors": lambda: many_outputs(4000, 4000, 4000),
    "operands of one operator": lambda: many_operands(2700),
    "operands in no order": lambda: many_operands(2700, scattered=True),
    "operators with a table": lambda: one_operator("RELU", 15000),
    "operators without a step": lambda: one_operator("RESHAPE", 15000, newShape=[16]),
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
