# SPDX-License-Identifier: MIT
"""Scaling equals a restatement in Python's unbounded integers, on edges and random values.

The NPU's operation: REDUCE_SUM over one channel of a 32-bit IFM scales each value with
OFM_SCALE in the chosen mode, and a 32-bit OFM saturates but does not clamp.
"""

import numpy as np
import pytest

from host_tests.tools.npu_sim.assembler import Stream, execute

DOUBLE, TRUNCATE, NATURAL = 0, 1, 2
INT32 = np.iinfo(np.int32)


def natural(product: int, shift: int) -> int:
    """Round half up."""
    return product + (1 << shift >> 1) >> shift


def away(value: int, shift: int) -> int:
    """Round half away from zero."""
    half = 1 << shift >> 1
    return value + half >> shift if value >= 0 else -(-value + half >> shift)


def scale(value: int, multiplier: int, shift: int, mode: int) -> int:
    product = value * multiplier
    if mode == TRUNCATE:
        rounded = abs(product) >> shift
        rounded = rounded if product >= 0 else -rounded
    elif mode == NATURAL or shift <= 31:
        rounded = natural(product, shift)
    else:
        rounded = away(natural(product, 31), shift - 31)
    return min(max(rounded, int(INT32.min)), int(INT32.max))


def scale_on_npu(values: np.ndarray, multiplier: int, shift: int, mode: int) -> np.ndarray:
    width = len(values)
    stream = Stream().defaults(
        IFM_PRECISION=0x9, OFM_PRECISION=0x105 | mode << 14, IFM_STRIDE_X=4, OFM_STRIDE_X=4,
        IFM_STRIDE_Y=4 * width, OFM_STRIDE_Y=4 * width, OFM_WIDTH_M1=width - 1,
        IFM_WIDTH0_M1=width - 1, OFM_WIDTH0_M1=width - 1, OFM_SCALE=shift << 32 | multiplier,
    ).op("POOL", 2).stop()  # fmt: skip
    regions = [values.tobytes(), bytes(4 * width)]
    return execute("ethos-u55-128", stream, regions).result.view(np.int32)


@pytest.mark.parametrize("mode", [DOUBLE, TRUNCATE, NATURAL])
@pytest.mark.parametrize("multiplier", [1, 3, 0x40000000, 0x7FFFFFFF, 0x80000001, 0xFFFFFFFF])
def test_scaling_is_exact(multiplier, mode):
    edges = [INT32.min, INT32.min + 1, -3, -2, -1, 0, 1, 2, 3, INT32.max]
    for shift in (0, 1, 15, 30, 31, 32, 33, 40, 47, 62, 63):
        random = np.random.default_rng(shift)
        # Products in the middle between two results show how ties are rounded.
        halves = [((2 * k + 1) << shift >> 1) * sign for k in range(20) for sign in (1, -1)]
        ties = [half // multiplier for half in halves]
        ties = [t + d for t in ties for d in (-1, 0, 1) if abs(t) < INT32.max - 1]
        values = np.array([*edges, *ties, *random.integers(INT32.min, INT32.max, 50)], np.int32)
        expected = [scale(int(value), multiplier, shift, mode) for value in values]
        found = scale_on_npu(values, multiplier, shift, mode)
        np.testing.assert_array_equal(found, expected, f"shift {shift}")


def test_the_modes_differ_where_they_should():
    """The modes differ for -0.5, 0.5 and values that double rounding lifts over a tie."""
    assert [scale(-1, 1, 1, m) for m in (TRUNCATE, NATURAL)] == [0, 0]
    assert [scale(-3, 1, 1, m) for m in (TRUNCATE, NATURAL)] == [-1, -1]
    assert scale(13514, 0x5F5B1E16, 34, DOUBLE) == 1259
    assert scale(13514, 0x5F5B1E16, 34, NATURAL) == 1258


QUARTER = 33 << 32 | 0x80000001
POOLS = {
    "a maximum, whose scale Vela 5.0 sets": (0, {"KERNEL_WIDTH_M1": 0}, [8, -5, 90]),
    "an average of a padded IFM": (1, {"KERNEL_WIDTH_M1": 1, "IFM_PAD_LEFT": 1}, [8, 2, 43]),
    "an average whose scale divides": (1, {"KERNEL_WIDTH_M1": 0}, [2, -1, 23]),
}


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-256"])
@pytest.mark.parametrize(("mode", "registers", "expected"), POOLS.values(), ids=list(POOLS))
def test_pools_that_are_not_scaled(config, mode, registers, expected):
    stream = Stream(config).defaults(OFM_SCALE=QUARTER, **registers).op("POOL", mode).stop()
    values = np.zeros(16, np.int8)
    values[:3] = 8, -5, 90
    found = execute(config, stream, [values.tobytes(), bytes(16)]).result
    assert found[:3].view(np.int8).tolist() == expected
