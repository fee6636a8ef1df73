# SPDX-License-Identifier: MIT
"""How far the values of a tensor differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays import Array, dequantise
from ..model import Tensor


@dataclass(frozen=True)
class Measure:
    """Values of all steps: how many there are and how many differ, by how much and where.

    With a tolerance the values are real, else raw. step, at, expected and found are those of the
    largest difference; first: the first step that differs, -1 if none does. snr is the
    signal-to-noise ratio in dB.
    """

    values: int
    differing: int
    largest: float
    step: int
    at: tuple[int, ...]
    expected: float
    found: float
    snr: float
    first: int
    tolerance: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the difference counts."""
        if self.tolerance is None:
            return self.differing > 0
        return self.snr < self.tolerance

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        data = asdict(self)
        del data["tolerance"]
        return {**data, "at": list(self.at), "differs": self.differs}

    def text(self) -> str:
        """In words."""
        if not self.differing:
            return "equal"
        ratio = "" if math.isinf(self.snr) else f", signal-to-noise ratio {self.snr:.1f} dB"
        return (
            f"{self.differing:,} of {self.values:,} values differ, by up to {self.largest:g} (at "
            f"{list(self.at)} of step {self.step}: {self.expected:g} expected, {self.found:g} "
            f"found){ratio}"
        )


def measure(
    expected: Sequence[Array],
    found: Sequence[Array],
    tensors: tuple[Tensor, Tensor],
    tolerance: float | None,
) -> Measure | None:
    """Compare a tensor's values in all steps; None if their numbers differ.

    `tolerance` in dB compares real values; None: raw ones, which must be equal.
    """
    pairs = []
    for one, other in zip(expected, found, strict=True):
        if one.size != other.size:
            return None
        pairs.append((_wide(one, tensors[0], tolerance), _wide(other, tensors[1], tolerance)))
    if not pairs or not pairs[0][0].size:
        return None
    shape = expected[0].shape
    wanted, got = (np.stack([each.ravel() for each in side]) for side in zip(*pairs, strict=True))
    distance = np.abs(wanted - got)
    # Unequal, or not a number on one side only.
    unequal = ~((wanted == got) | (np.isnan(wanted) & np.isnan(got)))
    distance = np.where(unequal, np.nan_to_num(distance, nan=math.inf), 0.0)
    step, place = divmod(int(distance.argmax()), distance.shape[1])
    steps = np.flatnonzero(unequal.any(axis=1))
    return Measure(
        values=unequal.size,
        differing=int(np.count_nonzero(unequal)),
        largest=float(distance[step, place]),
        step=step,
        at=tuple(int(index) for index in np.unravel_index(place, shape)),
        expected=float(wanted[step, place]),
        found=float(got[step, place]),
        snr=_ratio(_real(expected, tensors[0]), _real(found, tensors[1])),
        first=int(steps[0]) if steps.size else -1,
        tolerance=tolerance,
    )


def _wide(array: Array, tensor: Tensor, tolerance: float | None) -> Any:
    """Real values to compare them with others, else raw ones."""
    values = array if tolerance is None else dequantise(array, tensor)
    return np.asarray(values, np.float64)


def _real(arrays: Sequence[Array], tensor: Tensor) -> Any:
    return np.concatenate([np.float64(dequantise(each, tensor)).ravel() for each in arrays])


def _ratio(wanted: Any, got: Any) -> float:
    """Signal-to-noise ratio in dB; infinite if there is no noise."""
    with np.errstate(all="ignore"):
        noise, signal = float(np.square(got - wanted).sum()), float(np.square(wanted).sum())
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf
