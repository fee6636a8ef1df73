# SPDX-License-Identifier: MIT
"""Compares the values of a tensor on both sides, which may arrange them in another way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model import Tensor
from ...model.arrays import Array
from ...sim.difference import Difference


def compared(
    expected: Sequence[Array],
    found: Sequence[Array],
    tensors: tuple[Tensor, Tensor] | None = None,
    tolerance: float | None = None,
) -> Difference | None:
    """The difference of side B's values, `found`, from side A's; None if their numbers differ.

    The shapes of a tensor may differ between two models, and its type, whose raw values count then.
    """
    sizes = [[each.size for each in side] for side in (expected, found)]
    if sizes[0] != sizes[1] or not sum(sizes[0]):
        return None
    ours: Sequence[Array] = [np.reshape(b, a.shape) for a, b in zip(expected, found, strict=True)]
    theirs = expected
    if tolerance is None and [a.dtype for a in theirs] != [b.dtype for b in ours]:
        ours, theirs = ([each.astype(np.float64) for each in side] for side in (ours, theirs))
    return Difference.of(ours, theirs, tensors and tensors[::-1], tolerance)
