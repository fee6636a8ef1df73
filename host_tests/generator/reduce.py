# SPDX-License-Identifier: MIT
"""Reduces a failing case: a shorter sequence of smaller choices with the same failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import case as cases
from .builder import UnsuitableError
from .case import Case
from .check import Result, check

MAX_TRIALS = 200


def reduce_case(case: Case, result: Result, trials: int = MAX_TRIALS) -> tuple[Case, Result]:
    """Return the smallest case found with the same verdict, and its result."""
    progress = True
    while progress and trials > 0:
        progress = False
        for choices in _simpler(case.choices):
            if trials <= 0:
                break
            trials -= 1
            found = _try(choices, case, result)
            if found is not None and _size(found[0]) < _size(case):
                case, result = found
                progress = True
                break
    return case, result


def _size(case: Case) -> tuple[int, int, int, tuple[int, ...]]:
    elements = sum(array.size for array in case.feeds[0])
    return len(case.operators), len(case.choices), elements + sum(case.choices), case.choices


def _simpler(choices: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield candidates, largest reductions first: without spans, with smaller numbers."""
    length = len(choices)
    span = length // 2
    while span:
        for start in range(0, length, span):
            yield (*choices[:start], *choices[start + span :])
        for start in range(0, length, span):
            if any(choices[start : start + span]):
                zeros = [0] * len(choices[start : start + span])
                yield (*choices[:start], *zeros, *choices[start + span :])
        span //= 2
    for at, number in enumerate(choices):
        for smaller in {number // 2, number - 1} - {number, -1, 0}:
            yield (*choices[:at], smaller, *choices[at + 1 :])


def _try(choices: Sequence[int], larger: Case, result: Result) -> tuple[Case, Result] | None:
    try:
        case = cases.make(choices=choices, family=larger.family)
    except UnsuitableError:
        return None
    # With other operators, the defect would be another one.
    if not set(case.operators) <= set(larger.operators):
        return None
    found = check(case)
    return (case, found) if found.verdict is result.verdict else None
