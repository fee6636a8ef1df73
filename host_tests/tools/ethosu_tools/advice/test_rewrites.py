# SPDX-License-Identifier: MIT
"""Changes of a model: bit-exact by LiteRT's reference kernels, and on the simulated NPU."""

import numpy as np
import pytest
from ethosu_tools import arrays, vela
from ethosu_tools.advice import edit, reasons, rewrites
from ethosu_tools.errors import InputError
from ethosu_tools.model import ModelFile
from ethosu_tools.oracle import Oracle
from ethosu_tools.sim import Simulation

from host_tests.tools.ethosu_tools.advice.branches import changeable, unchangeable

STEPS = 2


@pytest.fixture(scope="module")
def original():
    return changeable()


@pytest.fixture(scope="module")
def source(original):
    return ModelFile(original.data(), name="branches.tflite")


@pytest.fixture(scope="module")
def changed(source, original):
    """The model with all changes."""
    made, names = source, []
    for rewrite in rewrites.TABLE:
        made, found = rewrites.apply(made, rewrite, original.outputs)
        names += found
    assert sorted(names) == sorted(original.outputs), "each branch is changed"
    return made


@pytest.fixture(scope="module")
def results(source):
    """Inputs, and what the reference computes for the original."""
    random = np.random.default_rng(2)
    given = [arrays.random_inputs(source.description.inputs, random) for _ in range(STEPS)]
    oracle = Oracle(source)
    return given, [oracle.step(each) for each in given]


def check(names, found, expected):
    for step, wanted in zip(found, expected, strict=True):
        for name, ours, theirs in zip(names, step, wanted, strict=True):
            assert ours.shape == theirs.shape, name
            assert np.array_equal(ours, theirs), name
            assert len(np.unique(theirs)) > 3, f"{name}: the values must differ from each other"


def test_the_reference_computes_the_same(original, changed, results):
    given, expected = results
    oracle = Oracle(changed)
    check(original.outputs, [oracle.step(each) for each in given], expected)


def test_vela_leaves_the_original_to_the_cpu_and_says_why(original, source):
    made = vela.compiled(source, "ethos-u55-128")
    found = reasons.parse(made.report, source)
    assert made.facts["reasons"] == [each.as_dict() for each in found]
    assert {each.output for each in found} == set(original.outputs)
    (stride,) = (each for each in found if each.output == "stride 3")
    assert stride.operator == "TRANSPOSE_CONV" and stride.reason == "stride out of range: (3,3)"
    assert stride.rule.startswith("Stride values WxH must be: 1x1")
    (shuffle,) = (each for each in found if each.output == "pixel shuffle")
    assert shuffle.reason == "Vela has no NPU operation for it" and shuffle.rule == ""


def test_an_ethos_u55_computes_the_same_without_the_cpu(original, changed, results):
    made = vela.compiled(changed, "ethos-u55-128").file
    assert made.description.cpu_operators == {}
    given, expected = results
    with Simulation(made) as simulation:
        check(original.outputs, [simulation.step(each) for each in given], expected)


def test_other_operators_of_these_kinds_stay_as_they_are():
    model = unchangeable()
    source = ModelFile(model.data(), name="m.tflite")
    for rewrite in rewrites.TABLE:
        made, names = rewrites.apply(source, rewrite, model.outputs)
        assert names == [] and made is source


def test_only_the_named_operators_change(source):
    (rewrite,) = (row for row in rewrites.TABLE if row.operator == "DEPTH_TO_SPACE")
    made, names = rewrites.apply(source, rewrite, {"pixel shuffle", "focus"})
    assert names == ["pixel shuffle"]
    kinds = [operator.name for operator in made.graph.operators]
    assert "DEPTH_TO_SPACE" not in kinds and kinds.count("SPACE_TO_DEPTH") == 1


def test_an_unchanged_document_is_the_same_model(source, results):
    given, expected = results
    oracle = Oracle(source.with_data(edit.Document(source.data).data()))
    assert all(
        np.array_equal(ours, theirs)
        for ours, theirs in zip(oracle.step(given[0]), expected[0], strict=True)
    )


def test_a_file_that_is_no_model_is_one_error(source):
    broken = source.with_data(source.data[:64] + bytes(len(source.data) - 64))
    with pytest.raises(InputError, match=r"branches\.tflite"):
        rewrites.apply(broken, rewrites.TABLE[0], {"stride 3"})
