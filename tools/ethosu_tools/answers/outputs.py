# SPDX-License-Identifier: MIT
"""The outputs of a run: a summary, and the comparison with a reference or with test cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import MismatchError
from ..base.ui import Update
from ..compile.known import known_of
from ..model import Case, ModelFile
from ..model.arrays import Array, Feed
from ..sim.difference import EXECUTORCH, Difference
from ..sim.oracle import Oracle, check_original


def summary(array: Array) -> dict[str, Any]:
    """Type, shape, range, and where the largest value is."""
    found: dict[str, Any] = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if not array.size or not np.issubdtype(array.dtype, np.number):
        return found
    largest = np.unravel_index(int(array.argmax()), array.shape)
    return found | {
        "min": array.min().item(),
        "max": array.max().item(),
        "largest_at": [int(index) for index in largest],
    }


def compare(
    file: ModelFile, rows: Sequence[Sequence[Array]], feed: Feed, original: ModelFile, done: Update
) -> None:
    """Raise MismatchError unless every output of every step equals that of the original model."""
    check_original(original, file)
    oracle = Oracle(original)
    for step, found in enumerate(rows):
        done(step, feed.steps)
        for key, (one, right) in enumerate(zip(found, oracle.step(feed.step(step)), strict=True)):
            difference = Difference.of([one], [right])
            if difference.differing:
                why = known_of(original.graph)
                raise MismatchError(
                    f"output {key} of step {step} differs from the reference in "
                    f"{difference.differing} of {difference.values} values, by up to "
                    f"{difference.largest:g}{why and f', {why}'}; `ethosu validate --reference` "
                    "checks a whole data set"
                )


def compare_cases(rows: Sequence[Sequence[Array]], cases: Sequence[Case]) -> None:
    """Raise MismatchError unless every output is that of the test case, as ExecuTorch compares."""
    for index, (found, case) in enumerate(zip(rows, cases, strict=False)):
        for key, (one, right) in enumerate(zip(found, case.outputs, strict=True)):
            difference = Difference.of([one], [right], tolerance=EXECUTORCH)
            if difference.differing:
                raise MismatchError(
                    f"output {key} of case {index} differs from the expected output in "
                    f"{difference.differing} of {difference.values} values"
                )
