# SPDX-License-Identifier: MIT
"""Whole networks on runtime, driver and simulator equal TFLite's reference kernels bit by bit."""

import itertools

import numpy as np
import pytest
from ethosu_tools import tflite
from ethosu_tools.sim import Simulation

from host_tests.modules.ethosu.runtime.reference_cases import SHARED, WAKE_WORDS, check_on_sim
from host_tests.tools.npu_sim.conftest import CONFIGS, U85_CONFIGS

# Operators that only rename or copy bytes; any other would be computed by the CPU.
NOT_COMPUTED = {"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "RESHAPE"}
U55 = tuple(config for config in CONFIGS if "u55" in config)
QUICK_ON_U85 = ("kws_ref_model", "vww_96_int8", "ad01_int8")

SYSTEMS = [
    ("--system-config", f"Ethos_U85_SYS_{system}", "--memory-mode", mode)
    for system, mode in (
        ("DRAM_Low", "Shared_Sram"),
        ("DRAM_Mid", "Dedicated_Sram_384KB"),
        ("DRAM_Mid", "Dedicated_Sram"),
        ("Flash_Low", "Shared_Sram"),
        ("DRAM_Low", "Sram_Only"),
    )
]
# NPUs, and options of Vela.
QUICK = [(npu, ()) for npu in (*U55, "ethos-u65-512")]
MANY = [
    ("ethos-u65-256", ()),
    ("ethos-u55-64", ("--optimise", "Size")),
    ("ethos-u55-64", ("--debug-force-legacy-core",)),
    ("ethos-u55-64", ("--cop-format", "COP2")),
    *itertools.product(U85_CONFIGS, SYSTEMS),
    *(
        ("ethos-u85-256", (*SYSTEMS[0], "--optimise", "Size", f"--disable-{what}"))
        for what in ("chaining", "fwd", "cascading")
    ),
]


def check(case, compiled):
    assert set(tflite.describe(compiled).cpu_operators) <= NOT_COMPUTED
    check_on_sim(case, compiled)


@pytest.mark.parametrize("npu", CONFIGS)
@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_own_model(case_of, compiled, small_models, name, npu):
    check(case_of(small_models[name], 20), compiled(small_models[name], npu))


@pytest.mark.parametrize(
    "npu",
    [*U55, *(pytest.param(npu, marks=pytest.mark.slow) for npu in (*CONFIGS[4:], *U85_CONFIGS))],
)
@pytest.mark.parametrize("name", WAKE_WORDS)
def test_wake_word(case_of, compiled, wake_words, name, npu):
    check(case_of(wake_words[name], 100), compiled(wake_words[name], npu))


@pytest.mark.parametrize(("npu", "options"), QUICK)
@pytest.mark.parametrize("name", SHARED)
def test_network(case_of, compiled, shared_models, name, npu, options):
    model = shared_models / f"{name}.tflite"
    check(case_of(model, 20), compiled(model, npu, *options))


@pytest.mark.parametrize("npu", U85_CONFIGS)
@pytest.mark.parametrize("name", QUICK_ON_U85)
def test_network_on_u85(case_of, compiled, shared_models, name, npu):
    model = shared_models / f"{name}.tflite"
    check(case_of(model, 3), compiled(model, npu))


@pytest.mark.slow
@pytest.mark.parametrize(("npu", "options"), MANY)
@pytest.mark.parametrize("name", SHARED)
def test_network_however_compiled(case_of, compiled, shared_models, name, npu, options):
    model = shared_models / f"{name}.tflite"
    check(case_of(model, 5), compiled(model, npu, *options))


@pytest.mark.slow
@pytest.mark.parametrize("npu", [f"ethos-u{n}" for n in ("55-128", "65-512", "85-128", "85-2048")])
def test_16_bit_operators(case_of, compiled, shared_models, npu):
    checked = 0
    for model in sorted((shared_models / "ops").glob("*.tflite")):
        if "quantize" not in model.name:  # Vela leaves these two on the CPU
            check(case_of(model, 3), compiled(model, npu))
            checked += 1
    assert checked == 62


@pytest.mark.parametrize("npu", [f"ethos-u{n}" for n in ("55-128", "65-512", "85-128", "85-1024")])
def test_lstm(case_of, compiled, shared_models, npu):
    """TFLite's LSTM has its own tanh and sigmoid; the bound is in tools/npu_sim/README.md."""
    model = shared_models / "trained_lstm_int8.tflite"
    check(case_of(model, 5, extremes=False), compiled(model, npu))
    case, differences = case_of(model, 40), []
    with Simulation(compiled(model, npu)) as simulation:
        for inputs, (expected,) in zip(case.inputs, case.outputs, strict=True):
            (found,) = simulation.step(inputs)
            differences.append(np.abs(found.astype(int) - expected.astype(int)).max())
    assert max(differences[:-2]) <= 4, "random inputs"
    assert max(differences[-2:]) <= 12, "the extremes"
    assert np.count_nonzero(differences) <= len(differences) // 4
