# SPDX-License-Identifier: MIT
"""Finds the first layer in which two sides differ.

Values that both sides show find the layer or limit the search to a few layers. If both sides can
compute parts of the model, the search cuts out the model up to a layer; the outputs of such a part
are the layer's output and what later layers read. Cuts decide, as they depend on no observation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ...base.errors import InputError
from ...model import ModelFile
from ...model.tflite.cut import Cut
from ...sim.difference import Difference
from .sides import Known, Side, compared, is_same_structure, match, reference_values
from .ways import Steps


@dataclass(frozen=True)
class Row:
    """A layer, and the difference of its outputs; None if a side does not show them."""

    number: int
    name: str
    measure: Difference | None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "number": self.number,
            "name": self.name,
            "difference": self.measure and self.measure.as_dict(),
        }


def largest_drop(rows: Iterable[Row]) -> dict[str, Any] | None:
    """Find where real values lose most of their signal-to-noise ratio, from layer to layer.

    None if values are compared bit by bit, or no layer has a lower ratio than the one before.
    """
    noisy = [
        (row, row.measure.snr)
        for row in rows
        if row.measure and row.measure.tolerance is not None and math.isfinite(row.measure.snr)
    ]
    drops: list[dict[str, Any]] = [
        {"number": row.number, "name": row.name, "from": before, "to": after}
        for (_, before), (row, after) in pairwise(noisy)
        if after < before
    ]
    return max(drops, key=lambda drop: drop["from"] - drop["to"], default=None)


@dataclass(frozen=True)
class Trial:
    """A part of the model on both sides: the layers whose outputs differ, or the errors."""

    cuts: tuple[Cut, Cut]
    differences: dict[int, Difference] = field(default_factory=dict)
    errors: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Found:
    """The first layer that differs; group: layers before it that may be the cause.

    upto: last layer of the part that shows the difference; None if parts cannot be computed.
    """

    number: int
    name: str
    measure: Difference | None
    error: str
    group: tuple[int, ...]
    upto: int | None


class Search:
    """Compares two sides that have run."""

    def __init__(
        self,
        a: Side,
        b: Side,
        tolerance: float | None,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`progress` is called before each part of the model is computed."""
        self.a, self.b, self.tolerance = a, b, tolerance
        self.pairs = match(a.contents, b.contents)
        self._progress = progress
        self._trials: dict[tuple[int, ...], Trial | None] = {}
        self.errors = tuple(
            side.outcome if isinstance(side.outcome, str) else "" for side in (a, b)
        )
        if all(self.errors):
            raise InputError(f"neither side runs: {self.errors[0]}; {self.errors[1]}")

    @property
    def can_cut(self) -> bool:
        """Whether both sides compute parts of the same model."""
        same = is_same_structure(self.a.contents, self.b.contents)
        return same and self.a.way is not None and self.b.way is not None

    def rows(self) -> list[Row]:
        """Return all layers of side A that have outputs."""
        contents = self.a.contents
        return [
            Row(number, contents.name(number), self._compare(number))
            for number, operator in enumerate(contents.operators)
            if any(contents.has_values(tensor) for tensor in operator.outputs)
        ]

    def find(self, rows: Sequence[Row]) -> Found | None:
        """Find the first layer that differs; None if nothing does."""
        if any(self.errors):
            return self._find_error()
        outputs = {self.a.contents.writers.get(t, -1) for t in self.a.contents.graph.outputs}
        for row in rows:
            if row.measure is None or not row.measure.differs:
                continue
            group = [*self._unknown(row.number, rows), row.number]
            if not self.can_cut:
                return self._found(row, group)
            upto = self._smallest(group)
            if upto is None and row.number in outputs:  # the layer needs other layers, too
                upto = self._smallest(range(row.number + 1, len(self.a.contents.operators)))
                if upto is None:
                    return self._found(row, group)
            if upto is not None:
                return self._cut_found(upto)
        return None

    def try_layers(self, numbers: Iterable[int], values: Known) -> Trial | None:
        """Compute these layers alone with recorded inputs; None if they show no difference."""
        key = tuple(sorted(set(numbers)))
        if key not in self._trials:
            self._progress()
            self._trials[key] = self._try(key, values)
        return self._trials[key]

    def recorded(self) -> Known:
        """Return the values of all tensors of side A's model by TFLite's kernels."""
        return reference_values(self.a.contents, self.a.steps)[1]

    def _compare(self, number: int) -> Difference | None:
        """Compare a layer's outputs: the first that differs, else any that both sides show."""
        if number not in self.pairs:
            return None
        sides = self.a, self.b
        numbers = number, self.pairs[number]
        outputs = (s.contents.operators[n].outputs for s, n in zip(sides, numbers, strict=True))
        found = [
            self._measure(*pair)
            for pair in zip(*outputs, strict=False)
            if all(t in s.known and t not in s.distrusted for s, t in zip(sides, pair, strict=True))
        ]
        shown = [each for each in found if each]
        return next((each for each in shown if each.differs), shown[0] if shown else None)

    def _measure(self, one: int, other: int) -> Difference | None:
        a, b = self.a, self.b
        tensors = a.contents.graph.tensors[one], b.contents.graph.tensors[other]
        return compared(a.known[one], b.known[other], tensors, self.tolerance)

    def _unknown(self, number: int, rows: Sequence[Row]) -> list[int]:
        """List the layers between the last ones that are known to be equal and this layer."""
        equal = {row.number for row in rows if row.measure and not row.measure.differs}
        reached: set[int] = set()
        waiting = {number}
        while waiting:
            waiting = self.a.contents.producers(waiting) - equal - reached
            reached |= waiting
        return sorted(reached)

    def _found(self, row: Row, group: Sequence[int]) -> Found:
        return Found(row.number, row.name, row.measure, "", tuple(group[:-1]), None)

    def _cut_found(self, upto: int) -> Found:
        trial = self._prefix(upto)
        assert trial is not None
        first = min(trial.differences, default=upto)
        measure, error = trial.differences.get(first), trial.errors[0] or trial.errors[1]
        return Found(first, self.a.contents.name(first), measure, error, (), upto)

    def _find_error(self) -> Found:
        """Find the first layer with which a side fails."""
        last = len(self.a.contents.operators) - 1
        upto = self._smallest(range(last + 1)) if self.can_cut else None
        if upto is not None:
            return self._cut_found(upto)
        error = self.errors[0] or self.errors[1]
        return Found(last, self.a.contents.name(last), None, error, tuple(range(last)), None)

    def _smallest(self, layers: Sequence[int]) -> int | None:
        """Find the first of these layers up to which the model differs; None if it never does.

        If a difference can disappear again, the result is a layer that differs, but not the first.
        """
        if not layers or self._prefix(layers[-1]) is None:
            return None
        low, high = 0, len(layers) - 1
        while low < high:
            middle = (low + high) // 2
            if self._prefix(layers[middle]) is None:
                low = middle + 1
            else:
                high = middle
        return layers[high]

    def given(self) -> Known:
        """Return the values of the model's inputs."""
        return {
            tensor: [step[place] for step in self.a.steps]
            for place, tensor in enumerate(self.a.contents.graph.inputs)
        }

    def _prefix(self, layer: int) -> Trial | None:
        return self.try_layers(range(layer + 1), self.given())

    def _try(self, numbers: Collection[int], values: Known) -> Trial | None:
        cuts = self.a.contents.cut(numbers), self.b.contents.cut(numbers)
        if not cuts[0].outputs or any(tensor not in values for tensor in cuts[0].inputs):
            return None
        columns = [values[tensor] for tensor in cuts[0].inputs]
        steps = [[column[at] for column in columns] for at in range(len(self.a.steps))]
        outcomes = []
        for side, cut in zip((self.a, self.b), cuts, strict=True):
            assert side.way is not None
            try:
                outcomes.append(side.way.run(ModelFile(cut.data, name=str(side.file)), steps))
            except InputError as error:  # neither side can compute this part
                outcomes.append(str(error))
        errors = tuple(each if isinstance(each, str) else "" for each in outcomes)
        if any(errors):
            expected = bool(errors[0]) == bool(self.errors[0])
            failed = expected and bool(errors[1]) == bool(self.errors[1])
            return Trial(cuts, errors=(errors[0], errors[1])) if failed else None
        if any(self.errors):
            return None
        outputs = [each for each in outcomes if not isinstance(each, str)]
        found = self.measure_outputs(cuts, outputs)
        differences = {layer: each for layer, each in found.items() if each.differs}
        return Trial(cuts, differences) if differences else None

    def measure_outputs(
        self, cuts: tuple[Cut, Cut], outputs: Sequence[Steps]
    ) -> dict[int, Difference]:
        """Compare each layer of a part: its first output that differs, else any of its outputs."""
        found: dict[int, Difference] = {}
        for place, (one, other) in enumerate(zip(*(cut.outputs for cut in cuts), strict=True)):
            tensors = self.a.contents.graph.tensors[one], self.b.contents.graph.tensors[other]
            expected, got = ([step[place] for step in steps] for steps in outputs)
            each = compared(expected, got, tensors, self.tolerance)
            layer = self.a.contents.writers[one]
            if each and (layer not in found or (each.differs and not found[layer].differs)):
                found[layer] = each
        return found
