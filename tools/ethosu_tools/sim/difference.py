# SPDX-License-Identifier: MIT
"""Compares arrays and measures how far they differ, for all commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from ..base.errors import InputError
from ..model import Tensor
from ..model.arrays import Array, dequantise

# ExecuTorch's tolerance for floats: |found - expected| <= 1e-8 + 1e-5 |expected|. A bundled program
# cannot specify another one.
EXECUTORCH: Final = "ExecuTorch's"
_RELATIVE, _ABSOLUTE = 1e-5, 1e-8


class NotComparableError(InputError):
    """The arrays differ in number, shape or type, so their values cannot be compared."""


@dataclass(frozen=True)
class Difference:
    """How many values of all steps differ, by how much and where.

    With a tolerance in dB the values are real, else raw. step, at, expected and found are those of
    the largest difference; first: the first step that differs, -1 if none does. snr is the
    signal-to-noise ratio in dB.
    """

    steps: int
    values: int
    differing: int
    largest: float
    mean: float
    step: int
    at: tuple[int, ...]
    expected: float
    found: float
    snr: float
    first: int
    tolerance: float | str | None = None

    def __post_init__(self) -> None:
        """Check what holds for each comparison."""
        assert 0 <= self.differing <= self.values
        # Rounding can make the mean exceed the largest difference a little.
        assert 0 <= self.mean <= self.largest * (1 + 1e-9)
        assert (self.first >= 0) == (self.differing > 0)
        if not self.differing:
            assert self.largest == 0
            assert self.tolerance is not None or math.isinf(self.snr)

    @classmethod
    def of(
        cls,
        found: Sequence[Array],
        expected: Sequence[Array],
        tensors: tuple[Tensor, Tensor] | None = None,
        tolerance: float | str | None = None,
    ) -> Difference:
        """Compare the arrays of all steps, each with its own; raises NotComparableError.

        tensors: the tensors found and expected, which define the real values. tolerance: in dB,
        compares real values, whose types may differ; EXECUTORCH: the tolerance of test cases; None:
        values must be equal. Not-a-number equals itself.
        """
        check(found, expected, types=not isinstance(tolerance, float))
        real = found, expected
        if tensors:
            one, other = tensors
            real = [dequantise(a, one) for a in found], [dequantise(b, other) for b in expected]
        sides = real if isinstance(tolerance, float) else (found, expected)
        values = differing = 0
        total = largest = 0.0
        first, worst = -1, (0, 0)
        for step, (got, wanted) in enumerate(zip(*sides, strict=True)):
            unequal = _unequal(got, wanted, tolerance)
            values += unequal.size
            count = int(np.count_nonzero(unequal))
            if not count:
                continue
            first = step if first < 0 else first
            differing += count
            distance = np.where(unequal, _distance(got, wanted), 0.0).ravel()
            total += float(distance.sum())
            place = int(distance.argmax())
            if distance[place] > largest:
                largest, worst = float(distance[place]), (step, place)
        step, place = worst
        got, wanted = (side[step] if values else np.zeros(0) for side in sides)
        at = np.unravel_index(place, got.shape) if got.size else ()
        pair = [float(side.ravel()[place]) if side.size else 0.0 for side in (got, wanted)]
        return cls(
            steps=len(found),
            values=values,
            differing=differing,
            largest=largest,
            mean=total / max(1, values),
            step=step,
            at=tuple(int(index) for index in at),
            expected=pair[1],
            found=pair[0],
            # Raw values are compared, although their scales may differ.
            snr=_ratio(*real) if differing or tolerance is not None else math.inf,
            first=first,
            tolerance=tolerance,
        )

    @classmethod
    def of_outputs(
        cls,
        found: Sequence[Sequence[Array]],
        expected: Sequence[Sequence[Array]],
        tolerance: float | str | None = None,
    ) -> Difference:
        """Compare all outputs of all steps."""
        if len(found) != len(expected):
            raise NotComparableError(f"{len(found)} steps found, {len(expected)} expected")
        for ours, theirs in zip(found, expected, strict=True):
            check(ours, theirs)
        flat = [[array for step in side for array in step] for side in (found, expected)]
        whole = cls.of(flat[0], flat[1], tolerance=tolerance)
        outputs = max(1, len(found[0]) if found else 1)
        first = whole.first // outputs if whole.differing else -1
        return replace(whole, steps=len(found), step=whole.step // outputs, first=first)

    @property
    def differs(self) -> bool:
        """Whether the difference counts."""
        if isinstance(self.tolerance, float):
            return self.snr < self.tolerance
        return self.differing > 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        data = asdict(self)
        del data["tolerance"]
        return {**data, "at": list(self.at), "differs": self.differs}

    def text(self) -> str:
        """The difference in words."""
        if not self.differing:
            return "equal"
        ratio = "" if math.isinf(self.snr) else f", signal-to-noise ratio {self.snr:.1f} dB"
        return (
            f"{self.differing:,} of {self.values:,} values differ, by up to {self.largest:g} (at "
            f"{list(self.at)} of step {self.step}: {self.expected:g} expected, {self.found:g} "
            f"found){ratio}"
        )


def check(found: Sequence[Array], expected: Sequence[Array], *, types: bool = True) -> None:
    """Raise NotComparableError if number, shapes or types of arrays differ, in this order."""
    if len(found) != len(expected):
        raise NotComparableError(f"{len(found)} arrays found, {len(expected)} expected")
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape != theirs.shape:
            raise NotComparableError(
                f"shape {list(ours.shape)} found, {list(theirs.shape)} expected"
            )
    for ours, theirs in zip(found, expected, strict=True):
        if types and ours.dtype != theirs.dtype:
            raise NotComparableError(f"type {ours.dtype} found, {theirs.dtype} expected")


def _unequal(found: Array, expected: Array, tolerance: float | str | None) -> Any:
    """Return a mask of the values that differ, or are not a number on one side only."""
    if tolerance == EXECUTORCH and np.issubdtype(expected.dtype, np.inexact):
        return ~np.isclose(found, expected, _RELATIVE, _ABSOLUTE, equal_nan=True)
    unequal = np.asarray(found != expected)
    if np.issubdtype(found.dtype, np.inexact) and np.issubdtype(expected.dtype, np.inexact):
        unequal &= ~(np.isnan(found) & np.isnan(expected))
    return unequal


def _distance(found: Array, expected: Array) -> Any:
    """Return distances as floats; infinite if only one value is a number."""
    # Floats would lose small differences between large integers.
    if found.dtype == expected.dtype and found.dtype.kind in "iu":
        larger = np.maximum(found, expected).astype(np.uint64)
        return (larger - np.minimum(found, expected).astype(np.uint64)).astype(np.float64)
    with np.errstate(all="ignore"):
        far = np.abs(np.asarray(found, np.float64) - np.asarray(expected, np.float64))
    return np.nan_to_num(far, nan=math.inf, posinf=math.inf)


def _ratio(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """Return the signal-to-noise ratio in dB; infinite if there is no noise."""
    noise = signal = 0.0
    with np.errstate(all="ignore"):
        for got, wanted in zip(found, expected, strict=True):
            one, other = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
            far = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, one - other)
            noise += float(np.square(far).sum())
            signal += float(np.square(other).sum())
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf
