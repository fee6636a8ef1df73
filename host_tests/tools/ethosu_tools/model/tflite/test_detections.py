# SPDX-License-Identifier: MIT
"""Downloaded detectors, with uint8 and outputs whose shapes TFLite computes, work."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile import load, vela
from ethosu_tools.model import ModelFile
from ethosu_tools.model.tflite.writer import packed, schema
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.modules.ethosu.runtime.kernels import maker, runner

SHAPES = [(1, 10, 4), (1, 10), (1, 10), (1,)]


def without_shapes(change=lambda operator: None) -> maker.Case:
    case = maker.make("DETECTION_POSTPROCESS", 3, unsigned=True)
    tree = schema.ModelT.InitFromPackedBuf(bytearray(case.model))
    graph = tree.subgraphs[0]
    for index in graph.outputs:
        graph.tensors[index].shape = []
    change(graph.operators[0])
    return maker.Case(packed(tree), case.inputs, case.group)


def results(source: ModelFile, inputs):
    made, _ = load.prepare(source, vela.compiled(source, "ethos-u55-128").file)
    with Simulation(made) as simulation:
        return [array.copy() for array in simulation.step(inputs)]


def test_outputs_without_shapes_are_the_references():
    case = without_shapes()
    oracle = Oracle(case.model)
    for row in case.inputs:
        expected = runner.clear_rest(oracle.step(row), case.group)
        found = results(ModelFile(case.model), row)
        assert [a.shape for a in found] == [a.shape for a in expected]
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


@pytest.mark.parametrize("options", [b"", b"\x00\x24\x01", bytes(range(40))])
def test_damaged_options_get_one_sentence(options):
    def change(operator):
        operator.customOptions = list(options)

    with pytest.raises(InputError, match=r"damaged|options and shapes do not match"):
        results(ModelFile(without_shapes(change).model), [])


def test_the_uint8_detector_of_2018_is_exact(shared_models):
    source = ModelFile.of(shared_models / "field/mlon_detection_postprocess.tflite")
    oracle = Oracle(source)
    random = np.random.default_rng(1)
    for limit in (2, 256):  # few, and all scores of many boxes are equal
        row = [random.integers(0, limit, tensor.shape, np.uint8) for tensor in oracle.inputs]
        expected, found = oracle.step(row), results(source, row)
        assert [a.shape for a in found] == SHAPES
        assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]
