# SPDX-License-Identifier: MIT
"""A fixed sample of generated graphs on the five configs of Ethos-U85."""

from collections import Counter

import pytest

from . import case as cases
from . import places
from .builder import UnsuitableError
from .check import Verdict, check
from .coverage_u85 import NOT_EMITTED, REQUIRED
from .families import U85

SEEDS = range(2 * len(U85.generators))
NIGHTLY_SEEDS = range(10_000, 11_250)


def run(seeds):
    """The cases that found a graph, with their results."""
    rows = []
    for seed in seeds:
        try:
            case = cases.make(seed, family=U85)
        except UnsuitableError:
            continue
        rows.append((case, check(case)))
    return rows


def failures(rows):
    return [
        f"seed {case.seed}: {case}: {result.verdict.value}: {result.reason}"
        for case, result in rows
        if result.verdict.failed
    ]


def operators(rows, *verdicts):
    return {name for case, result in rows if result.verdict in verdicts for name in case.operators}


@pytest.fixture(scope="module")
def sample():
    return run(SEEDS)


@pytest.fixture(scope="module")
def features(sample):
    return sum((result.features for _, result in sample), Counter())


def test_sample_is_exact(sample):
    assert failures(sample) == []


def test_most_of_the_sample_runs_on_the_npu(sample):
    exact = sum(result.verdict is Verdict.EXACT for _, result in sample)
    assert exact > 0.75 * len(SEEDS)


def test_every_operator_is_exact_somewhere_or_within_its_bound(sample):
    exact = operators(sample, Verdict.EXACT)
    bounded = operators(sample, Verdict.BOUNDED) & U85.bounds.keys()
    assert U85.generators.keys() - exact - bounded - U85.never_on_npu.keys() == set()


def test_no_exact_case_looks_as_if_data_were_lost(sample):
    exact = [result for _, result in sample if result.verdict is Verdict.EXACT]
    assert not any(places.unwritten(result.compiled) for result in exact)


def test_all_configs_take_part(sample):
    assert {case.npu for case, _ in sample} == set(U85.npus)


def test_all_memory_modes_take_part(sample):
    modes = {case.options[case.options.index("--memory-mode") + 1] for case, _ in sample}
    assert modes == set(U85.systems)


@pytest.mark.parametrize("feature", REQUIRED)
def test_sample_exercises(features, feature):
    assert features[feature] > 0


@pytest.mark.parametrize("feature", NOT_EMITTED)
def test_what_vela_never_emits_is_still_not_emitted(features, feature):
    assert not any(name == feature or name.startswith(feature + " ") for name in features)


@pytest.mark.slow
def test_a_thousand_graphs():
    rows = run(NIGHTLY_SEEDS)
    assert failures(rows) == []
    assert len(rows) >= 1000
