# SPDX-License-Identifier: MIT
"""Mixed graphs, split between NPU and CPU, match the reference from end to end."""

import pytest
from ethosu_tools.errors import InputError
from ethosu_tools.make_mixed import MODELS
from ethosu_tools.make_model import MODELS as SMALL
from ethosu_tools.sim import Simulation

from host_tests.modules.ethosu.runtime.reference_cases import check_on_sim, make_case

STEPS = 10

# Layers of small_cnn that Vela leaves to the CPU, one selection after the other.
KEPT = (
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "ADD",
    "AVERAGE_POOL_2D,MAX_POOL_2D",
    "FULLY_CONNECTED,SOFTMAX",
    "RESHAPE,FULLY_CONNECTED",
    "CONV_2D,ADD,SOFTMAX",
)


def _check(source, compiled):
    check_on_sim(make_case(source, STEPS, extremes=False), compiled)


@pytest.mark.parametrize("name", MODELS)
def test_models_made_for_the_cpu_and_the_npu(compile_mixed, name):
    mixed = MODELS[name]
    source, _, planned = compile_mixed(name, mixed.make(), mixed.options)
    _check(source, planned)


@pytest.mark.parametrize("kept", KEPT)
def test_layers_that_vela_is_told_to_ignore(compile_mixed, kept):
    name = kept.replace(",", "_")
    source, _, planned = compile_mixed(name, SMALL["small_cnn"](), ("--ignore-ops", kept))
    _check(source, planned)


def test_state_and_cpu_layers(compile_mixed):
    options = ("--ignore-ops", "CONV_2D,CONCATENATION,STRIDED_SLICE")
    source, _, planned = compile_mixed("streaming", SMALL["small_streaming"](), options)
    _check(source, planned)


def test_without_a_plan_when_no_scratch_is_needed(compile_mixed):
    source, compiled, _ = compile_mixed("pools", SMALL["small_cnn"](), ("--ignore-ops", "ADD"))
    _check(source, compiled)


def test_without_a_plan_that_is_needed(compile_mixed):
    _, compiled, _ = compile_mixed("scratch", SMALL["small_cnn"](), ("--ignore-ops", "CONV_2D"))
    with pytest.raises(
        InputError, match=r"\d+ bytes of scratch, but the file has no plan.*ethosu plan"
    ):
        Simulation(compiled)
