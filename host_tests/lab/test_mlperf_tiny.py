# SPDX-License-Identifier: MIT
"""MLPerf Tiny: the table, its accuracy, and missing parts."""

import hashlib

import numpy as np
import pytest
from ethosu_tools.sim.oracle import Oracle

from host_tests.lab import mlperf_tiny
from host_tests.lab.mlperf_tiny import Task


@pytest.fixture
def folder(small_models, monkeypatch, tmp_path):
    """A folder with one model, small_cnn, instead of the benchmark's four."""
    data = small_models["small_cnn"].read_bytes()
    (tmp_path / "small_cnn.tflite").write_bytes(data)
    task = Task("small_cnn.tflite", hashlib.sha256(data).hexdigest(), "a small model")
    absent = Task("absent.tflite", "", "a model that is not there")
    monkeypatch.setattr(mlperf_tiny, "TASKS", (task, absent))
    return tmp_path


def test_a_row_for_each_system_and_what_is_missing(lab, folder, small_models, tmp_path):
    oracle = Oracle(small_models["small_cnn"])
    random = np.random.default_rng(1)
    samples = random.integers(-128, 128, (8, *oracle.inputs[0].shape)).astype(np.int8)
    labels = np.array([int(np.argmax(oracle.step([each])[0])) for each in samples])
    labels[0] += 1  # one of eight is wrong
    np.savez(tmp_path / "small_cnn.npz", **{"0": samples, "labels": labels})
    page = tmp_path / "page.md"
    words = (mlperf_tiny, "--models", folder, "--npu", "ethos-u85-256")
    code, data, _ = lab(*words, "--json", "--data", tmp_path, "--page", page)
    assert code == 0 and data["missing"] == ["absent.tflite"]
    assert {row["npu"] for row in data["rows"]} == {"ethos-u85-256"}
    assert all(row["reference"]["differing"] == 0 for row in data["rows"])
    assert data["accuracy"]["small_cnn.tflite"] == {"samples": 8, "top1": 7 / 8}
    text = page.read_text()
    assert "top-1 accuracy 0.8750 of 8 samples" in text and "the model was not given" in text
    assert text.count("| yes |") == len(data["rows"])
    _, out, _ = lab(*words, "--page", page)
    assert "accuracy not measured: no data set was given; use --data" in out
    assert "its accuracy was not measured.\n" in page.read_text()


def test_a_model_of_the_same_name_is_not_taken_for_the_benchmark_s(lab, folder):
    path = folder / "small_cnn.tflite"
    path.write_bytes(path.read_bytes() + b"\0")
    code, _, err = lab(mlperf_tiny, "--models", folder)
    assert code == 3 and "is not MLCommons' file" in err
    path.unlink()
    code, _, err = lab(mlperf_tiny, "--models", folder)
    assert code == 3 and "has none of small_cnn.tflite, absent.tflite" in err


def test_the_area_counts_pairs():
    scores, labels = np.array([1.0, 2, 3, 2]), np.array([0, 0, 1, 1])
    assert mlperf_tiny.area(scores, labels) == (1 + 1 + 1 + 0.5) / 4


def test_the_page_in_the_docs_has_the_form_of_the_command(repo):
    text = (repo / "docs/mlperf_tiny.md").read_text()
    assert text.startswith(mlperf_tiny.INTRODUCTION)
    assert all(f"`{task.file}`; " in text for task in mlperf_tiny.TASKS)
    assert "| no |" not in text
