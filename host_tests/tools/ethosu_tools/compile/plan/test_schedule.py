# SPDX-License-Identifier: MIT
"""The CPU runs concurrently with the NPU where that is safe, and only there."""

import numpy as np
import pytest
from ethosu_tools.base.errors import BoardError
from ethosu_tools.compile import vela
from ethosu_tools.compile.plan import make_plan, plan_file
from ethosu_tools.compile.plan.kernels import Kernel
from ethosu_tools.compile.plan.record import encode_offsets
from ethosu_tools.model.tflite import OFFSETS_NAME, Graph, Operator, Tensor
from ethosu_tools.model.tflite.metadata import put
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit.models.mixed_models import MODELS, MixedNet

from . import c_runtime

STEPS = 10
NPU = "ethos-u55-128"


@pytest.fixture
def branches(tmp_path):
    """Return source, Vela's output and the planned file of two_branches."""
    model = MODELS["two_branches"]
    paths = [tmp_path / f"{name}.tflite" for name in ("source", "vela", "planned")]
    paths[0].write_bytes(model.make())
    vela.compile_model(paths[0], NPU, paths[1], more_options=model.options)
    return paths


def run(source, compiled, threaded=False):
    """Check a model against the reference; returns its facts."""
    oracle, random = Oracle(source), np.random.default_rng(8)
    with Simulation(compiled) as simulation:
        c_runtime.runtime().sim_host_use_thread(simulation._index, threaded)
        for _ in range(STEPS):
            row = [random.integers(-128, 128, t.shape, np.int8) for t in oracle.inputs]
            for ours, theirs in zip(simulation.step(row), oracle.step(row), strict=True):
                assert ours.tobytes() == theirs.tobytes()
        c_runtime.runtime().sim_host_use_thread(simulation._index, False)
        return simulation.info()


@pytest.mark.parametrize("threaded", [False, True])
def test_two_branches(branches, threaded):
    source, compiled, planned = branches
    plan = plan_file(compiled, planned, overlap=True)
    facts = run(source, planned, threaded)
    assert plan.schedule.concurrent == {0: (1, 2)}
    steps = ("npu_calls", "cpu_steps", "cpu_steps_overlapped")
    assert [facts[name] for name in steps] == [2, 3, 2]
    assert facts["arena_size"] == plan.arena


def test_no_memory_is_used_unless_requested(branches):
    source, compiled, planned = branches
    plan = plan_file(compiled, planned)
    assert (plan.schedule.concurrent, plan.arena) == ({}, plan.before)
    assert run(source, planned)["cpu_steps_overlapped"] == 0


@pytest.mark.parametrize(
    ("tensor", "offset", "concurrent"),
    [
        (0, 5008, 0),  # the first SVDF's input
        (5, 5008, 0),  # its output
        (9, 9728, 1),  # the second one's state: in a cache line with the NPU's scratch
        (10, 5008, 1),
    ],
)
def test_operators_that_use_the_npus_memory_wait(branches, tensor, offset, concurrent):
    """Operators that use the NPU's memory wait, even if the file's order says otherwise."""
    _, compiled, planned = branches
    offsets = plan_file(compiled, planned, overlap=True).offsets
    offsets[tensor] = offset
    planned.write_bytes(put(planned.read_bytes(), {OFFSETS_NAME: encode_offsets(offsets)}))
    with Simulation(planned) as simulation:
        assert simulation.info()["cpu_steps_overlapped"] == concurrent


def test_memory_that_is_free_anyway_is_used():
    """The other branch gets free memory before a large scratch, so it can run concurrently."""

    def tensor(shape, offset, constant=False):
        data = b"constant" if constant else b""
        return Tensor("t", shape, "int8", offset=offset, data=data)

    tensors = (
        tensor((1, 4000), 0),  # scratch of the NPU: all that Vela has placed
        tensor((64,), -1, constant=True),
        tensor((1, 1000), 0),  # input and output of the NPU
        tensor((1, 1000), 1008),
        tensor((1, 500), 2016),  # the other branch
        tensor((1, 500), 2528),
        tensor((4, 5, 5, 300), -1, constant=True),
        tensor((1, 400), 3040),
    )
    operators = (
        Operator("TANH", 28, (4,), (5,)),
        Operator("ethos-u", 32, (1, 1, 0, 0, 2), (3,)),
        Operator("CONV_2D", 3, (3, 6, -1), (7,)),
        Operator("ADD", 0, (7, 5), (7,)),
    )
    kernels = {0: Kernel(1, in_place=True), 2: Kernel(1, scratch=5 * 5 * 300)}
    plan = make_plan(Graph(tensors, operators[:3], (2, 4), (5, 7)), kernels)
    assert plan.schedule.concurrent == {0: (1,)}
    assert plan.schedule.order == (1, 0, 2)
    assert plan.arena <= plan.before == 4000 + 5 * 5 * 300
    written_twice = Graph(tensors, operators, (2, 4), (7,))
    assert make_plan(written_twice, kernels).schedule.concurrent == {}


def test_an_operator_that_fails_while_the_npu_works(tmp_path):
    """If an operator fails during a call, the NPU is stopped, and the next inference is exact."""
    net = MixedNet("rows", 3)
    image = net.pool(net.conv(net.input((1, 16, 16, 3)), 16, kernel=(3, 3)), "MAX_POOL_2D", 16)
    words = net.embedding((1,), words=50, depth=16)
    source, compiled = tmp_path / "source.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(net.finish(net.add(net.reshape(image, (1, 16)), words)))
    vela.compile_model(source, NPU, compiled, more_options=("--ignore-ops", "ADD"))
    assert plan_file(compiled, compiled, overlap=True).schedule.concurrent
    oracle = Oracle(source)
    row = [np.ones(t.shape, t.dtype) for t in oracle.inputs]
    expected = oracle.step(row)[0].tobytes()
    wrong = [np.full_like(a, 50) if a.dtype == np.int32 else a for a in row]
    with Simulation(compiled) as simulation:
        assert simulation.info()["cpu_steps_overlapped"] > 0
        for threaded in (False, True):
            c_runtime.runtime().sim_host_use_thread(simulation._index, threaded)
            with pytest.raises(BoardError, match="the inference failed"):
                simulation.step(wrong)
            assert simulation.step(row)[0].tobytes() == expected
        c_runtime.runtime().sim_host_use_thread(simulation._index, False)
