# SPDX-License-Identifier: MIT
"""Graphs of uint8 in place of int8, as Vela takes them for an Ethos-U55 or U65."""

from collections import Counter

import pytest

from .check import Verdict
from .families import U55_U65_UNSIGNED
from .operators import GENERATORS, NEVER_ON_NPU
from .test_sample import failures, run

SEEDS = (*range(10 * len(GENERATORS)), 1_506)  # the last has MIRROR_PAD, but not of channels
NIGHTLY_SEEDS = range(20_000, 24_000)  # half of them make no graph without 16-bit numbers

# Operators for which LiteRT has no kernel of uint8, and Vela no reference to follow.
WITHOUT_KERNEL = {
    *("ABS", "BATCH_MATMUL", "ELU", "EXP", "LOG", "RSQRT", "SQUARED_DIFFERENCE"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
}

REQUIRED = [
    *(f"{name} {end} uint8 NHWC" for name in ("CONV", "DEPTHWISE") for end in ("ifm", "ofm")),
    *(f"POOL {mode} ifm uint8 NHWC" for mode in ("MAX", "AVERAGE", "REDUCE_SUM")),
    *(f"ELEMENTWISE {mode} ifm uint8 NHWC" for mode in ("ADD", "SUB", "MUL", "MIN", "MAX")),
    *("CONV ifm uint8 NHCWB16", "POOL AVERAGE ofm uint8 NHCWB16"),
]


@pytest.fixture(scope="module")
def sample():
    return run(SEEDS, U55_U65_UNSIGNED)


def test_sample_is_exact(sample):
    assert failures(sample) == []


def test_every_operator_with_a_kernel_is_exact_somewhere(sample):
    exact = {
        name
        for case, result in sample
        if result.verdict is Verdict.EXACT
        for name in case.operators
    }
    assert GENERATORS.keys() - NEVER_ON_NPU.keys() - exact == WITHOUT_KERNEL


def test_litert_refuses_the_others(sample):
    for case, result in sample:
        if len(case.operators) == 1 and WITHOUT_KERNEL & set(case.operators):
            assert result.verdict is Verdict.NO_REFERENCE, case


def test_sample_asks_for_unsigned_arithmetic(sample):
    features = sum((result.features for _, result in sample), Counter())
    assert [feature for feature in REQUIRED if not features[feature]] == []


@pytest.mark.slow
def test_two_thousand_graphs_of_uint8():
    rows = run(NIGHTLY_SEEDS, U55_U65_UNSIGNED)
    assert failures(rows) == []
    assert len(rows) >= 1_900
