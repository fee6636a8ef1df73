# SPDX-License-Identifier: MIT
"""Detects models that Vela 5.2 silently compiles wrongly, and repairs what can be repaired.

Equal weights, and biases of int32: `operators-of-equal-weights` and `int32-bias-of-int16` in
host_tests/conformance/generator/known_defects/defects.py show the wrong registers and constants.
"""

from collections.abc import Iterator

from ..model import Graph, ModelFile, Operator
from ..model.tflite.metadata import put_constants

# Positions of weights and bias among an operator's inputs; -1 means no bias.
WEIGHTS: dict[str, tuple[tuple[int, int], ...]] = {
    "CONV_2D": ((1, 2),),
    "DEPTHWISE_CONV_2D": ((1, 2),),
    "FULLY_CONNECTED": ((1, 2),),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (
        *((gate, gate + 11) for gate in range(1, 5)),
        *((gate, -1) for gate in range(5, 9)),
    ),
}
# Operators in which an int32 input at position 2 or later is a bias.
BIASED = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED")


def with_constants(source: ModelFile, compiled: ModelFile) -> bytes:
    """Restore the values of constant outputs, such as anchors, which Vela drops."""
    dropped = {}
    for number, (before, after) in enumerate(zip(source.graphs, compiled.graphs, strict=False)):
        for old, new in zip(before.outputs, after.outputs, strict=False):
            if before.tensors[old].constant and not after.tensors[new].constant:
                dropped[number, new] = before.tensors[old].content
    return put_constants(compiled.data, dropped)


def warnings(source: ModelFile, compiled: ModelFile) -> list[str]:
    """Return one sentence per NPU operator whose results may be wrong."""
    on_cpu = {
        graph.tensors[output].name
        for graph in compiled.graphs
        for operator in graph.operators
        for output in operator.outputs
        if not operator.on_npu
    }
    first: dict[tuple[object, ...], tuple[str, bytes]] = {}
    sentences = [
        f"Vela loses the scales of '{name}', of int16 with a bias of int32, on Ethos-U85: results "
        "may be wrong here; give it a bias of int64, or keep it on the CPU"
        for name in (_with_short_bias(source) if "u85" in (compiled.description.npu or "") else ())
        if name not in on_cpu
    ]
    for name, weights, bias in _weights(source):
        if name in on_cpu:
            continue
        other, its_bias = first.setdefault(weights, (name, bias))
        if bias != its_bias:
            sentences.append(
                f"Vela gives '{name}' the biases of '{other}', which has equal weights: results "
                "may be wrong here; change one of the weights, or keep an operator on the CPU"
            )
    return sentences


def has_twin(model: ModelFile, name: str) -> bool:
    """Whether the operator with this output has the weights, but not the bias, of another."""
    rows = list(_weights(model))
    return any(
        weights == its_weights and bias != its_bias
        for output, weights, bias in rows
        if output == name
        for _, its_weights, its_bias in rows
    )


def has_short_bias(graph: Graph, operator: Operator) -> bool:
    """Whether an operator of int16 has a bias of int32."""
    types = [graph.tensors[tensor].dtype if tensor >= 0 else "" for tensor in operator.inputs]
    return operator.name in BIASED and "int16" in types and "int32" in types[2:]


def _with_short_bias(model: ModelFile) -> Iterator[str]:
    for graph in model.graphs:
        for operator in graph.operators:
            if has_short_bias(graph, operator):
                yield graph.tensors[operator.outputs[0]].name


def _weights(model: ModelFile) -> Iterator[tuple[str, tuple[object, ...], bytes]]:
    """List output's name, weights and bias (none if all zeros) of each operator with weights.

    Vela stores equal weights once, if the scales of the operators' inputs and outputs are equal.
    """
    for graph in model.graphs:
        for operator in graph.operators:
            for positions in WEIGHTS.get(operator.name, ()):
                weights, bias = (
                    graph.tensors[operator.inputs[at]].content
                    if 0 <= at < len(operator.inputs) and operator.inputs[at] >= 0
                    else b""
                    for at in positions
                )
                if weights:
                    ends = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
                    key = weights, *(tensor.scale for tensor in ends)
                    yield ends[1].name, key, bias.rstrip(b"\0")
