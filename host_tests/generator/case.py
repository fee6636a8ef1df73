# SPDX-License-Identifier: MIT
"""Makes a case: a graph, Vela's options, and inputs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from ethosu_tools.model.tflite.writer import Graph, write

from . import unsigned
from .builder import Builder, UnsuitableError, Value
from .draws import Draws
from .families import U55_U65, U85, Family

# Small arenas force cascades, stripes and buffered weights.
ARENAS = (None, None, 131_072, 49_152, 24_576, 12_288, 6_144)

_MAX_OPERATORS = 5
_RANDOM_FEEDS = 2


@dataclass(frozen=True)
class Case:
    """Everything needed to run one comparison, and to reproduce it."""

    family: Family
    seed: int | None
    choices: tuple[int, ...]
    model: bytes
    npu: str
    options: tuple[str, ...]
    operators: tuple[str, ...]
    feeds: tuple[tuple[np.ndarray, ...], ...]

    def __str__(self) -> str:
        graph = "+".join(self.operators)
        kind = " of uint8" if self.family.unsigned else ""
        return f"{graph}{kind} on {self.npu} {' '.join(self.options)}"


def make(
    seed: int | None = None, choices: Sequence[int] | None = None, family: Family = U55_U65
) -> Case:
    """Make the case of a seed, or of a recorded sequence of choices, for a family of NPUs.

    Consecutive seeds start with consecutive operators of the table, so that every operator gets
    used.
    """
    draws = Draws(seed, choices)
    npu, options = _target(draws, family)
    b = Builder(draws, npu)
    names = list(family.generators)
    first = names[draws.integer(0, len(names) - 1, None if seed is None else seed % len(names))]
    _add(b, family, first)
    more = [name for name in names if name not in family.alone]
    others = (0, 0, 0, 1, 2, 3, _MAX_OPERATORS - 1)
    for _ in range(0 if first in family.alone else draws.choice(others)):
        _add(b, family, draws.choice(more))
    if not b.operators:
        raise UnsuitableError(f"{first} found no place")
    rng = draws.rng()
    if family.unsigned:
        unsigned.rewrite(b.graph)
    model = b.finish()
    return Case(
        family=family,
        seed=seed,
        choices=tuple(draws.record),
        model=model,
        npu=npu,
        options=options,
        operators=tuple(b.operators),
        feeds=feeds(rng, b.inputs, family.unsigned),
    )


def of_operator(
    kind: str,
    feed: tuple[np.ndarray, ...],
    quantisations: Sequence[tuple[float, int]],
    output: tuple[str, float | None, int],
    options: str | None = None,
) -> Case:
    """Make an operator on an Ethos-U85 with these inputs and this output type."""
    graph = Graph("main")
    for array, quantisation in zip(feed, quantisations, strict=True):
        name = f"x{len(graph.inputs)}"
        graph.inputs.append(graph.tensor(name, array.shape, array.dtype.name, *quantisation))
    graph.outputs = [graph.tensor("y", feed[0].shape, *output)]
    graph.operator(kind, graph.inputs, graph.outputs, options)
    system = ("--system-config", "Ethos_U85_SYS_DRAM_Mid", "--memory-mode", "Sram_Only")
    model = write([graph], kind)
    return Case(U85, None, (), model, "ethos-u85-256", system, (kind,), (feed,))


def _target(draws: Draws, family: Family) -> tuple[str, tuple[str, ...]]:
    npu = draws.choice(family.npus)
    mode = draws.choice(list(family.systems))
    systems = family.systems[mode][npu.split("-")[1]]
    system = systems[0] if len(systems) == 1 else draws.choice(systems)
    options = ["--system-config", system, "--memory-mode", mode]
    options += ["--optimise", draws.choice(("Performance", "Size"))]
    arena = draws.choice(ARENAS)
    if arena is not None:
        options += ["--arena-cache-size", str(arena)]
    for switch, percent in family.switches.items():
        if draws.chance(percent):
            return npu, (*options, switch)
    if draws.chance(15):
        options += ["--cop-format", "COP2"]
        draws.integer(0, 1)  # unused, but removing it would change the graphs of all seeds
    return npu, tuple(options)


def _add(b: Builder, family: Family, name: str) -> None:
    with suppress(UnsuitableError):
        family.generators[name](b)


def feeds(
    rng: np.random.Generator, inputs: Sequence[Value], as_unsigned: bool
) -> tuple[tuple[np.ndarray, ...], ...]:
    """Make random arrays, and the extremes: all minimum, all maximum, all zero."""
    kinds = ("random",) * _RANDOM_FEEDS + ("low", "high", "zero")
    rows = (tuple(_array(rng, value, kind) for value in inputs) for kind in kinds)
    return tuple(tuple(map(unsigned.raised, row)) if as_unsigned else row for row in rows)


def _array(rng: np.random.Generator, value: Value, kind: str) -> np.ndarray:
    if kind == "random":
        return rng.integers(value.low, value.high, value.shape, value.dtype, endpoint=True)
    zero = min(max(value.zero_point, value.low), value.high)
    number = {"low": value.low, "high": value.high, "zero": zero}[kind]
    return np.full(value.shape, number, value.dtype)
