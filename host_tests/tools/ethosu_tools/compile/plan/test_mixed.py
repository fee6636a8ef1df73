# SPDX-License-Identifier: MIT
"""Memory never grows for mixed graphs from Vela and for third-party models.

host_tests/exactness shows that their results are exact.
"""

from pathlib import Path

import pytest
from ethosu_tools.compile import vela
from ethosu_tools.compile.plan import liveness, plan_file
from ethosu_tools.model.make_model import LARGE_MODELS, NONE
from ethosu_tools.sim.simulation import Simulation

from host_tests.exactness.hosts import HOSTS
from host_tests.kit.models.mixed_models import MODELS, MixedNet
from host_tests.kit.models.reference_cases import assert_exact


@pytest.mark.parametrize("name", MODELS)
def test_vela_leaves_to_the_cpu_what_it_should(mixed, name):
    facts = mixed(name).facts
    assert set(MODELS[name].on_cpu) <= set(facts["cpu_operators"])
    assert facts["npu_operators"], "the NPU has something to do too"


def test_models_without_cpu_operators_keep_velas_plan(compiled, small_models):
    plan = plan_file(compiled(small_models["small_cnn"]))
    assert (plan.entries, plan.moved, plan.arena) == ([], 0, plan.before)


def gain_of(path):
    """Return the bytes gained; a negative number would be a defect."""
    plan = plan_file(path)
    print(f"{path.name}: arena {plan.arena:,}, Vela's with scratch behind it {plan.before:,}")
    return plan.before - plan.arena


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["CONV_2D", "DEPTHWISE_CONV_2D", "SOFTMAX,ADD,AVERAGE_POOL_2D"])
@pytest.mark.parametrize("name", ["kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"])
def test_shared_models_with_operators_kept_from_the_npu(shared_models, tmp_path, name, kept):
    output = tmp_path / f"{name}_{kept}.tflite"
    source = shared_models / f"{name}.tflite"
    vela.compile_model(source, "ethos-u55-128", output, more_options=("--ignore-ops", kept))
    assert gain_of(output) >= 0


@pytest.mark.slow
def test_a_large_model_on_the_cpu_alone_is_planned_in_time(tmp_path):
    path = tmp_path / "mobilenet_v2.tflite"
    path.write_bytes(LARGE_MODELS["mobilenet_v2"]())
    plan = plan_file(path, path)
    # The widest layer reads 112 x 112 x 96 and writes 56 x 56 x 96; nothing else is live then.
    assert plan.arena == 112 * 112 * 96 + 56 * 56 * 96


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_fast_scratch_is_no_part_of_the_plan(tmp_path, npu):
    """Fast scratch is outside of the plan: behind it, or in a board's fast memory."""
    source, path = tmp_path / "m.tflite", tmp_path / "planned.tflite"
    source.write_bytes(MODELS["attention"].make())
    vela.compile_model(source, npu, path, more_options=MODELS["attention"].options)
    plan = plan_file(path, path)
    with Simulation(path) as simulation:
        info = simulation.info()
    assert plan.fast_scratch == info["fast_scratch_size"]
    assert bool(plan.fast_scratch) == ("u55" not in npu)
    behind = info["arena_size"] - plan.arena - plan.fast_scratch
    assert 0 <= behind < 2 * 64, "nothing else lies there but gaps to whole cache lines"
    assert plan.arena <= plan.before


def skipped() -> bytes:
    """Make a tensor that only ethos-u operators before and after CPU operators use."""
    net = MixedNet("skipped", 5)
    x = net.conv(net.input((1, 12, 1, 16)), 16, kernel=(1, 1), activation=NONE)
    y = net.softmax(net.conv(x, 16, kernel=(1, 1), activation=NONE))
    y = net.conv(y, 16, kernel=(1, 1), activation=NONE)
    return net.finish(net.dense(net.reshape(net.add(x, y), (1, 192)), 5, gain=2.0))


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_a_tensor_that_vela_does_not_list_is_not_overwritten(
    request, compile_mixed, case_of, npu, tmp_path, monkeypatch
):
    """SOFTMAX's scratch must not overlap a tensor that Vela keeps in the NPU's scratch."""
    made = compile_mixed(f"skipped-{npu}", skipped(), ("--ignore-ops", "SOFTMAX"), npu=npu)
    case = case_of(made.source, 3)

    def check(path: Path) -> None:
        assert_exact(case, HOSTS["sim"].run(request.getfixturevalue, npu, path, case.inputs))

    check(made.planned)
    # This shows that Vela still keeps the tensor there, and SOFTMAX's scratch would still fit.
    monkeypatch.setattr(liveness, "_gap_buffers", lambda _: [])
    plan_file(made.compiled, tmp_path / "overwritten.tflite")
    with pytest.raises(AssertionError, match="differs"):
        check(tmp_path / "overwritten.tflite")
