# SPDX-License-Identifier: MIT
"""Models run through the kernel interface without unnecessary copies, with state, in parallel."""

import pytest
from ethosu_tools.addons.linux.accel import AccelModel
from ethosu_tools.model import tflite

from host_tests.kit.models.reference_cases import assert_exact, make_case

NPUS = "ethos-u65-256", "ethos-u65-512", "ethos-u85-256"


def run(case, compiled):
    """Run all steps exactly; return the bytes that were copied for the NPU."""
    with AccelModel(compiled) as model:
        assert_exact(case, map(model.step, case.inputs))
        return model.copied


def weights(compiled):
    """Count the read-only bytes of all NPU operators, shared ones once."""
    used = {
        (number, index, graph.tensors[index].size)
        for number, graph in enumerate(tflite.parse(compiled.read_bytes()))
        for operator in graph.operators
        for index in operator.inputs[1:2]
        if operator.name == "ethos-u"
    }
    return sum(size for *_, size in used)


@pytest.mark.parametrize("npu", NPUS)
def test_only_weights_are_copied(kernel, small_models, compiled, npu):
    kernel.set_up(npu)
    for name, source in small_models.items():
        model = compiled(source, npu)
        assert run(make_case(source, 3), model) == weights(model), name


@pytest.mark.parametrize("sram", [0, 96 << 10])
def test_without_enough_sram_fast_scratch_is_a_buffer(kernel, shared_models, compiled, sram):
    kernel.set_up("ethos-u65-256", sram)
    source = shared_models / "pretrainedResnet_quant.tflite"
    model = compiled(source, "ethos-u65-256")
    assert run(make_case(source, 1), model) == weights(model)


def test_a_model_keeps_its_state_until_reset(kernel, small_models, compiled):
    source = small_models["small_streaming"]
    case = make_case(source, 4, extremes=False)
    with AccelModel(compiled(source, "ethos-u65-256")) as model:
        for _ in range(2):
            feed = (model.step(row) for row in case.inputs)
            assert_exact(case, feed)
            model.reset()


def test_two_models_share_one_npu(kernel, small_models, compiled):
    source = small_models["small_cnn"]
    case, model = make_case(source, 2), compiled(source, "ethos-u65-256")
    with AccelModel(model) as first, AccelModel(model) as second:
        assert first.npu == second.npu == "ethos-u65-256"
        for runner in (first, second, first):
            assert_exact(case, map(runner.step, case.inputs))


def test_the_command_runs_it(kernel, small_models, compiled, tmp_path):

    import numpy as np
    from ethosu_tools import cli

    source = small_models["small_cnn"]
    np.savez(tmp_path / "in.npz", **{"0": make_case(source, 1).inputs[0][0]})
    words = [str(compiled(source, "ethos-u65-256")), "--input", str(tmp_path / "in.npz")]
    assert cli.main(["run", *words, "--on", "accel", "--reference", str(source)]) == 0
