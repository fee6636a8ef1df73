# SPDX-License-Identifier: MIT
"""Tests observing an inference on the simulator: operations, feature maps, traffic."""

import itertools

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ethosu_tools.base.errors import InputError
from ethosu_tools.model import arrays
from ethosu_tools.sim.simulation import Simulation
from ethosu_tools.sim.trace import traffic


@pytest.fixture
def small_cnn(compiled, small_models):
    """Return the model on the simulator, inputs, and the reference with all tensors."""
    source = small_models["small_cnn"]
    with Simulation(compiled(source)) as simulation:
        inputs = arrays.random_inputs(simulation.inputs)
        reference = Interpreter(
            model_content=source.read_bytes(),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
        reference.allocate_tensors()
        reference.set_tensor(reference.get_input_details()[0]["index"], inputs[0])
        reference.invoke()
        yield simulation, inputs, reference


def test_each_layer_equals_the_reference_when_its_operation_is_done(small_cnn):
    simulation, inputs, reference = small_cnn
    layers = [detail for detail in reference.get_tensor_details() if len(detail["shape"]) == 4]
    expected = {detail["name"]: reference.get_tensor(detail["index"]) for detail in layers}
    found = []
    simulation.observe(
        lambda operation: operation.ofm and found.append(simulation.feature_map(operation.ofm))
    )
    simulation.step(inputs)
    for name in ("conv", "depthwise", "add", "max_pool_2d", "average_pool_2d"):
        (layer,) = expected[name]
        assert any(np.array_equal(map_, layer) for map_ in found), name


def test_an_observer_changes_no_result(small_cnn):
    simulation, inputs, reference = small_cnn
    expected = reference.get_tensor(reference.get_output_details()[0]["index"])
    seen = []
    for observer in (seen.append, None):
        simulation.observe(observer)
        assert np.array_equal(simulation.step(inputs)[0], expected)
        assert [operation.index for operation in seen] == list(range(len(seen)))
    assert len(seen) > 5
    assert all(a.offset < b.offset for a, b in itertools.pairwise(seen))


def test_an_exception_of_the_observer_ends_the_step_and_only_this_one(small_cnn):
    simulation, inputs, _ = small_cnn
    calls = []

    def fail(operation):
        calls.append(operation)
        raise KeyError("mine")

    simulation.observe(fail)
    with pytest.raises(KeyError, match="mine"):
        simulation.step(inputs)
    assert len(calls) == 1
    simulation.observe(None)
    assert len(simulation.step(inputs)) == 1


def test_traffic_is_what_the_operations_say(small_cnn):
    simulation, inputs, _ = small_cnn
    operations = []
    simulation.observe(operations.append)
    simulation.step(inputs)
    first = next(operation for operation in operations if operation.name == "NPU_OP_CONV")
    height, width, depth = first.ofm.shape
    assert first.written[first.ofm.region] == height * width * depth
    assert first.macs == height * width * depth * 3 * 3 * 3
    sums = traffic(operations)
    for kind in ("read", "written"):
        every = sum(sum(getattr(operation, kind)) for operation in operations)
        assert sum(region[kind] for region in sums.values()) == every > 0
    assert sums[0]["written"] == 0, "region 0 holds constants"


def test_a_feature_map_outside_of_memory_is_refused(small_cnn):
    simulation, inputs, _ = small_cnn
    maps = []
    simulation.observe(lambda operation: operation.ofm and maps.append(operation.ofm))
    simulation.step(inputs)
    far = type(maps[0])(**{**vars(maps[0]), "base": (1 << 40,) * 4})
    with pytest.raises(InputError, match="cannot see memory at 1,099,511,627,776 of region"):
        simulation.feature_map(far)


def test_wrong_inputs_name_what_is_wrong(small_cnn):
    simulation, (array,), _ = small_cnn
    with pytest.raises(InputError, match="has 1 inputs, found 2"):
        simulation.step([array, array])
    with pytest.raises(InputError, match="input 0 must have 768 bytes, found 1536"):
        simulation.step([array.astype(np.int16)])
