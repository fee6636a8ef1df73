# SPDX-License-Identifier: MIT
"""Scales and zero points that do not match their tensor are rejected: loops would overrun."""

import pytest

from . import hostile

SENTENCE = "tensor {} ({}) of subgraph 0: {} scales and {} zero points, expected 0, 1 or {} of each"


@pytest.mark.parametrize(
    ("scales", "zero_points", "shape", "axis"),
    [
        (65537, 0, (1, 65537), 0),
        (65536, 0, (1, 65536), 0),
        (2, 0, (1, 4), 0),
        (4, 0, (1, 4), 0),
        (3, 0, (1, 4), 1),
        (4, 3, (1, 4), 1),
        (1, 4, (1, 4), 1),
        (2, 2, (2,), 1),
        (2, 2, (2,), -1),
    ],
)
@pytest.mark.parametrize("output", [False, True])
def test_scales_that_contradict_the_shape(
    damage, tmp_path, scales, zero_points, shape, axis, output
):
    path = tmp_path / "model.tflite"
    path.write_bytes(hostile.with_scales(scales, zero_points, shape, axis, output=output))
    size = shape[axis] if 0 <= axis < len(shape) else 1
    expected = SENTENCE.format(0, "x", scales, zero_points, size)
    assert damage("load", path) == f"-1 {expected}\n"
    assert damage("load", path, 32) == f"-1 {expected}\n"


@pytest.mark.parametrize(
    ("scales", "zero_points", "shape", "axis"),
    [(0, 0, (4,), 0), (1, 0, (4,), 7), (1, 1, (), 0), (4, 4, (1, 4), 1), (4, 1, (1, 4), 1)],
)
def test_scales_that_match_the_shape(damage, tmp_path, scales, zero_points, shape, axis):
    path = tmp_path / "model.tflite"
    path.write_bytes(hostile.with_scales(scales, zero_points, shape, axis))
    assert damage("load", path).startswith("0 ")
