# SPDX-License-Identifier: MIT
"""Tests fast scratch and threads in a sanitized C program with runtime and simulator."""

import numpy as np
import pytest
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.compile.vela import compile_model
from ethosu_tools.model import describe
from ethosu_tools.model.tflite.merged import tree_of
from ethosu_tools.model.tflite.writer import packed
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit.models.mixed_models import MODELS, MixedNet

from . import run_model
from .run_model import NPU


def check(compiled, case, **how):
    expected = b"".join(array.tobytes() for row in case.outputs for array in row)
    assert run_model.run(compiled, case.inputs, **how) == expected


def pool_alone():
    net = MixedNet("pool_alone", seed=1)
    y = net.pool(net.input((1, 8, 8, 4)), "MAX_POOL_2D", 2)
    return net.finish(y)


@pytest.mark.parametrize(("name", "fast"), [("small_cnn", 3_568), ("pool_alone", 0)])
def test_fast_scratch_on_ethos_u55(case_of, compiled, small_models, tmp_path, name, fast):
    """Fast scratch is separate on Ethos-U55, too, if Vela compiles for Dedicated_Sram."""
    models = {**small_models, "pool_alone": tmp_path / "pool_alone.tflite"}
    models["pool_alone"].write_bytes(pool_alone())
    options = "--system-config", "Ethos_U65_High_End", "--memory-mode", "Dedicated_Sram"
    product = compiled(models[name], NPU, *options)
    assert [operator.fast_scratch_bytes for operator in describe(product).npu_operators] == [fast]
    check(product, case_of(models[name], 8))


def as_vela_4(model):
    """Give fast scratch a tensor of its own, as large as the scratch and at the same offset, as
    Vela up to 4.5 does in modes without fast scratch."""
    tree = tree_of(model)
    graph = tree.subgraphs[0]
    (operator,) = graph.operators
    scratch, fast = operator.inputs[2:4]
    assert scratch == fast
    operator.inputs = [*operator.inputs[:3], len(graph.tensors), *operator.inputs[4:]]
    graph.tensors.append(graph.tensors[scratch])
    (plan,) = (each for each in tree.metadata if each.name == b"OfflineMemoryAllocation")
    numbers = np.frombuffer(bytes(tree.buffers[plan.buffer].data), np.int32)
    numbers = np.concatenate([numbers[:2], [len(graph.tensors)], numbers[3:], [0]])
    tree.buffers[plan.buffer].data = np.frombuffer(numbers.astype(np.int32).tobytes(), np.uint8)
    return packed(tree)


def test_no_memory_for_fast_scratch_that_no_command_uses(case_of, compiled, small_models, tmp_path):
    """Unused fast scratch takes no memory; TFLite Micro has both tensors at one offset."""
    model = small_models["small_cnn"]
    product = compiled(model, NPU)
    other = tmp_path / "other.tflite"
    other.write_bytes(as_vela_4(product.read_bytes()))
    (operator,) = describe(other).npu_operators
    assert operator.fast_scratch_bytes == operator.scratch_bytes > 0
    with Simulation(other) as simulation:
        info = simulation.info()
    # Constants of this file are not aligned, so they are copied.
    assert info["arena_size"] - info["copied_bytes"] < 2 * operator.scratch_bytes
    assert info["fast_scratch_size"] == 0
    check(other, case_of(model, 8))


def with_equal_sizes(model):
    """Make scratch and fast scratch of a model equal in size."""
    tree = tree_of(model)
    graph = tree.subgraphs[0]
    (operator,) = graph.operators
    tensors = [graph.tensors[number] for number in operator.inputs[2:4]]
    size = max(tensor.shape[0] for tensor in tensors)
    for tensor in tensors:
        tensor.shape = np.array([size], np.int32)
    return packed(tree)


def test_memory_for_fast_scratch_as_large_as_scratch_if_commands_use_it(
    case_of, compiled, small_models, tmp_path
):
    """Fast scratch as large as scratch gets memory if commands use it, despite equal sizes."""
    model = small_models["small_cnn"]
    options = "--system-config", "Ethos_U65_High_End", "--memory-mode", "Dedicated_Sram"
    path = tmp_path / "equal.tflite"
    path.write_bytes(with_equal_sizes(compiled(model, NPU, *options).read_bytes()))
    (operator,) = describe(path).npu_operators
    assert operator.fast_scratch_bytes == operator.scratch_bytes > 0
    with Simulation(path) as simulation:
        info = simulation.info()
    assert info["arena_size"] - info["copied_bytes"] >= 2 * operator.scratch_bytes
    check(path, case_of(model, 8))


@pytest.mark.parametrize("npu", ["ethos-u65-256", "ethos-u85-256"])
def test_fast_scratch_in_memory_of_the_driver(case_of, compiled, small_models, npu):
    """If the driver has memory for fast scratch, as by Vela's default, the arena has none."""
    model, case = small_models["small_cnn"], case_of(small_models["small_cnn"], 4)
    product = compiled(model, npu)
    (operator,) = describe(product).npu_operators
    fast = operator.fast_scratch_bytes
    assert fast > 0
    check(product, case, npu=npu)
    check(product, case, npu=npu, fast=fast)


@pytest.mark.parametrize("sanitizer", run_model.SANITIZERS)
def test_operators_while_the_npu_works(case_of, tmp_path, sanitizer):
    """The CPU computes while the NPU, in its own thread, works; TSan reports no race."""
    mixed = MODELS["two_branches"]
    source, compiled = tmp_path / "source.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(mixed.make())
    compile_model(source, NPU, compiled, more_options=mixed.options)
    assert plan_file(compiled, compiled, overlap=True).schedule.concurrent == {0: (1, 2)}
    check(compiled, case_of(source, 40), sanitizer=sanitizer)
