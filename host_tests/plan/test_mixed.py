# SPDX-License-Identifier: MIT
"""Mixed graphs: compiled, planned, and exact on the functional NPU model."""

import numpy as np
import pytest
from ethosu_tools.make_mixed import MODELS
from ethosu_tools.oracle import Oracle
from ethosu_tools.plan import plan_file
from ethosu_tools.sim import Simulation

STEPS = 12  # more than an SVDF layer remembers


def random_inputs(tensors, random):
    draws = {
        "float32": lambda shape: random.normal(0, 1.5, shape).astype(np.float32),
        "int32": lambda shape: random.integers(0, 50, shape).astype(np.int32),
        "int8": lambda shape: random.integers(-128, 128, shape).astype(np.int8),
    }
    return [draws[tensor.dtype](tensor.shape) for tensor in tensors]


@pytest.mark.parametrize("name", MODELS)
def test_vela_leaves_to_the_cpu_what_it_should(mixed, name):
    facts = mixed(name).facts
    assert set(MODELS[name].on_cpu) <= set(facts["cpu_operators"])
    assert facts["npu_operators"], "the NPU has something to do too"


@pytest.mark.parametrize("name", MODELS)
def test_exact_on_the_simulated_npu(mixed, name):
    model = mixed(name)
    oracle, random = Oracle(model.source), np.random.default_rng(9)
    seen = set()
    with Simulation(model.planned) as simulation:
        for step in range(STEPS):
            inputs = random_inputs(oracle.inputs, random)
            expected, found = oracle.step(inputs), simulation.step(inputs)
            for index, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
                assert ours.tobytes() == theirs.tobytes(), f"step {step}, output {index}"
            seen.add(b"".join(array.tobytes() for array in expected))
    assert len(seen) > STEPS // 2, "outputs hardly change: the comparison proves little"


@pytest.mark.parametrize("name", MODELS)
def test_never_larger_than_scratch_behind_velas_arena(mixed, name):
    plan = mixed(name).plan
    assert plan.arena <= plan.before


def test_models_without_cpu_operators_keep_velas_plan(compiled, small_models):
    plan = plan_file(compiled(small_models["small_cnn"]))
    assert (plan.entries, plan.moved, plan.arena) == ([], 0, plan.before)
