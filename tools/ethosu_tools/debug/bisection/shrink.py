# SPDX-License-Identifier: MIT
"""Finds the smallest part of a model that still shows the difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...base.errors import InputError
from ...model import ModelFile
from ...model.arrays import Array, dequantise
from .search import Found, Search, Trial
from .sides import Known, reference_values
from .ways import Reference

# A part of more operators is not reduced further by removing single operators.
_LARGEST = 24
_GENERATIONS = 3


@dataclass(frozen=True)
class Repro:
    """A part, with its inputs in each step on side B, and on side A."""

    trial: Trial
    inputs: list[list[Array]]
    a_inputs: list[list[Array]]


def shrink(search: Search, found: Found) -> Repro | None:
    """Cut out as little as possible; None if no part can be computed with recorded inputs."""
    if found.upto is None:
        return _alone(search, found.number)
    try:
        values = search.recorded()
    except InputError:  # LiteRT lacks an operator, so only the model's inputs are known
        values = search.given()
    for layers in _candidates(search, found):
        trial = search.try_layers(layers, values)
        if trial:
            return _with_inputs(search, _pruned(search, layers, found, trial, values), values)
    return None


def _candidates(search: Search, found: Found) -> Iterator[tuple[int, ...]]:
    """Yield the layer alone, then with layers before it, then everything up to it."""
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
    """Keep the inputs of the first step that differs, and of earlier ones if there is state."""
    firsts = [each.first for each in trial.differences.values()]
    last = min(firsts, default=len(search.a.steps) - 1)
    steps = range(last if firsts and not search.a.contents.stateful else 0, last + 1)
    cut, _ = trial.cuts
    inputs = [[values[tensor][step] for tensor in cut.inputs] for step in steps]
    return Repro(trial, inputs, inputs)


def _alone(search: Search, number: int) -> Repro | None:
    """Cut the layer alone out of two different models; both get equal inputs or real values.

    The inputs come from the layer of side B. None if the layers' inputs do not match.
    """
    a, b = search.a, search.b
    same = a.contents.file.data == b.contents.file.data  # then one side is a compiled file
    if number not in search.pairs or a.way is None or same:
        return None
    cuts = a.contents.cut({number}), b.contents.cut({search.pairs[number]})
    tensors = [
        [side.contents.graph.tensors[tensor] for tensor in cut.inputs]
        for side, cut in zip((a, b), cuts, strict=True)
    ]
    if [each.shape for each in tensors[0]] != [each.shape for each in tensors[1]]:
        return None
    way = b.way or Reference()
    try:
        _, values = reference_values(b.contents, b.steps)
        inputs = [[values[t][step] for t in cuts[1].inputs] for step in range(len(b.steps))]
        a_inputs = [
            [
                array if one.dtype == other.dtype else dequantise(array, one).astype(other.dtype)
                for array, one, other in zip(step, tensors[1], tensors[0], strict=True)
            ]
            for step in inputs
        ]
        outcomes = (
            a.way.run(ModelFile(cuts[0].data, name=str(a.file)), a_inputs),
            way.run(ModelFile(cuts[1].data, name=str(b.file)), inputs),
        )
    except InputError:
        return None
    outputs = [each for each in outcomes if not isinstance(each, str)]
    if len(outputs) < len(outcomes):
        return None
    return Repro(Trial(cuts, search.measure_outputs(cuts, outputs)), inputs, a_inputs)
