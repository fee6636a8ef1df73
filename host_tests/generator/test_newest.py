# SPDX-License-Identifier: MIT
"""The newest LiteRT agrees with the reference, but for the rounding of FULLY_CONNECTED."""

import numpy as np
import pytest

from host_tests.kit import sharing

from . import case as cases
from . import newest as second
from .builder import UnsuitableError
from .operators import GENERATORS

NIGHTLY_SEEDS = range(10_000, 12_200)


@pytest.fixture(scope="module")
def newest(repo):
    sharing.make(".", "litert-newest")
    litert = second.Newest(repo / "build/litert_newest/bin/python")
    yield litert
    litert.close()


def graphs(seeds):
    for seed in seeds:
        try:
            yield cases.make(seed)
        except UnsuitableError:
            continue


@pytest.mark.slow
def test_two_opinions_on_two_thousand_graphs(newest):
    """Of every operator that both give the same inputs."""
    told = [
        f"seed {case.seed}: {text}"
        for case in graphs(NIGHTLY_SEEDS)
        for text in second.disagreements(case, newest)
    ]
    assert told == []


@pytest.mark.slow
def test_the_rule_is_needed_and_takes_nothing_else(newest, monkeypatch):
    """Without it FULLY_CONNECTED disagrees; with another rounding the rule does not hold."""
    place = list(GENERATORS).index("FULLY_CONNECTED")
    some = list(graphs(range(place, 40 * len(GENERATORS), len(GENERATORS))))

    def disagreeing():
        return {text.partition(": ")[2] for c in some for text in second.disagreements(c, newest)}

    assert disagreeing() == set()
    monkeypatch.setattr(second, "once", lambda sums, multiplier, shift: sums * multiplier >> shift)
    assert disagreeing() == {"FULLY_CONNECTED"}


@pytest.mark.slow
def test_a_graph_that_only_one_runs_is_told(newest, monkeypatch):
    case = next(graphs([0]))
    monkeypatch.setattr(second, "_ask_reference", lambda *_: newest.tensors(case, [999], "AUTO"))
    with pytest.raises(second.ToolError, match="only one LiteRT runs it"):
        second.disagreements(case, newest)


@pytest.mark.parametrize("shift", [20, 31, 32, 40])
def test_two_roundings_differ_where_the_first_makes_a_tie(shift):
    """Both against fractions, rounded as they say they do."""
    sums = np.arange(-3000, 3000)
    multiplier = 0x5A5A5A5A
    exact = sums * multiplier / 2**shift
    once, twice = second.once(sums, multiplier, shift), second.twice(sums, multiplier, shift)
    np.testing.assert_array_equal(once, np.floor(exact + 0.5))
    assert np.abs(once - twice).max() <= (1 if shift > 31 else 0)
