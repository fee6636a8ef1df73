# SPDX-License-Identifier: MIT
"""Invalid memory plans are rejected at load, with the reason."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model.make_model import MODELS
from ethosu_tools.sim.simulation import Simulation

from .. import plan_writer, runner
from ..maker import Maker, make

BAD_PLAN = -9


def _chain():
    """Make CONV_2D, SOFTMAX and ADD of these: three live tensors, two scratches."""
    m = Maker(np.random.default_rng(5))
    x = m.input((1, 6, 6, 4), "int8", 0.02, 3)
    weights = m.constant(m.rng.integers(-127, 128, (4, 3, 3, 4)), "int8", 0.01)
    bias = m.constant(m.rng.integers(-99, 99, 4), "int32", 0.0002)
    conv = m.output((1, 6, 6, 4), "int8", 0.05, -4)
    soft = m.output((1, 6, 6, 4), "int8", 1 / 256, -128)
    total = m.output((1, 6, 6, 4), "int8", 0.05, 0)
    m.graph.outputs = [total.index]
    m.operator("CONV_2D", [x, weights, bias], [conv], "Conv2DOptions", strideW=1, strideH=1)
    m.operator("SOFTMAX", [conv], [soft], "SoftmaxOptions", beta=1.0)
    m.operator("ADD", [conv, soft], [total], "AddOptions", potScaleInt16=False)
    return m.finish()


class Plan:
    """A valid plan that a test damages."""

    def __init__(self) -> None:
        self.case = _chain()
        self.contents = plan_writer.make_plan(self.case.model)
        self.offsets, self.plan = self.contents.values()

    def model(self) -> bytes:
        contents = dict(zip(self.contents, (self.offsets, self.plan), strict=True))
        return plan_writer.add_plan(self.case.model, contents)

    @property
    def tensors(self) -> np.ndarray:
        """Offsets of the tensors: input, weights, bias, outputs of the three operators."""
        return self.offsets[3:]


@pytest.fixture
def plan():
    return Plan()


@pytest.fixture
def load(run_cases, tmp_path, plan):
    """Load the damaged plan; returns status and error message."""

    def run(program=run_cases):
        (result,) = runner.run(program, tmp_path, [(plan.model(), plan.case.inputs)])
        return result

    return run


def test_good_plan(load):
    assert load().status == 0


@pytest.mark.parametrize(
    ("word", "value", "expected"),
    [
        (0, 0x12345678, "ethosu_plan: mark is 0x12345678, expected 0x4e4c5045"),
        (1, 2, "ethosu_plan: version is 0x2, expected 0x1"),
        (3, 16, "ethosu_plan: arena size is 0x10, "),
        (4, 2, "ethosu_plan: number of entries is 0x2, expected 0x3"),
        (5, 7, "entry 0 of ethosu_plan: operator is 7, expected 0"),
        (10, 0, "entry 1 of ethosu_plan: operator is 0, expected 1"),
        (6, 25, "entry 0 of ethosu_plan: operator code is 25, expected 3"),
        (8, 24, "entry 0 of ethosu_plan: offset is 24, expected 16"),
        (8, 1 << 20, "entry 0 of ethosu_plan: end is "),
        (9, 1 << 20, "entry 0 of ethosu_plan: end is "),
    ],
)
def test_damaged_word(load, plan, word, value, expected):
    plan.plan[word] = value
    result = load()
    assert (result.status, result.text[: len(expected)]) == (BAD_PLAN, expected)


def test_too_small_scratch(build_cases, load, plan):
    plan.plan[9] -= 1
    result = load(build_cases())
    assert result.status == BAD_PLAN
    assert result.text == (
        "operator 0 (CONV_2D) of subgraph 0: 35 bytes of scratch planned, 36 needed "
        "(planner 0, kernel 1; here kernel 1); run: ethosu compile MODEL.tflite"
    )


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [(9, 37, "37 bytes of scratch planned, 36 needed"), (7, 9, "kernel 9; here kernel 1")],
)
def test_what_assertions_alone_refuse(build_cases, load, plan, word, value, said):
    plan.plan[word] = value
    assert load(build_cases()).status == 0
    assert said in load().text


def test_operator_without_an_entry(build_cases, load, plan):
    plan.plan = np.delete(plan.plan, np.arange(5, 10))
    plan.plan[4] = 2
    assert "0 bytes of scratch planned, 36 needed" in load(build_cases()).text


def test_no_plan_at_all(load, plan):
    plan.contents = dict.fromkeys((plan_writer.OFFSETS_NAME, "other"))
    assert "it was not compiled for an NPU" in load().text


def test_scratch_over_a_live_tensor(load, plan):
    plan.plan[8] = plan.tensors[0]
    assert "scratch at 0 to 36 overlaps tensor 0" in load().text


def test_output_over_a_live_tensor(load, plan):
    plan.tensors[4] = plan.tensors[3]
    assert "operator 1 (SOFTMAX)" in load().text
    assert "output at" in load().text


def test_output_in_place_where_the_kernel_allows_it(load, plan):
    plan.tensors[5] = plan.tensors[3]
    assert load().status == 0
    plan.tensors[5] += 16
    assert "operator 2 (ADD)" in load().text


def test_dead_memory_is_used_again(load, plan):
    plan.tensors[4] = plan.tensors[0]
    assert load().status == 0


def test_tensor_beyond_the_planned_arena(load, plan):
    plan.tensors[5] = plan.plan[3]
    assert "arena size is" in load().text


def test_plan_for_cmsis_nn(build_cases, run_cases, tmp_path):
    """A plan for CMSIS-NN works with our kernels; only assertions detect the difference."""
    case = make("FULLY_CONNECTED", 0)
    batch = [(plan_writer.add_plan(case.model, cmsis_nn=True), case.inputs)]
    (result,) = runner.run(build_cases(), tmp_path, batch)
    assert result.status == 0
    (result,) = runner.run(run_cases, tmp_path, batch)
    assert result.status == BAD_PLAN
    assert "kernel 1+CMSIS-NN; here kernel 1); run: ethosu compile MODEL.tflite" in result.text


def test_a_plan_that_is_missing_and_needed(compile_mixed):
    model = compile_mixed("scratch", MODELS["small_cnn"](), ("--ignore-ops", "CONV_2D"))
    with pytest.raises(
        InputError, match=r"\d+ bytes of scratch, but the file has no plan.*ethosu compile"
    ):
        Simulation(model.compiled)
