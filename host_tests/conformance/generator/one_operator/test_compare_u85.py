# SPDX-License-Identifier: MIT
"""Tests comparisons of numbers of any scales on Ethos-U85.

Results for int8 are compared with TFLite's, which shifts a number up by 8 bits and scales it with
two roundings, the NPU with one. Each scaled number differs by at most 1/256, so the comparison may
only differ if the numbers differ by 2/256 or less.

TFLite compares int16 without the scales, so the NPU is compared with the real numbers.
"""

import numpy as np
import pytest
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from .. import vela
from ..case import of_operator

KINDS = {
    "EQUAL": "EqualOptions",
    "NOT_EQUAL": "NotEqualOptions",
    "GREATER": "GreaterOptions",
    "GREATER_EQUAL": "GreaterEqualOptions",
    "LESS": "LessOptions",
    "LESS_EQUAL": "LessEqualOptions",
}
SCALES = ((0.0123, 0.0456), (0.9, 0.031), (0.07, 0.07), (0.0039, 0.5))


def comparison(kind, scales):
    """Compare every pair of int8 numbers."""
    numbers = np.arange(-128, 128, dtype=np.int8)
    feed = tuple(np.ascontiguousarray(grid)[None] for grid in np.meshgrid(numbers, numbers))
    return case_of(kind, scales, (3, -7), feed)


def case_of(kind, scales, zero_points, feed):
    quantisations = zip(scales, zero_points, strict=True)
    return of_operator(kind, feed, [*quantisations], ("bool", None, 0), KINDS[kind])


# The second pair has a ratio that no shift can express.
WIDE_SCALES = ((0.02, 0.01), (0.0123, 0.0456))


def pairs(scales):
    """Draw random numbers, and numbers that are nearly equal."""
    random = np.random.default_rng(3)
    x, other = random.integers(-32768, 32768, (2, 1, 256, 256)).astype(np.int16)
    near = np.rint(x * (scales[0] / scales[1])) + random.integers(-2, 3, x.shape)
    mixed = np.where(random.random(x.shape) < 0.5, near, other)
    return x, np.clip(mixed, -32768, 32767).astype(np.int16)


@pytest.mark.parametrize("scales", WIDE_SCALES)
@pytest.mark.parametrize("kind", ["LESS", "GREATER_EQUAL"])  # others run on the CPU
def test_int16_is_compared_as_real_numbers(kind, scales):
    feed = pairs(scales)
    case = case_of(kind, scales, (0, 0), feed)
    with Simulation(vela.compile_case(case).model) as simulation:
        (found,) = simulation.step(feed)
    x, y = (array.astype(float) * scale for array, scale in zip(feed, scales, strict=True))
    # The NPU scales one of the numbers to the nearest step.
    apart = np.abs(x - y) > max(scales) / 2
    assert np.array_equal(found[apart], getattr(np, kind.lower())(x, y)[apart])
    (tflites,) = Oracle(case.model).step(feed)
    assert (
        np.count_nonzero(tflites[apart] != getattr(np, kind.lower())(x, y)[apart]) > found.size / 10
    )


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_differences_are_between_neighbours(kind, scales):
    case = comparison(kind, scales)
    (x, y), (wanted,) = case.feeds[0], Oracle(case.model).step(case.feeds[0])
    with Simulation(vela.compile_case(case).model) as simulation:
        (found,) = simulation.step(case.feeds[0])
    apart = np.abs((x.astype(float) - 3) * scales[0] - (y.astype(float) + 7) * scales[1])
    assert not (wanted != found)[apart > 2 / 256].any()
    assert np.count_nonzero(wanted != found) < 0.01 * wanted.size
