# SPDX-License-Identifier: MIT
"""The registers of a command stream, as its operations find them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ethosu_tools.npu.program import Graph, Operator, parse

from . import coverage

# Parameter and payload of the command that set each register last.
State = Mapping[str, tuple[int, int]]

INTERNAL = 1 << 8  # of a DMA's target: the table memory
CHAINED = 2  # the least storage of a U85's feature map that is no memory; 3 is nowhere

_OPERATIONS = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE")


def operations(model: bytes) -> Iterator[tuple[str, int, State]]:
    """Opcode, mode and registers of every operation on feature maps."""
    for stream in coverage.streams(model):
        state: dict[str, tuple[int, int]] = {}
        for name, mode, payload in coverage.commands(stream):
            if name in _OPERATIONS:
                yield name, mode, dict(state)
            else:
                state[name] = (mode, payload)


def npu_operators(model: bytes) -> Iterator[tuple[Graph, Operator]]:
    """The operators that the NPU runs, and their graph."""
    graph = parse(model)[0]
    yield from ((graph, node) for node in graph.operators if node.name == "ethos-u")


def tables(stream: bytes) -> Iterator[tuple[int, int, int]]:
    """Where each table comes from, where it goes, and its length."""
    state: dict[str, tuple[int, int]] = {}
    for name, mode, payload in coverage.commands(stream):
        state[name] = (mode, payload)
        if name == "DMA_START" and parameter(state, "DMA0_DST_REGION") & INTERNAL:
            source, target = word(state, "DMA0_SRC"), word(state, "DMA0_DST")
            yield source, target, word(state, "DMA0_LEN")


def parameter(state: State, name: str) -> int:
    """A register of 16 bits; 0 if nothing set it."""
    return state.get(name, (0, 0))[0]


def word(state: State, name: str) -> int:
    """A register of 32 bits; 0 if nothing set it."""
    return state.get(name, (0, 0))[1]


def place(state: State, kind: str) -> tuple[int, int]:
    """Region and offset of a feature map."""
    return parameter(state, f"{kind}_REGION"), word(state, f"{kind}_BASE0")


def strides(state: State, kind: str) -> tuple[int, int, int]:
    """Bytes from one row, column and brick of channels of a feature map to the next."""
    y, x, c = (word(state, f"{kind}_STRIDE_{axis}") for axis in "YXC")
    return y, x, c
