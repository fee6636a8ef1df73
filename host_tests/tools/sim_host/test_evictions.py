# SPDX-License-Identifier: MIT
"""Whole models while lines are evicted and fetched at random moments: no seed changes a result.

By hand, all seeds: `pytest host_tests/tools/sim_host/test_evictions.py -m slow`.
"""

import numpy as np
import pytest
from ethosu_tools import arrays
from ethosu_tools.oracle import Oracle
from ethosu_tools.sim import Simulation

STEPS = 3
NPUS = ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"]
CASES = [(model, npu) for model in ("small_cnn", "small_streaming") for npu in NPUS]


def wrong_seeds(source, compiled, seeds):
    """The seeds with which a step of the model gave another result than the reference."""
    with Simulation(compiled, coherence="off") as simulation:
        inputs = arrays.random_inputs(simulation.inputs, np.random.default_rng(0))
    oracle = Oracle(source)
    expected = [oracle.step(inputs) for _ in range(STEPS)]
    wrong = []
    for seed in seeds:
        with Simulation(compiled, coherence=f"evict:{seed}") as simulation:
            found = [simulation.step(inputs) for _ in range(STEPS)]
        if not all(
            np.array_equal(a, b)
            for step in zip(found, expected, strict=True)
            for a, b in zip(*step, strict=True)
        ):
            wrong.append(seed)
    return wrong


@pytest.mark.parametrize(("model", "npu"), CASES)
def test_no_seed_of_a_few_changes_a_result(small_models, compiled, model, npu):
    source = small_models[model]
    assert wrong_seeds(source, compiled(source, npu), range(40)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("model", "npu"), CASES)
def test_no_seed_changes_a_result(small_models, compiled, model, npu):
    source = small_models[model]
    assert wrong_seeds(source, compiled(source, npu), range(1000)) == []
