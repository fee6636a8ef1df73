# SPDX-License-Identifier: MIT
"""Scales and zero points that do not match a tensor are rejected, or loops would overrun."""

import pytest

from . import hostile

SENTENCE = "tensor {} ({}) of subgraph 0: {} scales and {} zero points, expected 0, 1 or {} of each"


# Numbers of scales and of zero points, the tensor's shape, and the axis of its scales.
WRONG = [
    (65537, 0, (1, 65537), 0),
    (65536, 0, (1, 65536), 0),
    (2, 0, (1, 4), 0),
    (4, 0, (1, 4), 0),
    (3, 0, (1, 4), 1),
    (4, 3, (1, 4), 1),
    (1, 4, (1, 4), 1),
    (2, 2, (2,), 1),
    (2, 2, (2,), -1),
]
RIGHT = [(0, 0, (4,), 0), (1, 0, (4,), 7), (1, 1, (), 0), (4, 4, (1, 4), 1), (4, 1, (1, 4), 1)]


@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("output", [False, True])
def test_scales_that_contradict_the_shape(damage, output, width):
    files, expected = {}, {}
    for case in WRONG:
        scales, zero_points, shape, axis = case
        files[str(case)] = hostile.with_scales(*case, output=output)
        size = shape[axis] if 0 <= axis < len(shape) else 1
        expected[str(case)] = f"-1 {SENTENCE.format(0, 'x', scales, zero_points, size)}"
    assert damage.each(files, width) == expected


def test_scales_that_match_the_shape(damage):
    said = damage.each({str(case): hostile.with_scales(*case) for case in RIGHT})
    assert {case: text for case, text in said.items() if not text.startswith("0 ")} == {}
