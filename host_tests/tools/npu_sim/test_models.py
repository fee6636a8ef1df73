# SPDX-License-Identifier: MIT
"""Whole networks, compiled by Vela, equal TFLite's reference kernels bit by bit."""

from pathlib import Path

import numpy as np
import pymicro_wakeword
import pytest
from ethosu_tools import tflite
from ethosu_tools.oracle import Oracle
from ethosu_tools.sim import Simulation

from tools.npu_sim.conftest import CONFIGS, extreme_inputs, random_inputs

WAKE_WORDS = ("okay_nabu", "hey_jarvis", "alexa", "hey_mycroft")
NETWORKS = (
    "kws_ref_model",
    "ad01_int8",
    "pretrainedResnet_quant",
    "vww_96_int8",
    "hello_world_int8",
)
# Operators that only rename or copy bytes; another one would be computed by the CPU.
NOT_COMPUTED = {"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "RESHAPE"}
U55 = tuple(config for config in CONFIGS if "u55" in config)


def wake_word(name: str) -> Path:
    return Path(pymicro_wakeword.__file__).parent / "models" / f"{name}.tflite"


def assert_exact(compiled: Path, model: Path, steps: list) -> None:
    """Run both over the steps, with state, and compare every output."""
    assert set(tflite.describe(compiled).cpu_operators) <= NOT_COMPUTED
    oracle = Oracle(model)
    with Simulation(compiled) as simulation:
        for number, inputs in enumerate(steps):
            for index, (found, expected) in enumerate(
                zip(simulation.step(inputs), oracle.step(inputs), strict=True)
            ):
                np.testing.assert_array_equal(
                    found, expected, f"step {number}, output {index}", strict=True
                )


def steps_for(model: Path, count: int) -> list:
    """The extremes, then random inputs."""
    inputs = [(tensor.shape, tensor.dtype) for tensor in Oracle(model).inputs]
    random = np.random.default_rng(2024)
    return extreme_inputs(inputs) + [random_inputs(inputs, random) for _ in range(count)]


@pytest.mark.parametrize("name", WAKE_WORDS)
def test_wake_word_streams_exactly(vela, name):
    model = wake_word(name)
    assert_exact(vela(model, "ethos-u55-128"), model, steps_for(model, 100))


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", WAKE_WORDS)
def test_wake_word_streams_exactly_on_every_config(vela, name, config):
    model = wake_word(name)
    assert_exact(vela(model, config), model, steps_for(model, 100))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-512"])
def test_network_is_exact(vela, shared_models, name, config):
    model = shared_models / f"{name}.tflite"
    assert_exact(vela(model, config), model, steps_for(model, 5))


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", NETWORKS)
def test_network_is_exact_on_every_config(vela, shared_models, name, config):
    model = shared_models / f"{name}.tflite"
    assert_exact(vela(model, config), model, steps_for(model, 20))


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    ("--optimise", "Size"),
    ("--debug-force-legacy-core",),
    ("--cop-format", "COP2"),
])  # fmt: skip
@pytest.mark.parametrize("name", NETWORKS)
def test_network_is_exact_however_compiled(vela, shared_models, name, options):
    model = shared_models / f"{name}.tflite"
    assert_exact(vela(model, "ethos-u55-64", *options), model, steps_for(model, 5))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_own_model_is_exact(vela, small_models, name, config):
    model = small_models[name]
    assert_exact(vela(model, config), model, steps_for(model, 10))


@pytest.mark.slow
@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-512"])
def test_16_bit_operators_are_exact(vela, shared_models, config):
    checked = 0
    for model in sorted((shared_models / "ops").glob("*.tflite")):
        if "quantize" not in model.name:  # Vela leaves these two on the CPU
            assert_exact(vela(model, config), model, steps_for(model, 3))
            checked += 1
    assert checked == 62


def assert_lstm_differs_little(compiled: Path, model: Path) -> None:
    """TFLite's LSTM has its own tanh and sigmoid; the bound is in tools/npu_sim/README.md."""
    oracle = Oracle(model)
    differences = []
    with Simulation(compiled) as simulation:
        for inputs in steps_for(model, 40):
            (found,), (expected,) = simulation.step(inputs), oracle.step(inputs)
            differences.append(np.abs(found.astype(int) - expected.astype(int)).max())
    assert max(differences[:3]) <= 12, "the extremes"
    assert max(differences[3:]) <= 4, "random inputs"
    assert np.count_nonzero(differences) <= len(differences) // 4


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-512"])
def test_lstm_differs_little(vela, shared_models, config):
    model = shared_models / "trained_lstm_int8.tflite"
    assert_lstm_differs_little(vela(model, config), model)
