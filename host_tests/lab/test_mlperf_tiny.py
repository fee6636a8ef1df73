# SPDX-License-Identifier: MIT
"""The script for MLPerf Tiny prints its table, and names missing parts."""

import hashlib

import pytest

from host_tests.lab import mlperf_tiny


@pytest.fixture
def folder(small_models, monkeypatch, tmp_path):
    """Make a folder with one model, small_cnn, instead of the benchmark's four."""
    data = small_models["small_cnn"].read_bytes()
    (tmp_path / "small_cnn.tflite").write_bytes(data)
    tasks = {"small_cnn.tflite": (hashlib.sha256(data).hexdigest(), "A small model")}
    monkeypatch.setattr(mlperf_tiny, "TASKS", tasks | {"absent.tflite": ("", "Not there")})
    return tmp_path


def test_the_page_has_a_row_for_each_board(lab, folder):
    path = folder / "page.md"
    code, data, _ = lab(mlperf_tiny, "--models", folder, "--page", path, "--json")
    rows = data["models"]["small_cnn.tflite"]["boards"]
    assert code == 0 and data["missing"] == ["absent.tflite"] and len(rows) >= 10
    text = path.read_text()
    assert "## A small model" in text and "every value equals TFLite's" in text
    for row in rows:
        assert any(
            f"| {row['board']} | {row['npu']} | {row['weights']} |" in line
            and f"| {row['estimate']['cycles']:,} |" in line
            for line in text.splitlines()
        )


def test_a_model_of_the_same_name_is_not_taken_for_the_benchmark_s(lab, folder):
    path = folder / "small_cnn.tflite"
    path.write_bytes(path.read_bytes() + b"\0")
    code, _, err = lab(mlperf_tiny, "--models", folder)
    assert code == 3 and "is not MLCommons' file" in err
    path.unlink()
    code, _, err = lab(mlperf_tiny, "--models", folder)
    assert code == 3 and "has none of small_cnn.tflite, absent.tflite" in err


def test_the_page_in_the_docs_has_the_form_of_the_command(repo):
    text = (repo / "docs/mlperf_tiny.md").read_text()
    assert text.startswith(mlperf_tiny.INTRODUCTION)
    assert all(f"`{name}`: Yes" in text for name in mlperf_tiny.TASKS)
