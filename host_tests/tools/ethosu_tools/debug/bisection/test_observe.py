# SPDX-License-Identifier: MIT
"""Values of layers that are observed on the NPU equal TFLite's."""

import math

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.debug.bisection import observe
from ethosu_tools.debug.bisection.sides import reference_values
from ethosu_tools.model import ModelFile, arrays
from ethosu_tools.model.make_model import NONE, Net, Signal
from ethosu_tools.model.tflite.cut import Whole
from ethosu_tools.model.tflite.writer import Graph, write

from host_tests.generator import case as cases
from host_tests.generator.builder import UnsuitableError
from host_tests.generator.families import U55_U65, U85

NPU = "ethos-u55-128"


def check(source, path, steps=None):
    """Compare all values that are seen; returns their layers."""
    whole, compiled = Whole(ModelFile(source)), ModelFile(path)
    steps = steps or arrays.random_steps(compiled.description.inputs, 2)
    _, wanted = reference_values(whole, steps)
    seen = observe.record(compiled, steps)
    found = observe.values(seen, compiled, whole)
    for tensor, values in found.items():
        for array, expected in zip(values, wanted[tensor], strict=True):
            assert np.array_equal(array, expected), whole.name(whole.writers[tensor])
    return sorted(whole.writers[tensor] for tensor in found), seen


@pytest.mark.parametrize("npu", [NPU, "ethos-u65-256", "ethos-u85-256"])
def test_of_a_small_model(small_models, compiled, npu):
    source = small_models["small_cnn"]
    layers, _ = check(source, compiled(source, npu))
    # RESHAPE (7) has the values of the pool before; on Ethos-U85, layer 2 stays inside the NPU.
    assert layers == [n for n in range(10) if n != 2 or "u85" not in npu]


def with_fused():
    """Make a convolution with a sigmoid, which Vela fuses, and another convolution."""
    net = Net("fused", 6)
    x = net.sigmoid(net.conv(net.input((1, 12, 12, 8)), 40, (3, 3), activation=NONE))
    scaled = Signal(x.tensor, x.shape, x.scale, x.zero_point, 0.5)
    return net.finish(net.conv(scaled, 24, (3, 3), activation=NONE))


@pytest.fixture
def fused(tmp_path):
    """Return the model's file."""
    path = tmp_path / "fused.tflite"
    path.write_bytes(with_fused())
    return path


def test_of_a_fused_operator(fused, compiled):
    layers, seen = check(fused, compiled(fused, NPU))
    assert layers == [1, 2], "the sigmoid's, not the convolution's"
    assert not any(name.startswith("1 LOGISTIC") for name in seen.names)


@pytest.mark.parametrize("goal", ["Size", "Performance"])
def test_of_layers_in_several_parts(fused, compiled, goal):
    """Layers in stripes, which save memory, or by channels, which save time, are joined."""
    layers, seen = check(fused, compiled(fused, NPU, "--optimise", goal))
    assert layers == [1, 2]
    shapes = [operation.ofm.shape for operation in seen.operations if operation.ofm]
    assert len(shapes) > 2 and (12, 12, 24) not in shapes


@pytest.mark.parametrize("name", ["pretrainedResnet_quant", "vww_96_int8"])
def test_of_models_of_others(shared_models, compiled, name):
    """Layers of third-party models, in parts by channels or in a cascade, are right."""
    source = shared_models / f"{name}.tflite"
    layers, seen = check(source, compiled(source, NPU))
    names = [name for name in seen.names if name]
    convolutions = [
        name
        for name, operation in zip(names, seen.operations, strict=True)
        if operation.name in ("NPU_OP_CONV", "NPU_OP_DEPTHWISE")
    ]
    assert len(set(convolutions)) < len(convolutions), "some layers have several parts"
    assert len(layers) > 0.8 * len(Whole(ModelFile(source)).operators)


@pytest.mark.parametrize(("shape", "order"), [((1, 8, 12, 16), (0, 2, 1, 3)), ((5, 7), (1, 0))])
def test_of_a_transpose(tmp_path, compiled, shape, order):
    """A transpose's values are right, although it writes in the order of its input."""
    graph = Graph("transposed")
    after = tuple(shape[axis] for axis in order)
    x = graph.tensor("x", shape, "int8", 0.05, 3)
    t = graph.tensor("t", after, "int8", 0.05, 3)
    y = graph.tensor("y", after, "int8", 0.07, -5)
    axes = graph.constant("order", np.array(order, np.int32))
    k = graph.constant("k", np.arange(math.prod(after)).astype(np.int8).reshape(after), 0.03, 1)
    graph.operator("TRANSPOSE", [x, axes], [t], "TransposeOptions")
    graph.operator("ADD", [t, k], [y], "AddOptions")
    graph.inputs, graph.outputs = [x], [y]
    path = tmp_path / "transposed.tflite"
    path.write_bytes(write([graph], "transposed"))
    layers, _ = check(path, compiled(path, NPU))
    assert layers == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("family", [U55_U65, U85], ids=lambda family: family.name)
def test_of_generated_graphs(tmp_path, compiled, family):
    """Observed values of generated graphs are right, if the NPU's results equal TFLite's."""
    count = 0
    for seed in range(140):
        try:
            case = cases.make(seed, family=family)
            path = tmp_path / f"{seed}.tflite"
            path.write_bytes(case.model)
            if not {*case.operators} & {*BOUNDS}:
                steps = [list(row) for row in case.feeds[:2]]
                count += len(check(path, compiled(path, case.npu), steps)[0])
        except (UnsuitableError, InputError):
            continue
    assert count > 100
