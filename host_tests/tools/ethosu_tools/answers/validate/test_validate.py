# SPDX-License-Identifier: MIT
"""`ethosu validate` gives counts that independent code confirms, wherever it runs, and even if
it is interrupted."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.answers.validate import data as data_sets
from ethosu_tools.answers.validate.results import BINS, count_block
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator import qemu
from ethosu_tools.model import arrays, make_model
from ethosu_tools.model.tflite import Tensor
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim import oracle

from host_tests.tools.ethosu_tools.link.emulator.test_qemu import alive

SAMPLES = 300


@pytest.fixture
def cnn(small_models, compiled):
    return small_models["small_cnn"], compiled(small_models["small_cnn"])


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def data_set(tmp_path):
    """Make a file of smooth samples, in which the model finds several classes."""

    def make(count=SAMPLES):
        random = np.random.default_rng(5)
        levels = random.integers(-128, 128, (count, 1, 1, 1, 3))
        noise = random.integers(-30, 30, (count, 1, 16, 16, 3))
        arrays = {"0": np.clip(levels + noise, -128, 127).astype("int8")}
        path = tmp_path / f"{count}.npz"
        np.savez(path, **arrays, labels=random.integers(0, 10, count))
        return path

    return make


def expected(model, path):
    """Count top-1 and top-5 of the reference kernels."""
    with np.load(path) as file:
        outputs = oracle.run(model, {"0": file["0"]})["0"].reshape(len(file["0"]), -1)
        labels = file["labels"]
    first = outputs.argmax(axis=1)
    # Equal scores rank in the order of the classes.
    better = (outputs > outputs[np.arange(len(labels)), labels][:, None]).sum(axis=1)
    equal = outputs == outputs[np.arange(len(labels)), labels][:, None]
    before = (equal & (np.arange(outputs.shape[1]) < labels[:, None])).sum(axis=1)
    confusion = {}
    for pair in zip(labels.tolist(), first.tolist(), strict=True):
        confusion[pair] = confusion.get(pair, 0) + 1
    return int((first == labels).sum()), int((better + before < 5).sum()), confusion


@pytest.mark.parametrize("place", ["sim", "processes", "qemu", "port"])
def test_counts_are_those_of_the_reference(ethosu, cnn, data_set, place):
    model, program = cnn
    path = data_set(SAMPLES if place != "qemu" else 130)
    with contextlib.ExitStack() as used:
        on = {"processes": "sim"}.get(place, place)
        if place == "port":
            on = used.enter_context(qemu.Machine(emulated(npu="ethos-u55-128"))).port
        more = ["--workers", "2" if place in ("processes", "qemu") else "1"]
        code, out, err = ethosu(
            *("validate", program, path, "--on", on, "--reference", model, "--json", *more)
        )
    assert (code, err) == (0, "")
    data = json.loads(out)
    top1, top5, confusion = expected(model, path)
    assert (data["top1"], data["topk"]) == (top1, top5) and 0 < top1 < top5
    assert {(a, b): count for a, b, count in data["confusion"]} == confusion
    assert data["exact"] == data["agree"] == data["samples"] == data["labelled"]
    assert data["reference_top1"] == top1
    assert data["errors"][0]["differing"] == 0 and data["errors"][0]["largest"] == 0


def test_errors_are_counted_by_size():
    tensor = Tensor("out", (1, 3), "int8", 0.5, 10)
    found = [[np.array([[10, 12, 20]], "int8")], [np.array([[10, 10, 11]], "int8")]]
    floats = [[np.array([[0.0, 1.5, 5.0]], "float32")], [np.array([[0.0, 0.0, 0.5]], "float32")]]
    result = count_block(7, np.array([2, 0]), [tensor], found, floats, 2)
    assert (result.top1, result.topk, result.agree, result.exact) == (1, 2, 2, 0)
    (error,) = result.errors
    assert (error.differing, error.largest, error.total, error.values) == (1, 1.0, 1.0, 6)
    assert dict(zip((*BINS, "more"), error.histogram, strict=True))[1] == 1
    assert result.failures == [8], "the class is wrong; a float reference has no equal bits"
    integers = [[np.array([[10, 12, 17]], "int8")], found[1]]
    result = count_block(0, np.array([2, 2]), [tensor], found, integers, 2)
    assert result.exact == 1 and result.failures == [0] and result.errors[0].largest == 3


def test_other_forms_of_data(ethosu, cnn, data_set, tmp_path):
    """Folders, CSV and programs give the same counts as the .npz file."""
    _, program = cnn
    with np.load(data_set(60)) as file:
        samples, labels = file["0"], file["labels"]
    tensor = oracle.Oracle(cnn[0]).inputs[0]
    real = (samples.astype(np.float64) - tensor.zero_point) * tensor.scale
    with (tmp_path / "d.csv").open("w") as file:
        file.write("label," + ",".join(map(str, range(768))) + "\n")
        for row, label in zip(real, labels, strict=True):
            file.write(f"{label}," + ",".join(f"{each:.9g}" for each in row.ravel()) + "\n")
    for index, (sample, label) in enumerate(zip(samples, labels, strict=True)):
        (tmp_path / "folder" / str(label)).mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "folder" / str(label) / f"{index}.npy", sample)
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef samples():\n"
        f"    with np.load({str(tmp_path / '60.npz')!r}) as f:\n"
        "        yield from zip(f['0'], f['labels'])\n"
    )
    np.savez(tmp_path / "flat.npz", x=samples.reshape(60, -1), labels=labels)
    np.savez(tmp_path / "images.npz", x=samples[:, 0], labels=labels)
    found = []
    for data in ("60.npz", "d.csv", "folder", "mine.py:samples", "flat.npz", "images.npz"):
        code, out, err = ethosu("validate", program, tmp_path / data, "--workers", "1", "--json")
        assert (code, err) == (0, "")
        found.append({key: json.loads(out)[key] for key in ("top1", "topk", "confusion")})
    assert found[1:] == found[:1] * 5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.npz", "none.npz cannot be read"),
        ("other.txt", "is not a data set: expected FILE.npz, FILE.npy, FILE.csv, a folder"),
        ("shape.npz", r"must have shape [samples, 1, 16, 16, 3], found [4, 5]"),
        (
            "nchw.npz",
            "found [4, 3, 16, 16]; its axes are in another order: transpose it with "
            "np.transpose(x, (0, 2, 3, 1))",
        ),
        ("nchw.npy", "transpose it with np.transpose(x, (0, 1, 3, 4, 2))"),
        (
            "classes",
            "0.npy must have shape [1, 16, 16, 3], found [3, 16, 16]; its axes are in "
            "another order: transpose it with np.transpose(x, (1, 2, 0))",
        ),
        ("swapped.npz", "found [4, 16, 3, 16]"),
        ("type.npz", "must be int8 (raw values) or float32 (real values), found uint8"),
        ("labels.npz", "lengths differ"),
        ("nan.npz", "nan.npz has NaN at index [1, 0, 2, 0, 0], expected finite numbers"),
        ("endless.npz", "endless.npz has an infinite value at index [0, 0, 0, 0, 0]"),
        ("empty.npz", "empty.npz has no samples"),
        ("ragged.csv", "is not a CSV file of samples"),
    ],
)
def test_data_that_do_not_fit_are_one_error(ethosu, cnn, tmp_path, name, words):
    fits = np.zeros((4, 1, 16, 16, 3), "int8")
    np.savez(tmp_path / "shape.npz", **{"0": np.zeros((4, 5), "int8")})
    np.savez(tmp_path / "nchw.npz", **{"0": np.zeros((4, 3, 16, 16), "int8")})
    np.save(tmp_path / "nchw.npy", np.zeros((4, 1, 3, 16, 16), "int8"))
    np.savez(tmp_path / "swapped.npz", **{"0": np.zeros((4, 16, 3, 16), "float32")})
    (tmp_path / "classes/a").mkdir(parents=True)
    np.save(tmp_path / "classes/a/0.npy", np.zeros((3, 16, 16), "int8"))
    np.savez(tmp_path / "type.npz", **{"0": fits.astype("uint8")})
    np.savez(tmp_path / "labels.npz", **{"0": fits, "labels": np.zeros(3, int)})
    holed = fits.astype("float32")
    holed[1, 0, 2, 0, 0] = np.nan
    np.savez(tmp_path / "nan.npz", **{"0": holed})
    np.savez(tmp_path / "endless.npz", **{"0": np.full(fits.shape, np.inf)})
    np.savez(tmp_path / "empty.npz", **{"0": fits[:0]})
    (tmp_path / "ragged.csv").write_text("a,b\n1\n2,3\n")
    code, _, err = ethosu("validate", cnn[1], tmp_path / name)
    assert code in (2, 3) and words in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 10, 19], "has the class 10 at index 1: expected whole numbers from 0 to 9"),
        ([0, 1, -1], "has the class -1 at index 2: expected whole numbers from 0"),
        ([0.5, 1.0, 2.0], "has the class 0.5 at index 0: expected whole numbers"),
        ([0, np.nan, 2], "has the class nan at index 1: expected whole numbers"),
        ([[0], [1], [2]], "one whole number for each sample, found int64 of shape [3, 1]"),
        (["a", "b", "c"], "one whole number for each sample, found <U1 of shape [3]"),
    ],
)
def test_classes_that_the_model_does_not_have_are_refused(ethosu, cnn, tmp_path, labels, words):
    fits = np.zeros((3, 1, 16, 16, 3), "int8")
    np.savez(tmp_path / "d.npz", **{"0": fits, "labels": np.array(labels)})
    code, _, err = ethosu("validate", cnn[1], tmp_path / "d.npz", "--workers", 1)
    assert code == 3 and words in err and "d.npz" in err and len(err.splitlines()) == 1


def test_samples_of_a_program_may_lack_a_class(ethosu, cnn, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\nx = np.zeros((1, 16, 16, 3), 'int8')\n"
        "some, bad = [x, (x, 3)], [x, (x, -1)]\n"
    )
    code, out, _ = ethosu("validate", cnn[1], f"{path}:some", "--workers", 1, "--json")
    assert code == 0 and (json.loads(out)["samples"], json.loads(out)["labelled"]) == (2, 1)
    code, _, err = ethosu("validate", cnn[1], f"{path}:bad", "--workers", 1)
    assert code == 3 and "has the class -1 at index 1" in err


@pytest.mark.parametrize("name", ["y", "label", "labels"])
def test_an_input_may_have_the_name_of_the_classes(tmp_path, name):
    tensors = [Tensor(name, (1, 2), "int8", 0.5, 0), Tensor("x", (1, 2), "int8", 0.5, 0)]
    samples = {key: np.full((3, 1, 2), at, "int8") for at, key in enumerate((name, "x"))}
    other = next(each for each in arrays.LABELS if each != name)
    np.savez(tmp_path / "own.npz", **samples, **{other: np.arange(3)})
    np.savez(tmp_path / "number.npz", **{"0": samples[name], "1": samples["x"]}, y=np.arange(3))
    for file in ("own.npz", "number.npz"):
        found = data_sets.read(str(tmp_path / file), tensors, 3).samples
        assert [int(each.max()) for each in found.inputs] == [0, 1]
        assert found.labels.tolist() == [0, 1, 2]
    np.savez(tmp_path / "none.npz", **samples)
    none = data_sets.read(str(tmp_path / "none.npz"), tensors, 3)
    assert none.samples.labels.tolist() == [-1] * 3


def test_trivial_figures_are_not_printed(ethosu, tmp_path, data_set, cnn):
    """Trivial figures are omitted: top 10 of 10 classes, and bits of a float reference."""
    model, program = cnn
    path = data_set(8)
    shown = ethosu("validate", program, path, "--top", 10, "--reference", model)[1]
    assert "not measured" not in shown
    assert "top 10" not in shown and "bit-exact   100.00 %" in shown
    assert "top 9 " in ethosu("validate", program, path, "--top", 9)[1]
    graph = Graph("real")
    x = graph.tensor("x", (1, 16, 16, 3), "float32")
    flat = graph.tensor("flat", (1, 768), "float32")
    y = graph.tensor("y", (1, 10), "float32")
    weights = graph.constant("w", np.eye(10, 768, dtype="float32"))
    sizes = graph.constant("sizes", np.array([1, 768], "int32"))
    graph.operator("RESHAPE", [x, sizes], [flat])
    graph.operator("FULLY_CONNECTED", [flat, weights, -1], [y], "FullyConnectedOptions")
    graph.inputs, graph.outputs = [x], [y]
    real = tmp_path / "real.tflite"
    real.write_bytes(write([graph], "real"))
    code, shown, err = ethosu("validate", program, path, "--reference", real)
    assert (code, err) == (0, "") and "same class" in shown and "bit-exact" not in shown


def test_without_labels_there_is_no_accuracy(ethosu, tmp_path, cnn):
    np.savez(tmp_path / "one.npz", x=np.zeros((1, 16, 16, 3), "int8"))
    code, shown, err = ethosu("validate", cnn[1], tmp_path / "one.npz")
    assert (code, err) == (0, "") and "1 sample on sim" in shown
    assert "accuracy    not measured: the samples have no labels" in shown


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_differences_are_counted_and_end_with_code_6(ethosu, cnn, data_set, tmp_path, more):
    other = tmp_path / "other.tflite"
    other.write_bytes(make_model.small_cnn(2))
    words = ["validate", cnn[1], data_set(8), "--workers", 1, "--reference", other]
    code, out, err = ethosu(*words, *more)
    assert code == 6 and f"of 8 samples differ from the reference {other}" in err
    assert len(err.splitlines()) == 1
    if more:
        assert json.loads(out)["exact"] < 8
    else:
        assert "bit-exact " in out and "first failures" in out


def test_a_damaged_model_has_its_own_name(ethosu, cnn, data_set, tmp_path):
    data = bytearray(cnn[1].read_bytes())
    data[40:60] = b"\xff" * 20
    path = tmp_path / "damaged.tflite"
    path.write_bytes(data)
    code, _, err = ethosu("validate", path, data_set(4))
    assert code == 3 and err.startswith(f"ethosu: {path}: ") and err.count("\n") == 1


def test_a_streaming_model_is_refused(ethosu, small_models, compiled, tmp_path):
    program = compiled(small_models["small_streaming"])
    code, _, err = ethosu("validate", program, tmp_path / "any.npz")
    assert code == 3 and "is a streaming model" in err and len(err.splitlines()) == 1


def children(pid):
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(each) for task in tasks for each in task.read_text().split()]


def start(cnn, path, *more):
    model, program = cnn
    words = ["validate", program, path, "--reference", model, "--workers", "2", "--json", *more]
    command = [sys.executable, "-m", "ethosu_tools.cli", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_killed_run_is_resumed(cnn, data_set, tmp_path, count):
    path, notes = data_set(count), tmp_path / "notes"
    deadline = Deadline(120)
    with start(cnn, path, "--notes", notes) as process:
        while not notes.is_file() or notes.read_text().count("\n") < 4:
            assert process.poll() is None and not deadline.expired()
            time.sleep(0.002)
        workers = children(process.pid)
        process.kill()
    assert len(workers) >= 2
    while any(map(alive, workers)):
        assert not deadline.expired(), "the workers went on"
        time.sleep(0.02)
    with notes.open("a") as file:
        file.write('[64, {"samples"')  # a truncated line
    with start(cnn, path, "--notes", notes) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    data = json.loads(out)
    assert 3 <= data["resumed_blocks"] < count / 64
    assert data["exact"] == data["samples"] == count
    assert (data["top1"], data["topk"]) == expected(cnn[0], path)[:2]
    assert not notes.exists()
