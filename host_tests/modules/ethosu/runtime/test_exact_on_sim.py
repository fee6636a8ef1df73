# SPDX-License-Identifier: MIT
"""Runtime and driver compute what TFLite's reference kernels do: NPU simulator in this process."""

import numpy as np
import pytest
from ethosu_tools.sim import Simulation

from . import reference_cases

CONFIGS = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256")
SMALL = ("small_cnn", "small_streaming")


def check(case, path, npu):
    with Simulation(path) as simulation:
        assert simulation.npu == npu
        for step, (row, expected) in enumerate(zip(case.inputs, case.outputs, strict=True)):
            reference_cases.assert_equal(simulation.step(row), expected, step)


@pytest.mark.parametrize("npu", CONFIGS)
@pytest.mark.parametrize("name", SMALL)
def test_own_models(case_of, compiled, small_models, name, npu):
    check(case_of(small_models[name], 20), compiled(small_models[name], npu), npu)


@pytest.mark.parametrize("npu", CONFIGS)
@pytest.mark.parametrize("name", reference_cases.WAKE_WORDS)
def test_wake_words(case_of, compiled, wake_words, name, npu):
    check(case_of(wake_words[name], 100), compiled(wake_words[name], npu), npu)


@pytest.mark.parametrize("npu", CONFIGS)
@pytest.mark.parametrize("name", reference_cases.SHARED)
def test_shared_models(case_of, compiled, shared_models, name, npu):
    model = shared_models / f"{name}.tflite"
    check(case_of(model, 20), compiled(model, npu), npu)


def test_state_tensors_of_an_lstm(case_of, compiled, shared_models):
    # Extremes are left out: fed with -128 alone, the reference's LSTM rounds otherwise than Vela's.
    model = shared_models / "trained_lstm_int8.tflite"
    check(case_of(model, 5, extremes=False), compiled(model), "ethos-u55-128")


def test_reset_brings_state_back_to_the_beginning(compiled, small_models):
    with Simulation(compiled(small_models["small_streaming"])) as simulation:
        tensor = simulation.inputs[0]
        row = [np.full(tensor.shape, 31, tensor.dtype)]
        first = [output.tobytes() for output in simulation.step(row)]
        second = [output.tobytes() for output in simulation.step(row)]
        simulation.reset()
        assert [output.tobytes() for output in simulation.step(row)] == first
        assert [output.tobytes() for output in simulation.step(row)] == second
        assert first != second, "the model has no state to test with"
