# SPDX-License-Identifier: MIT
"""One case: a graph, how Vela is to compile it, and what it is fed with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .builder import Builder, UnsuitableError, Value
from .draws import Draws
from .operators import ALONE, GENERATORS
from .proofs import Defect

NPUS = (
    "ethos-u55-128",
    "ethos-u55-32",
    "ethos-u55-64",
    "ethos-u55-256",
    "ethos-u65-256",
    "ethos-u65-512",
)

# Systems of Vela's configuration file on which each memory mode is possible.
SYSTEMS = {
    "Shared_Sram": ("Ethos_U55_High_End_Embedded", "Ethos_U65_Embedded"),
    "Sram_Only": ("Ethos_U55_High_End_Embedded", "Ethos_U65_Embedded"),
    "Dedicated_Sram": ("Ethos_U65_High_End", "Ethos_U65_High_End"),
}

# Small arenas force cascades, stripes and buffered weights.
ARENAS = (None, None, 131_072, 49_152, 24_576, 12_288, 6_144)

_MOST_OPERATORS = 5
_RANDOM_FEEDS = 2


@dataclass(frozen=True)
class Case:
    """All that is needed to run one comparison, and to say how it came about."""

    seed: int | None
    choices: tuple[int, ...]
    model: bytes
    npu: str
    options: tuple[str, ...]
    operators: tuple[str, ...]
    known: tuple[Defect, ...]
    feeds: tuple[tuple[np.ndarray, ...], ...]

    @property
    def legacy(self) -> bool:
        """Compiled by Vela's deprecated Python core."""
        return "--debug-force-legacy-core" in self.options

    def __str__(self) -> str:
        graph = "+".join(self.operators)
        return f"{graph} on {self.npu} {' '.join(self.options)}"


def make(seed: int | None = None, choices: Sequence[int] | None = None) -> Case:
    """The case of a seed, or of a recorded sequence of choices.

    Consecutive seeds start with consecutive operators of the table, so that every operator has
    its turn.
    """
    draws = Draws(seed, choices)
    npu, options = _target(draws)
    b = Builder(draws)
    names = list(GENERATORS)
    first = names[draws.integer(0, len(names) - 1, None if seed is None else seed % len(names))]
    _add(b, first)
    more = [name for name in names if name not in ALONE]
    for _ in range(0 if first in ALONE else draws.choice((0, 0, 0, 1, 2, 3, _MOST_OPERATORS - 1))):
        _add(b, draws.choice(more))
    if not b.operators:
        raise UnsuitableError(f"{first} found no place")
    rng = draws.rng()
    model = b.finish()
    return Case(
        seed=seed,
        choices=tuple(draws.record),
        model=model,
        npu=npu,
        options=_without_regions(options) if b.tensors_outside > 2 else options,
        operators=tuple(b.operators),
        known=tuple(b.known),
        feeds=tuple(_feeds(rng, b.inputs)),
    )


def _target(draws: Draws) -> tuple[str, tuple[str, ...]]:
    npu = draws.choice(NPUS)
    mode = draws.choice(list(SYSTEMS))
    system = SYSTEMS[mode]["u65" in npu]
    options = ["--system-config", system, "--memory-mode", mode]
    options += ["--optimise", draws.choice(("Performance", "Size"))]
    arena = draws.choice(ARENAS)
    if arena is not None:
        options += ["--arena-cache-size", str(arena)]
    if draws.chance(4):
        options.append("--debug-force-legacy-core")
    elif draws.chance(15):
        options += ["--cop-format", "COP2"]
        options += ["--separate-io-regions"] * draws.integer(0, 1)
    return npu, tuple(options)


def _without_regions(options: tuple[str, ...]) -> tuple[str, ...]:
    """Vela gives all inputs one region and all outputs another; runtimes pass one per tensor."""
    return tuple(option for option in options if option != "--separate-io-regions")


def _add(b: Builder, name: str) -> None:
    with suppress(UnsuitableError):
        GENERATORS[name](b)


def _feeds(rng: np.random.Generator, inputs: Sequence[Value]) -> list[tuple[np.ndarray, ...]]:
    """Random arrays, and the extremes: all least, all greatest, all zero."""
    kinds = ("random",) * _RANDOM_FEEDS + ("low", "high", "zero")
    return [tuple(_array(rng, value, kind) for value in inputs) for kind in kinds]


def _array(rng: np.random.Generator, value: Value, kind: str) -> np.ndarray:
    if kind == "random":
        return rng.integers(value.low, value.high, value.shape, value.dtype, endpoint=True)
    zero = min(max(value.zero_point, value.low), value.high)
    number = {"low": value.low, "high": value.high, "zero": zero}[kind]
    return np.full(value.shape, number, value.dtype)
