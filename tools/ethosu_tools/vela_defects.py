# SPDX-License-Identifier: MIT
"""Detects models that Vela 5.2 silently compiles wrongly.

Source: `operators-of-equal-weights` in host_tests/generator/defects.py shows the wrong registers.
"""

from collections.abc import Iterator

from .model import ModelFile

# Positions of weights and of their bias among an operator's inputs; -1: no bias.
WEIGHTS: dict[str, tuple[tuple[int, int], ...]] = {
    "CONV_2D": ((1, 2),),
    "DEPTHWISE_CONV_2D": ((1, 2),),
    "FULLY_CONNECTED": ((1, 2),),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (
        *((gate, gate + 11) for gate in range(1, 5)),
        *((gate, -1) for gate in range(5, 9)),
    ),
}


def warnings(source: ModelFile, compiled: ModelFile) -> list[str]:
    """One sentence per pair of NPU operators with equal weights and different biases."""
    on_cpu = {
        graph.tensors[output].name
        for graph in compiled.graphs
        for operator in graph.operators
        for output in operator.outputs
        if not operator.on_npu
    }
    first: dict[bytes, tuple[str, bytes]] = {}
    sentences = []
    for name, weights, bias in _weights(source):
        if name in on_cpu:
            continue
        other, its_bias = first.setdefault(weights, (name, bias))
        if bias != its_bias:
            sentences.append(
                f"Vela gives '{name}' the biases of '{other}', which has equal weights: results "
                "will be wrong; change one of the weights, or keep an operator on the CPU"
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


def _weights(model: ModelFile) -> Iterator[tuple[str, bytes, bytes]]:
    """For each operator with weights: its output's name, weights, and bias (zeros as none)."""
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
                    yield graph.tensors[operator.outputs[0]].name, weights, bias.rstrip(b"\0")
