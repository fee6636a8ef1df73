# SPDX-License-Identifier: MIT
"""`ethosu bisect` names Vela's known defects on the graphs that show them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.compile import known, vela
from ethosu_tools.model.tflite import parse
from ethosu_tools.model.tflite.writer import Graph, write

from host_tests.conformance.generator import coverage
from host_tests.conformance.generator.known_defects.defects import DEFECTS
from host_tests.kit.models import vela_once
from host_tests.tools.ethosu_tools.debug.bisection import plant

NPU = "ethos-u85-256"
_REDUCE_SUM = 2  # mode of a pool


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_each_is_named(ethosu, tmp_path, defect):
    path = tmp_path / "model.tflite"
    path.write_bytes(defect.case.model)
    words = ["bisect", path, "--npu", defect.npu, "-o", tmp_path / "found", "--json"]
    if defect.memory_mode != "Sram_Only":
        words += ["--memory-mode", defect.memory_mode]
    code, out, err = ethosu(*words)
    data = json.loads(out)
    assert (code, err) == (6, "")
    assert [row["name"] for row in data["defects"]] == [defect.name]
    assert data["reproduced"]
    (graph, *_) = parse(Path(data["files"]["model"]).read_bytes())
    assert len(graph.operators) == len(data["operators"]) <= len(defect.case.operators)
    report = Path(data["files"]["report"]).read_text()
    assert f"known defect of Vela: `{defect.name}`" in report


def test_the_table_has_each_of_them():
    assert {row.name for row in known.DEFECTS} == {defect.name for defect in DEFECTS}


@pytest.fixture
def sums(tmp_path):
    """Make a model that ends with a sum of int16 over the last axis."""
    graph = Graph("sums")
    x, r = (graph.tensor(name, (1, 4, 4, 16), "int16", 0.001) for name in ("x", "r"))
    y = graph.tensor("y", (1, 4, 4, 1), "int16", 0.001)
    graph.operator("RELU", [x], [r])
    axes = graph.constant("axes", np.array([3], np.int32))
    graph.operator("SUM", [r, axes], [y], "ReducerOptions", keepDims=True)
    graph.inputs, graph.outputs = [x], [y]
    path = tmp_path / "sums.tflite"
    path.write_bytes(write([graph], "sums"))
    return path


@pytest.fixture
def quiet(tmp_path):
    """Make inputs whose sum is within int16."""
    path = tmp_path / "quiet.npz"
    values = np.random.default_rng(0).integers(-1000, 1000, (1, 4, 4, 16))
    np.savez(path, **{"0": values.astype(np.int16)})
    return path


def expect_issue_23(result):
    """Check that the sum is rejected, and the defect is named."""
    code, out, err = result
    data = json.loads(out)
    assert (code, err) == (6, "")
    assert data["first"]["name"] == "1 SUM y" and data["operators"] == [1]
    assert "sum in 48 bits" in data["first"]["error"] and data["reproduced"]
    assert [row["name"] for row in data["defects"]] == ["reduce-sum-int16"]
    assert "Vela issue 23" in data["defects"][0]["text"]


def test_a_sum_of_int16_as_vela_5_0_writes_it(ethosu, sums, quiet, tmp_path, monkeypatch):
    """The defect is named for Vela 5.0, which differs in one bit: 48-bit accumulators."""

    def run_vela(path, options, python=None):
        said = vela_once.run_vela(path, options)
        folder = Path(options[options.index("--output-dir") + 1])
        if python:
            (made,) = folder.glob("*_vela.tflite")
            made.write_bytes(in_48_bits(made.read_bytes()))
        return said

    monkeypatch.setattr(vela, "run_vela", run_vela)
    monkeypatch.setattr(vela, "release", lambda python=None: "5.0.0" if python else "5.2.0")
    words = ("bisect", sums, "--npu", NPU, "--inputs", quiet, "--json", "-o", tmp_path / "found")
    assert ethosu(*words)[0] == 0
    expect_issue_23(ethosu(*words, "--vela", "old/python"))
    expect_issue_23(ethosu(*words, "--other-vela", "old/python"))


def in_48_bits(compiled):
    """Give the sums of a compiled model accumulators of 48 bits."""
    for number, (name, mode, _) in enumerate(coverage.operations(compiled)):
        if (name, mode) == ("POOL", _REDUCE_SUM):
            compiled = plant.register(compiled, number, "ACC_FORMAT", 1)
    return compiled


@pytest.mark.slow
def test_a_sum_of_int16_by_vela_5_0(ethosu, sums, quiet, tmp_path):
    python = tmp_path / "vela/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "vela"], check=True)
    package = [python, "-m", "pip", "install", "-q", "--only-binary=:all:", "ethos-u-vela==5.0.0"]
    if subprocess.run(package, capture_output=True).returncode:
        pytest.skip("NOT TESTED WITH Vela 5.0.0: no wheel for this Python")
    words = ("bisect", sums, "--npu", NPU, "--inputs", quiet, "--json", "-o", tmp_path / "found")
    expect_issue_23(ethosu(*words, "--vela", python))


def test_what_the_npu_rounds_in_another_way_is_no_defect(ethosu, tmp_path):
    """A difference of one step in ABS of int16, which the NPU rounds twice, is no defect."""
    graph = Graph("abs")
    x = graph.tensor("x", (1, 4, 4, 64), "int16", 1 / 256)
    y = graph.tensor("y", (1, 4, 4, 64), "int16", 3 / 1000)
    graph.operator("ABS", [x], [y], "AbsOptions")
    graph.inputs, graph.outputs = [x], [y]
    path = tmp_path / "abs.tflite"
    path.write_bytes(write([graph], "abs"))
    words = ("bisect", path, "--npu", "ethos-u55-128", "-o", tmp_path / "found")
    code, out, _ = ethosu(*words)
    assert code == 6 and "up to 1 step is expected of ABS" in out
    assert "up to 1 step is expected of ABS" in (tmp_path / "found.bug.md").read_text()
