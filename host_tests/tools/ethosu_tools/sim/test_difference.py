# SPDX-License-Identifier: MIT
"""Tests the comparison of arrays."""

import math
from dataclasses import replace

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model import Tensor
from ethosu_tools.sim.difference import EXECUTORCH, Difference

NAN, INF = math.nan, math.inf
EQUAL = Difference.of([np.zeros(3, "int8")], [np.zeros(3, "int8")])


@pytest.mark.parametrize(
    ("ours", "theirs", "kind", "differing", "largest"),
    [
        ((1, 2, 3), (1, 2, 7), np.int8, 1, 4.0),
        ((-128, 0, 0), (127, 0, 0), np.int8, 1, 255.0),
        ((INF, 1.0, 0.0), (INF, 1.5, 0.0), np.float32, 1, 0.5),
        ((2**60, 0, 0), (2**60 + 1, 0, 0), np.int64, 1, 1.0),
        ((0, 0, 0), (2**64 - 1, 0, 0), np.uint64, 1, 2.0**64),
        ((NAN, 1.0, 2.0), (NAN, 1.0, 2.0), np.float32, 0, 0.0),
        ((NAN, 1.0, 2.0), (0.0, 1.0, 2.0), np.float32, 1, INF),
        ((INF, 1.0, 2.0), (-INF, 1.0, 2.0), np.float32, 1, INF),
        ((-0.0, 1.0, 2.0), (0.0, 1.0, 2.0), np.float32, 0, 0.0),
        ((True, False, True), (True, True, True), np.bool_, 1, 1.0),
    ],
)
def test_values_are_compared_with_their_distance(ours, theirs, kind, differing, largest):
    found = Difference.of([np.array(ours, kind)], [np.array(theirs, kind)])
    assert (found.values, found.differing, found.largest) == (3, differing, largest)
    assert found.mean == largest / 3 and found.differs == bool(differing)
    assert (found.text() == "equal") == (not differing)


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        ([np.zeros((1, 4))], [], "1 arrays found, 0 expected"),
        ([np.zeros((1, 4, 4, 1))], [np.zeros((1, 1))], r"shape \[1, 4, 4, 1\] found, \[1, 1\] exp"),
        ([np.zeros(4)], [np.zeros((1, 4))], r"shape \[4\] found, \[1, 4\] expected"),
        ([np.zeros(4, "int8")], [np.zeros(4, "uint8")], "type int8 found, uint8 expected"),
        ([np.zeros(4, "int8")], [np.zeros(2, "uint8")], "shape"),
    ],
)
def test_only_arrays_of_one_kind_are_comparable(found, expected, said):
    """Arrays of another count, shape or type are refused, and nothing is broadcast."""
    for tolerance in (None, EXECUTORCH):
        with pytest.raises(InputError, match=said):
            Difference.of(found, expected, tolerance=tolerance)
        with pytest.raises(InputError, match=said):
            Difference.of_outputs([found], [expected], tolerance)


def test_real_values_are_compared_with_a_tolerance():
    tensors = Tensor("a", (2,), "int8", 0.5, 1), Tensor("b", (2,), "float32")
    found, expected = [np.array([3, 5], "int8")], [np.array([1.0, 2.5], "float32")]
    measured = Difference.of(found, expected, tensors, 20.0)
    assert (measured.differing, measured.largest, measured.at) == (1, 0.5, (1,))
    assert measured.snr == pytest.approx(10 * math.log10(7.25 / 0.25)) and measured.differs
    assert not Difference.of(found, expected, tensors, 10.0).differs


def test_test_cases_have_the_tolerance_of_executorch():
    expected = np.array([1.0, 0.0, 100.0], "float32")
    for change, wrong in ((1e-6, 0), (1e-4, 3)):
        found = expected * np.float32(1 + change) + np.float32(change / 1000)
        said = Difference.of([found], [expected], tolerance=EXECUTORCH)
        assert said.differing == wrong


def test_all_outputs_of_all_steps_are_compared():
    rows = [[np.zeros((1, 2), "int8"), np.zeros(3, "int16")] for _ in range(4)]
    other = [[each.copy() for each in row] for row in rows]
    other[1][0][0, 1], other[2][1][2] = 1, 9
    found = Difference.of_outputs(other, rows)
    assert (found.steps, found.values, found.differing) == (4, 20, 2)
    assert (found.first, found.step, found.at, found.found, found.largest) == (1, 2, (2,), 9, 9)
    with pytest.raises(InputError, match="4 steps found, 3 expected"):
        Difference.of_outputs(rows, rows[:3])


def test_nothing_equals_nothing():
    assert Difference.of([], []).values == 0
    empty = [np.zeros((0, 3), "int8")]
    assert not Difference.of(empty, empty).differs


@pytest.mark.parametrize(
    "change", [{"differing": 4}, {"largest": 1.0}, {"snr": 3.0}, {"first": 0}, {"mean": 1.0}]
)
def test_what_cannot_be_is_refused(change):
    with pytest.raises(AssertionError):
        replace(EQUAL, **change)
