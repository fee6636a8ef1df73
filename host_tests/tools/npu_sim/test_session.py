# SPDX-License-Identifier: MIT
"""Closer looks at an inference: single steps, feature maps, traffic."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ethosu_tools.errors import InputError
from ethosu_tools.npu import Session, traffic

from tools.npu_sim.conftest import random_inputs


@pytest.fixture
def small_cnn(vela, small_models):
    """The compiled model in a session, random inputs, and the reference with all its tensors."""
    source = small_models["small_cnn"]
    with Session(vela(source, "ethos-u55-128")) as session:
        inputs = random_inputs(session.inputs, np.random.default_rng(0))
        reference = Interpreter(
            model_content=source.read_bytes(),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
        reference.allocate_tensors()
        reference.set_tensor(reference.get_input_details()[0]["index"], inputs[0])
        reference.invoke()
        yield session, inputs, reference


def test_every_layer_equals_the_reference_when_the_npu_has_stepped_over_it(small_cnn):
    session, inputs, reference = small_cnn
    layers = [detail for detail in reference.get_tensor_details() if len(detail["shape"]) == 4]
    expected = {detail["name"]: reference.get_tensor(detail["index"]) for detail in layers}
    found = [
        (operation.name, session.feature_map(operation.ofm))
        for operation in session.steps(inputs)
        if operation.ofm
    ]
    for name in ("conv", "depthwise", "add", "max_pool_2d", "average_pool_2d"):
        (layer,) = expected[name]
        assert any(np.array_equal(map_, layer) for _, map_ in found), name


def test_steps_give_the_same_result_as_a_run(small_cnn):
    session, inputs, reference = small_cnn
    expected = reference.get_tensor(reference.get_output_details()[0]["index"])
    for _ in session.steps(inputs):
        pass
    assert np.array_equal(session.outputs()[0], expected)
    assert np.array_equal(session.run(inputs)[0], expected)


def test_the_npu_stands_still_between_steps(small_cnn):
    session, inputs, _ = small_cnn
    steps = session.steps(inputs)
    first, second = next(steps), next(steps)
    assert (first.index, second.index) == (0, 1) and first.offset < second.offset
    before = session.outputs()[0].copy()
    assert not session.npu.irq, "it has not ended yet"
    for _ in steps:
        pass
    assert not np.array_equal(session.outputs()[0], before)


def test_an_inference_given_up_half_way_leaves_the_next_one_right(small_cnn):
    session, inputs, _ = small_cnn
    expected = session.run(inputs)
    steps = session.steps(inputs)
    next(steps)
    steps.close()
    assert np.array_equal(session.run(inputs)[0], expected[0])


def test_traffic_is_what_the_operations_say(small_cnn):
    session, inputs, _ = small_cnn
    operations = session.trace(inputs)
    first = next(operation for operation in operations if operation.name == "NPU_OP_CONV")
    height, width, depth = first.ofm.shape
    assert first.written[first.ofm.region] == height * width * depth
    assert first.macs == height * width * depth * 3 * 3 * 3
    sums = traffic(operations)
    for kind in ("read", "written"):
        every = sum(sum(getattr(operation, kind)) for operation in operations)
        assert sum(region[kind] for region in sums.values()) == every > 0
    assert sums[0]["written"] == 0, "region 0 holds constants"


def test_wrong_inputs_name_what_is_wrong(small_cnn):
    session, (array,), _ = small_cnn
    with pytest.raises(InputError, match="1 inputs, 2 came"):
        session.run([array, array])
    with pytest.raises(InputError, match="must be int8"):
        session.run([array.astype(np.int16)])
