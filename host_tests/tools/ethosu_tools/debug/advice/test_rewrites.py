# SPDX-License-Identifier: MIT
"""Changes of a model are bit-exact, by LiteRT's reference kernels and on the NPU."""

from dataclasses import asdict

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile import leftover, vela
from ethosu_tools.debug.advice import rewrites
from ethosu_tools.model import ModelFile, arrays
from ethosu_tools.model.tflite import edit
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.tools.ethosu_tools.debug.advice.branches import (
    NEAR,
    changeable,
    nearly,
    unchangeable,
)

STEPS = 2


@pytest.fixture(scope="module")
def original():
    return changeable()


@pytest.fixture(scope="module")
def source(original):
    return ModelFile(original.data(), name="branches.tflite")


@pytest.fixture(scope="module")
def changed(source, original):
    """Return the model with all changes."""
    made, names = source, []
    for rewrite in (row for row in rewrites.TABLE if row.exact):
        made, found = rewrites.apply(made, rewrite, original.outputs)
        names += found
    assert sorted(names) == sorted(original.outputs), "each branch is changed"
    return made


@pytest.fixture(scope="module")
def results(source):
    """Return inputs, and the reference's results for the original."""
    given = arrays.random_steps(source.description.inputs, STEPS, seed=2)
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


def test_vela_leaves_the_original_to_the_cpu_and_says_why(original, source, compiled, small_models):
    made = vela.compiled(source, "ethos-u55-128")
    found = leftover.of(made.report, source, made.file)
    assert made.facts["leftover"] == [asdict(each) for each in found]
    assert {each.output for each in found} == set(original.outputs)
    (stride,) = (each for each in found if each.output == "stride 3")
    assert stride.operator == "TRANSPOSE_CONV" and stride.reason == "stride out of range: (3,3)"
    assert stride.rule.startswith("Stride values WxH must be: 1x1")
    (shuffle,) = (each for each in found if each.output == "pixel shuffle")
    assert shuffle.reason == "Vela has no NPU operation for it" and shuffle.rule == ""
    on_npu = ModelFile(compiled(small_models["small_cnn"]))
    assert leftover.of(made.report, source, on_npu) == [], "of what the result does not have"


def test_variables_need_no_reason(small_models):
    """Vela's remarks on variables are skipped, because their operators compute nothing."""
    made = vela.compiled(ModelFile(small_models["small_streaming"]), "ethos-u55-128")
    assert "operator: READ_VARIABLE" in made.report and "operator: None" in made.report
    assert "READ_VARIABLE" in made.file.description.cpu_operators
    assert made.facts["leftover"] == []


def test_operators_with_one_reason_share_a_line():
    row = {"operator": "DEQUANTIZE", "output": "a", "reason": "no", "rule": ""}
    other = {"operator": "GATHER", "output": "c", "reason": "no", "rule": "one\ntwo"}
    assert leftover.text([row, other, row | {"output": "b"}]) == [
        ["DEQUANTIZE a, b: no"],
        ["GATHER c: no", "  one", "  two"],
    ]


def test_an_ethos_u55_computes_the_same_without_the_cpu(original, changed, results):
    made = vela.compiled(changed, "ethos-u55-128").file
    assert made.description.cpu_operators == {}
    given, expected = results
    with Simulation(made) as simulation:
        check(original.outputs, [simulation.step(each) for each in given], expected)


def test_bilinear_resizing_is_near_and_the_npu_computes_what_the_reference_does():
    model = nearly()
    source = ModelFile(model.data(), name="m.tflite")
    (rewrite,) = (row for row in rewrites.TABLE if row.operator == "RESIZE_BILINEAR")
    assert not rewrite.exact
    changed, names = rewrites.apply(source, rewrite, NEAR)
    assert sorted(names) == sorted(NEAR)
    compiled = vela.compiled(changed, "ethos-u55-128").file
    assert compiled.description.cpu_operators == {}
    given = arrays.random_inputs(source.description.inputs, np.random.default_rng(3))
    expected, ours = Oracle(source).step(given), Oracle(changed).step(given)
    with Simulation(compiled) as simulation:
        for name, one, other in zip(names, simulation.step(given), ours, strict=True):
            assert np.array_equal(one, other), name
    for name, one, other in zip(names, ours, expected, strict=True):
        distance = np.abs(one.astype(int) - other.astype(int))
        assert distance.max() <= NEAR[name], name
        assert len(np.unique(other)) > 100, "random values are far from each other"


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
