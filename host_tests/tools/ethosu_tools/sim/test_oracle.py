# SPDX-License-Identifier: MIT
"""Tests the external reference: results, state and errors."""

from importlib import metadata

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError, SetupError
from ethosu_tools.model.make_model import small_cnn, small_streaming
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim import litert, oracle

FRAMES = np.random.default_rng(0).integers(-128, 128, (20, 1, 3, 8)).astype(np.int8)
IMAGE = np.zeros((1, 16, 16, 3), np.int8)


def test_state_is_kept_between_steps_and_fresh_in_the_next_run():
    first = oracle.run(small_streaming(), [FRAMES], steps=20)["0"]
    again = oracle.run(small_streaming(), {"0": FRAMES}, steps=20)["0"]
    alone = oracle.run(small_streaming(), [FRAMES[19]])["0"]
    assert first.shape == (20, 1, 1) and first.dtype == np.uint8
    assert np.array_equal(first, again)
    assert first[19] != alone, "the last step must depend on the steps before it"


def test_model_details_are_reported():
    model = oracle.Oracle(small_streaming())
    (tensor,) = model.outputs
    assert (tensor.shape, tensor.dtype, tensor.scale, tensor.zero_point) == (
        (1, 1),
        "uint8",
        1 / 256,
        0,
    )
    assert model.inputs[0].shape == (1, 3, 8)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], r"must have the keys 0 \(.*\), .* found none"),
        ([IMAGE[0]], r"input 0 \(.*\) must have shape \[1, 16, 16, 3\], .* found \[16, 16, 3\]"),
        ([IMAGE.astype(float)], r"input 0 \(.*\) must be int8, found float64"),
        ({"1": IMAGE}, r"must have the keys 0 \(.*\), .* found 1"),
    ],
)
def test_wrong_inputs_are_named(inputs, message):
    with pytest.raises(InputError, match=message):
        oracle.run(small_cnn(), inputs)


@pytest.mark.parametrize("inputs", [[], [IMAGE[0]], [IMAGE.astype(float)]])
def test_a_single_step_rejects_wrong_inputs_and_continues(inputs):
    model = oracle.Oracle(small_cnn())
    with pytest.raises(InputError, match="LiteRT could not run the model"):
        model.step(inputs)
    assert np.array_equal(model.step([IMAGE])[0], oracle.run(small_cnn(), [IMAGE])["0"])


@pytest.mark.parametrize("content", [b"", b"TFL3", b"no model " * 100, small_cnn()[:1000]])
def test_a_broken_model_is_refused(content):
    with pytest.raises(InputError, match=r"^(LiteRT rejected )?the model"):
        oracle.run(content, [IMAGE])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.tflite cannot be read: No such file"):
        oracle.run(tmp_path / "none.tflite", [IMAGE])


def test_another_litert_is_refused(monkeypatch):
    monkeypatch.delenv("ETHOSU_LITERT", raising=False)
    monkeypatch.setattr(metadata, "version", lambda _: "1.3.0")
    message = r"ai-edge-litert 1\.2\.0 or 2\.3\.0, but 1\.3\.0 is installed; run: pip install ai-"
    with pytest.raises(SetupError, match=message):
        oracle.run(small_cnn(), [IMAGE])


def test_a_litert_that_is_tried_gets_the_models_of_the_newest_known(monkeypatch):
    asked = []

    def rewritten(content, *, later):
        asked.append(later)
        return content

    monkeypatch.setattr(litert, "rewritten", rewritten)
    for release, named, later in (
        ("99.1", "99.1", True),
        (litert.RELEASES[1], None, True),
        (litert.RELEASES[0], "99.1", False),
    ):
        monkeypatch.setattr(metadata, "version", lambda _, release=release: release)
        if named:
            monkeypatch.setenv("ETHOSU_LITERT", named)
        else:
            monkeypatch.delenv("ETHOSU_LITERT")
        oracle.Oracle(small_cnn(), here=True)
        assert asked.pop() == later
    monkeypatch.setattr(metadata, "version", lambda _: "99.2")
    with pytest.raises(SetupError, match=r"99\.2 is installed"):
        oracle.Oracle(small_cnn(), here=True)


def test_an_operator_without_reference_kernel_has_the_optimised_one():
    graph = Graph("elu")
    graph.inputs = [graph.tensor("x", (1, 4), "int8", 0.5)]
    graph.outputs = [graph.tensor("y", (1, 4), "int8", 0.25)]
    graph.operator("ELU", graph.inputs, graph.outputs)
    found = oracle.run(write([graph], "elu"), [np.array([[-128, -2, 0, 3]], np.int8)])["0"]
    assert found.tolist() == [[-4, -3, 0, 6]]
    with pytest.raises(InputError, match="Didn't find op for builtin opcode 'ELU'"):
        oracle.Oracle(write([graph], "elu"), kernels=oracle.REFERENCE)
