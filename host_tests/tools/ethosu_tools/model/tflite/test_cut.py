# SPDX-License-Identifier: MIT
"""A part of a model computes the same values as the whole model."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model import ModelFile, arrays
from ethosu_tools.model.tflite.cut import Whole
from ethosu_tools.sim.oracle import Oracle

from host_tests.conformance.generator.known_defects.defects import DEFECTS

# Operators whose outputs have no values.
SILENT = ("CALL_ONCE", "VAR_HANDLE", "ASSIGN_VARIABLE")


def check(data):
    """Check each operator cut out alone, and with all operators before it."""
    file = ModelFile(data)
    whole = Whole(file)
    oracle = Oracle(file, keep=True)
    inputs = arrays.random_inputs(oracle.inputs)
    oracle.step(inputs)
    numbers = [t for t in range(len(whole.graph.tensors)) if whole.has_values(t)]
    values = dict(zip(numbers, oracle.tensors(numbers), strict=True))
    values |= dict(zip(whole.graph.inputs, inputs, strict=True))
    for number, operator in enumerate(whole.operators):
        if operator.name not in SILENT:
            for part in ([number], range(number + 1)):
                cut = whole.cut(part)
                one = ModelFile(cut.data)
                found = Oracle(one).step([values[t] for t in cut.inputs])
                for tensor, array in zip(cut.outputs, found, strict=True):
                    assert np.array_equal(array, values[tensor]), whole.name(number)
                for old, new in zip(
                    (*cut.inputs, *cut.outputs),
                    (*one.graph.inputs, *one.graph.outputs),
                    strict=True,
                ):
                    assert whole.graph.tensors[old].as_dict() == one.graph.tensors[new].as_dict()


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_small_models(small_models, name):
    check(small_models[name].read_bytes())


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_models_of_many_operators(defect):
    check(defect.case.model)


@pytest.mark.parametrize("name", ["kws_ref_model", "trained_lstm_int8", "pretrainedResnet_quant"])
def test_models_of_others(shared_models, name):
    check((shared_models / f"{name}.tflite").read_bytes())


def test_what_later_operators_read_is_an_output(small_models):
    """A part's outputs include what later operators read, such as small_cnn's sum (3)."""
    whole = Whole(ModelFile(small_models["small_cnn"]))
    outputs = [whole.operators[number].outputs[0] for number in (0, 1, 2)]
    assert whole.cut(range(2)).outputs == (outputs[0], outputs[1])
    assert whole.cut(range(3)).outputs == (outputs[0], outputs[2])
    assert whole.cut({2}).inputs == (outputs[1],)


def test_a_compiled_model_is_refused(small_models, compiled):
    with pytest.raises(InputError, match="pass the model before Vela"):
        Whole(ModelFile(compiled(small_models["small_cnn"])))
