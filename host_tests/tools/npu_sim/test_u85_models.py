# SPDX-License-Identifier: MIT
"""Whole networks, compiled for Ethos-U85, equal TFLite's reference kernels bit by bit."""

import pytest

from tools.npu_sim.conftest import U85_CONFIGS
from tools.npu_sim.test_models import (
    NETWORKS,
    WAKE_WORDS,
    assert_exact,
    assert_lstm_differs_little,
    steps_for,
    wake_word,
)

# System and memory mode of Vela's configuration file; the first is its own default for U85.
SYSTEMS = (
    ("Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram"),
    ("Ethos_U85_SYS_DRAM_Low", "Shared_Sram"),
    ("Ethos_U85_SYS_Flash_Low", "Shared_Sram"),
    ("Ethos_U85_SYS_DRAM_Low", "Sram_Only"),
)
SMALL = ("kws_ref_model", "vww_96_int8", "ad01_int8")


def options(system: str, memory_mode: str) -> tuple[str, ...]:
    """Vela's words for a system."""
    return ("--config", "Arm/vela.ini", "--system-config", system, "--memory-mode", memory_mode)


@pytest.mark.parametrize("config", U85_CONFIGS)
@pytest.mark.parametrize("name", SMALL)
def test_network_is_exact(vela, shared_models, name, config):
    model = shared_models / f"{name}.tflite"
    compiled = vela(model, config, *options(*SYSTEMS[1]))
    assert_exact(compiled, model, steps_for(model, 3))


@pytest.mark.slow
@pytest.mark.parametrize("config", U85_CONFIGS)
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_network_is_exact_on_every_system(vela, shared_models, system, name, config):
    model = shared_models / f"{name}.tflite"
    assert_exact(vela(model, config, *options(*system)), model, steps_for(model, 5))


@pytest.mark.parametrize("config", ["ethos-u85-128", "ethos-u85-1024"])
def test_lstm_differs_little(vela, shared_models, config):
    """As on the smaller NPUs: its gates are TFLite's TANH and LOGISTIC, not those of its LSTM."""
    model = shared_models / "trained_lstm_int8.tflite"
    assert_lstm_differs_little(vela(model, config, *options(*SYSTEMS[1])), model)


@pytest.mark.slow
@pytest.mark.parametrize("config", U85_CONFIGS)
@pytest.mark.parametrize("name", WAKE_WORDS)
def test_wake_word_streams_exactly(vela, name, config):
    model = wake_word(name)
    assert_exact(vela(model, config, *options(*SYSTEMS[1])), model, steps_for(model, 100))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--disable-chaining", "--disable-fwd", "--disable-cascading"])
@pytest.mark.parametrize("name", NETWORKS)
def test_network_is_exact_however_compiled(vela, shared_models, name, option):
    model = shared_models / f"{name}.tflite"
    compiled = vela(model, "ethos-u85-256", *options(*SYSTEMS[2]), option, "--optimise", "Size")
    assert_exact(compiled, model, steps_for(model, 5))


@pytest.mark.slow
@pytest.mark.parametrize("config", ["ethos-u85-128", "ethos-u85-256", "ethos-u85-2048"])
def test_16_bit_operators_are_exact(vela, shared_models, config):
    checked = 0
    for model in sorted((shared_models / "ops").glob("*.tflite")):
        if "quantize" not in model.name:  # Vela leaves these two on the CPU
            assert_exact(vela(model, config, *options(*SYSTEMS[1])), model, steps_for(model, 3))
            checked += 1
    assert checked == 62
