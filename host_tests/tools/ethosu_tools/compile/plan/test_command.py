# SPDX-License-Identifier: MIT
"""Tests the plan in `ethosu compile` and `ethosu inspect --memory`."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from ethosu_tools.answers.pictures import arena
from ethosu_tools.compile.plan.record import RECORD_NAME
from ethosu_tools.model.tflite import metadata
from ethosu_tools.model.tflite.writer import Graph, write

from host_tests.kit.models.mixed_models import MODELS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def compiled_copy(mixed, tmp_path):
    """Copy a compiled model without a plan; no command must change the copy."""
    path, before = tmp_path / "m.tflite", mixed("attention").compiled.read_bytes()
    path.write_bytes(before)
    yield path
    assert path.read_bytes() == before


def test_compile_plans_by_itself(ethosu, mixed, tmp_path):
    output = tmp_path / "out.tflite"
    source = mixed("svdf").source
    code, out, err = ethosu("compile", source, "-o", output)
    assert (code, err) == (0, "")
    assert "plan       2,048 bytes" in out
    assert metadata.get(output.read_bytes(), RECORD_NAME) is not None
    assert output.read_bytes() == mixed("svdf").planned.read_bytes()


def test_compile_adds_no_plan_where_none_is_needed(ethosu, small_models, tmp_path):
    output = tmp_path / "out.tflite"
    code, out, _ = ethosu("compile", small_models["small_streaming"], "-o", output)
    assert code == 0 and "\nplan" not in out
    assert metadata.get(output.read_bytes(), RECORD_NAME) is None


def test_a_compiled_file_gets_a_plan_and_is_drawn_as_text(ethosu, compiled_copy, mixed):
    output = compiled_copy.with_name("planned.tflite")
    for words in ((), ("--npu", "ethos-u55-32", "-o", output)):
        code, _, err = ethosu("compile", compiled_copy, *words)
        assert code == 3 and "is already compiled: -o FILE writes it with a new plan" in err
    code, out, err = ethosu("compile", compiled_copy, "-o", output)
    assert (code, err) == (0, "") and "\nplan       " in out
    assert output.read_bytes() == mixed("attention").planned.read_bytes()
    code, out, err = ethosu("inspect", compiled_copy, "--memory")
    assert (code, err) == (0, "")
    assert "scratch of the NPU" in out and "SOFTMAX" in out


def test_sizes_without_zeros():
    row = {"arena": 10, "largest_scratch": 4, "fast_scratch": 0, "arena_before": 14, "gain": 4}
    assert arena.sizes(row) == (
        "10 bytes, up to 4 for a CPU operator's scratch; 14 without a plan: 4 bytes saved"
    )
    assert arena.sizes(row | {"largest_scratch": 0, "arena_before": 10, "gain": 0}) == "10 bytes"


def test_json_of_several_models(ethosu, mixed):
    models = [mixed(name).compiled for name in MODELS]
    code, out, _ = ethosu("inspect", *models, "--memory", "--json")
    data = json.loads(out)
    assert code == 0 and len(data["models"]) == len(MODELS)
    gains = [row["memory"]["gain"] for row in data["models"]]
    assert min(gains) >= 0 and sum(gains) > 0


def test_table_of_several_models(ethosu, mixed):
    models = [mixed(name).compiled for name in ("svdf", "attention")]
    code, out, _ = ethosu("inspect", *models, "--memory")
    assert code == 0 and "Vela + scratch" in out
    assert all(str(model) in out for model in models)


def test_svg_has_every_block(ethosu, compiled_copy, tmp_path):
    picture = tmp_path / "arena.svg"
    code, out, _ = ethosu("inspect", "--json", compiled_copy, "--memory", picture)
    assert code == 0
    root = ElementTree.fromstring(picture.read_text())
    shown = [rect.get("class").split()[-1] for rect in root.iter(f"{SVG}rect") if len(rect)]
    blocks = json.loads(out)["memory"]["blocks"]
    assert sorted(shown) == sorted(block["kind"] for block in blocks)
    assert {"npu", "fixed", "tensor", "scratch"} <= set(shown)


def test_html_has_picture_and_table(ethosu, compiled_copy, tmp_path):
    picture = tmp_path / "arena.html"
    assert ethosu("inspect", compiled_copy, "--memory", picture)[0] == 0
    text = picture.read_text()
    assert "<svg" in text and "<table>" in text and "scratch of" in text


def test_an_operator_without_a_kernel_is_named(ethosu, tmp_path):
    graph = Graph("floor")
    x, y = graph.tensor("x", (4,), "float32"), graph.tensor("y", (4,), "float32")
    graph.inputs, graph.outputs = [x], [y]
    graph.operator("FLOOR", [x], [y])
    floor, data = tmp_path / "floor.tflite", write([graph], "floor")
    floor.write_bytes(data)
    code, _, err = ethosu("inspect", floor, "--memory")
    assert code == 3 and f"{floor}: operator 0 (FLOOR)" in err and "no kernel for it" in err
    assert floor.read_bytes() == data


def test_a_missing_library_is_named_with_its_target(ethosu, compiled_copy, tmp_path, monkeypatch):
    monkeypatch.setenv("ETHOSU_ROOT", str(tmp_path))
    for option, advice in (
        ((), "`make build`, or only `make sim-host`"),
        (["--cmsis-nn"], "`make sim-host CMSIS_NN_DIR=FOLDER`"),
    ):
        code, _, err = ethosu("compile", *option, compiled_copy, "-o", tmp_path / "out.tflite")
        assert code == 4 and f"was not found; build it with {advice}" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["no.tflite"], 3, "cannot be read"),
        (["{model}", "--memory", "arena.png"], 2, "a picture must end in .svg or .html"),
        (["{model}", "{model}", "--memory", "x.svg"], 2, "are of one model, not of 2"),
        (["{model}", "--memory", "/dev/null/x.svg"], 3, "cannot be written"),
    ],
)
def test_errors_are_one_error(ethosu, compiled_copy, words, code, message):
    before = compiled_copy.read_bytes()
    found, _, err = ethosu("inspect", *(word.format(model=compiled_copy) for word in words))
    assert found == code and message in err and len(err.strip().splitlines()) == 1
    assert compiled_copy.read_bytes() == before
