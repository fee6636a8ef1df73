# SPDX-License-Identifier: MIT
"""A fixed sample of generated graphs on all six NPUs: every operator, every mode of the NPU."""

from collections import Counter

import pytest

from . import case as cases
from .builder import UnsuitableError
from .check import Verdict, check
from .coverage import NOT_EMITTED, REQUIRED
from .families import U55_U65
from .operators import BOUNDS, GENERATORS, NEVER_ON_NPU

ROUNDS = 4
SEEDS = range(ROUNDS * len(GENERATORS))
NIGHTLY_SEEDS = range(10_000, 12_200)


def run(seeds, family=U55_U65):
    """The cases that found a graph, with their results."""
    rows = []
    for seed in seeds:
        try:
            case = cases.make(seed, family=family)
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


@pytest.fixture(scope="module")
def sample():
    return run(SEEDS)


@pytest.fixture(scope="module")
def features(sample):
    return sum((result.features for _, result in sample), Counter())


def test_one_seed_of_the_command_line(request):
    seed = request.config.getoption("--seed", default=None)
    if seed is None:
        seed = SEEDS[0]
    assert failures(run([seed])) == []


def test_sample_is_exact(sample):
    assert failures(sample) == []


def test_most_of_the_sample_runs_on_the_npu(sample):
    exact = sum(result.verdict is Verdict.EXACT for _, result in sample)
    assert exact > 0.75 * len(SEEDS)


def test_every_operator_is_exact_somewhere(sample):
    seen = {
        name
        for case, result in sample
        if result.verdict is Verdict.EXACT
        for name in case.operators
    }
    bounded = {
        name
        for case, result in sample
        if result.verdict is Verdict.BOUNDED
        for name in case.operators
    }
    assert GENERATORS.keys() - seen - NEVER_ON_NPU.keys() - (bounded & BOUNDS.keys()) == set()


def test_no_exact_case_shows_a_defect_that_any_graph_may_meet(sample):
    shown = [
        f"seed {case.seed}: {defect.text}"
        for case, result in sample
        if result.verdict is Verdict.EXACT
        for defect in case.family.known
        if defect.proof(result.compiled)
    ]
    assert shown == []


@pytest.mark.parametrize("operator", NEVER_ON_NPU)
def test_operators_that_vela_leaves_to_the_cpu_still_are(sample, operator):
    for case, result in sample:
        if case.operators == (operator,) and not case.legacy:
            assert result.verdict is Verdict.CPU
            assert NEVER_ON_NPU[operator] in result.reason


def test_all_configs_take_part(sample):
    assert {case.npu for case, _ in sample} == set(U55_U65.npus)


@pytest.mark.parametrize("feature", REQUIRED)
def test_sample_exercises(features, feature):
    assert features[feature] > 0


@pytest.mark.parametrize("feature", NOT_EMITTED)
def test_what_vela_never_emits_is_still_not_emitted(features, feature):
    assert not any(name.startswith(feature) for name in features)


@pytest.mark.slow
def test_two_thousand_graphs():
    rows = run(NIGHTLY_SEEDS)
    assert failures(rows) == []
    assert len(rows) >= 2000
