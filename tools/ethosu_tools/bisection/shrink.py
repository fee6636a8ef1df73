# SPDX-License-Identifier: MIT
"""The smallest part of a model that still shows the difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..arrays import Array
from ..errors import InputError
from .search import Found, Search, Trial
from .sides import Known

# Operators that are removed one by one from a part that shows the difference.
_LARGEST = 24
_GENERATIONS = 3


@dataclass(frozen=True)
class Repro:
    """A part that shows the difference, with the inputs that it was given."""

    trial: Trial
    inputs: list[list[Array]]  # of each step


def shrink(search: Search, found: Found) -> Repro | None:
    """Cut out as little as possible; None if no part can be computed with recorded inputs."""
    if found.upto is None:
        return None
    try:
        values = search.recorded()
    except InputError:  # LiteRT has no such operator: only the model's own inputs are known
        graph = search.a.contents.graph
        values = {
            tensor: [step[place] for step in search.a.steps]
            for place, tensor in enumerate(graph.inputs)
        }
    for layers in _candidates(search, found):
        trial = search.try_layers(layers, values)
        if trial:
            return _with_inputs(search, _pruned(search, layers, found, trial, values), values)
    return None


def _candidates(search: Search, found: Found) -> Iterator[tuple[int, ...]]:
    """The layer alone, then with those before it, then everything up to it."""
    upto = found.upto if found.upto is not None else found.number
    layers = {found.number}
    yield tuple(layers)
    for _ in range(_GENERATIONS):
        layers |= search.a.contents.producers(layers)
        yield tuple(layers)
    if upto != found.number:
        yield found.number, upto
    width = 2
    while width <= upto:
        yield tuple(range(upto + 1 - width, upto + 1))
        width *= 2
    yield tuple(range(upto + 1))


def _pruned(
    search: Search, layers: tuple[int, ...], found: Found, trial: Trial, values: Known
) -> Trial:
    """Remove one operator after the other, as long as the difference remains."""
    kept = set(layers)
    for number in sorted(kept):
        if len(kept) > _LARGEST or len(kept) == 1:
            break
        if number != found.number:
            fewer = search.try_layers(kept - {number}, values)
            if fewer:
                kept, trial = kept - {number}, fewer
    return trial


def _with_inputs(search: Search, trial: Trial, values: Known) -> Repro:
    """With the inputs up to the first step that differs; the others are not needed."""
    if search.a.contents.stateful or not trial.differences:
        steps = range(len(search.a.steps))
        if trial.differences:
            steps = range(min(each.first for each in trial.differences.values()) + 1)
    else:
        first = min(each.first for each in trial.differences.values())
        steps = range(first, first + 1)
    cut, _ = trial.cuts
    return Repro(trial, [[values[tensor][step] for tensor in cut.inputs] for step in steps])
