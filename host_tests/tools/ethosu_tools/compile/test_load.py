# SPDX-License-Identifier: MIT
"""`ethosu compile` rejects what the runtime would, with advice; models for the CPU alone work."""

import json
import re

import numpy as np
import pytest
from ethosu_tools.base.errors import BoardError, CannotRunError
from ethosu_tools.compile import load
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import ModelFile, romfs, tflite
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim import simulation

from .plan import c_runtime


def gather(graph):
    """Make operators that Vela leaves to the CPU, which supports them."""
    x = graph.tensor("x", (1, 8, 4), "int8", 0.1, 3)
    y = graph.tensor("y", (1, 2, 4), "int8", 0.1, 3)
    chosen = graph.constant("chosen", np.array([3, 1], np.int32))
    graph.operator("GATHER", [x, chosen], [y], "GatherOptions", axis=1)
    return [x], [y]


def top_k(graph):
    x = graph.tensor("x", (1, 8), "int8", 0.1, 3)
    k = graph.constant("k", np.array(3, np.int32))
    y = [graph.tensor("y", (1, 3), "int8", 0.1, 3), graph.tensor("i", (1, 3), "int32")]
    graph.operator("TOPK_V2", [x, k], y, "TopKV2Options")
    z = graph.tensor("z", (1, 3), "int8", 0.1, 3)
    graph.operator("SignalEnergy", [y[0]], [z])
    return [x], [z]


def cumsum(graph):
    """Make a quantised model in which the converter left operators in float."""
    x, y = graph.tensor("x", (1, 8), "int8", 0.1, 3), graph.tensor("y", (1, 8), "int8", 0.1, 3)
    floats = graph.tensor("f", (1, 8), "float32"), graph.tensor("net/sum", (1, 8), "float32")
    axis = graph.constant("axis", np.array(1, np.int32))
    graph.operator("DEQUANTIZE", [x], [floats[0]])
    graph.operator("CUMSUM", [floats[0], axis], [floats[1]], "CumsumOptions")
    graph.operator("QUANTIZE", [floats[1]], [y])
    return [x], [y]


def dense(dtype):
    """Make FULLY_CONNECTED on floats, with weights of this type."""

    def make(graph):
        x, y = graph.tensor("x", (1, 8), "float32"), graph.tensor("y", (1, 4), "float32")
        scale = 0.1 if dtype == "int8" else None
        weights = graph.constant("w", np.ones((4, 8), dtype), scale)
        if dtype == "float16":
            half, weights = weights, graph.tensor("v", (4, 8), "float32")
            graph.operator("DEQUANTIZE", [half], [weights])
        graph.operator("FULLY_CONNECTED", [x, weights, -1], [y], "FullyConnectedOptions")
        return [x], [y]

    return make


def softmax(graph):
    """Make SOFTMAX of int16 with an output type that no kernel supports."""
    x = graph.tensor("x", (1, 8), "int32", 0.1)
    y = graph.tensor("y", (1, 8), "int32", 0.1)
    graph.operator("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)
    return [x], [y]


def matmul(dtype, weights):
    def make(graph):
        x, y = graph.tensor("x", (2, 8), dtype, 0.1), graph.tensor("y", (2, 4), dtype, 0.1)
        w = graph.constant("w", np.ones((8, 4), weights), 0.1)
        graph.operator("BATCH_MATMUL", [x, w], [y], "BatchMatMulOptions")
        return [x], [y]

    return make


@pytest.fixture
def model(tmp_path):
    """Write the model of a function above."""

    def make(function):
        graph = Graph("a graph")
        graph.inputs, graph.outputs = function(graph)
        path = tmp_path / "model.tflite"
        path.write_bytes(write([graph], "a model"))
        return path

    return make


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (top_k, ["no kernel computes TOPK_V2 x 1 (y), SignalEnergy x 1 (z)\n"]),
        (
            dense("float32"),
            ["not quantised (float32: FULLY_CONNECTED x 1 (y))", "representative_data"],
        ),
        (dense("float16"), ["not quantised (float16 weights", "--calibrate"]),
        (dense("int8"), ["not quantised (dynamic range: int8 weights", "tf.lite.Optimize"]),
        (cumsum, ["no kernel computes CUMSUM of float32 x 1 (net/sum)\n"]),
        (softmax, ["(SOFTMAX)", "types (int32 to int32)", "with int8 or int16 activations"]),
        (matmul("int16", "int8"), ["(int16, int8 to int16)", "with int8 activations"]),
        (matmul("uint8", "uint8"), ["(uint8, uint8 to uint8)", "quantise the\n  original model"]),
    ],
    ids=[
        "no kernel",
        "float32",
        "float16",
        "dynamic range",
        "floats of it",
        "types",
        "int16 by int8",
        "uint8",
    ],
)
def test_models_that_cannot_run_are_rejected_with_the_remedy(
    ethosu, model, tmp_path, function, words
):
    path, output = model(function), tmp_path / "out.tflite"
    code, out, err = ethosu("compile", path, "-o", output)
    assert (
        code == 3
        and out == ""
        and max(map(len, err.splitlines()[1:])) <= 100
        and not output.exists()
    )
    assert f"{path} can't run here: " in err
    for word in words:
        assert word in err
    assert ("not quantised" in err) == any("not quantised" in word for word in words)
    code, out, _ = ethosu("compile", path, "-o", output, "--force", "--json")
    assert code == 0 and output.is_file()
    assert words[0] in json.loads(out, parse_constant=pytest.fail)["refused"]


def space_to_depth(name, shape):
    """Make SPACE_TO_DEPTH with an input of this type."""

    def make(graph):
        x = graph.tensor(name, shape, "int8", 0.1, 3)
        s = graph.tensor("s", (1, 4, 1, 64), "int8", 0.1, 3)
        graph.operator("SPACE_TO_DEPTH", [x], [s], "SpaceToDepthOptions", blockSize=2)
        return [x], [s]

    return make


def test_an_operator_that_gets_another_shape_names_the_defect_of_vela(model):
    """An operator beside a RESHAPE gets its shape from Vela 5.2; the error names this defect."""
    before = ModelFile(model(space_to_depth("x", (1, 8, 2, 16))).read_bytes())
    after = ModelFile(model(space_to_depth("r", (1, 256))).read_bytes())
    load.prepare(before, before)
    words = "SPACE_TO_DEPTH 'r' of 1x256 instead of 'x' of 1x8x2x16: its known defect `shared-b"
    with pytest.raises(CannotRunError, match=re.escape(words)):
        load.prepare(before, after)


def test_a_model_for_the_cpu_alone_is_a_model(ethosu, model, tmp_path):
    source, output, rows = model(gather), tmp_path / "out.tflite", tmp_path / "in.npz"
    code, out, _ = ethosu("compile", source, "-o", output, "--selftest")
    assert code == 0 and "none: the CPU computes everything" in out
    np.savez(rows, **{"0": np.arange(64, dtype="int8").reshape(2, 1, 8, 4)})
    for where in ("sim", "qemu"):
        words = ["--input", rows, "--reference", source, "--on", where]
        assert ethosu("run", output, *words)[0] == 0
    look = ("check", output, "--html", tmp_path / "page.html", "--reference", source)
    measure = ("profile", output, "--on", "qemu", "--board", "MPS3_AN547")
    for words in (
        ("inspect", output, "--memory"),
        ("profile", output),
        ("inspect", output),
        look,
        measure,
    ):
        code, out, _ = ethosu(*words, "--json")
        assert code == 0
        json.loads(out, parse_constant=pytest.fail)
    data = json.loads(out)
    assert data["estimate"] is None and 0 < data["median_ms"] <= data["slowest_ms"]
    assert ethosu(*measure, "--save", tmp_path / "points.csv")[0] == 2, "no point without an NPU"
    with QemuBoard(Machine(romfs=romfs.build({"m.tflite": output.read_bytes()}))) as board:
        assert board.eval("__import__('ethosu').Model('/rom/m.tflite').selftest()") is True
    assert "never compiled" in ethosu("run", source, "--input", rows)[2]


def test_every_kernel_is_known_by_its_operator():
    graph = Graph("each kernel")
    x = graph.tensor("x", (1, 4), "int8", 1.0)
    graph.inputs = graph.outputs = [x]
    for name in (*c_runtime.operators(), "NoSuch", "RESHAPE"):
        graph.operator(name, [x], [x])
    (read,) = tflite.parse(write([graph], "a model"))
    assert len(read.operators) == len(c_runtime.operators()) + 2
    (missing,) = load.without_kernel(read)
    assert missing.name == "NoSuch"


def test_compile_compares_one_random_input(ethosu, small_models, tmp_path, monkeypatch):
    words = ("compile", small_models["small_cnn"], "-o", tmp_path / "out.tflite")
    code, out, _ = ethosu(*words)
    assert code == 0
    assert "checked    one random input: every value equals TFLite's reference kernels" in out
    run = simulation.outputs
    monkeypatch.setattr(
        simulation, "outputs", lambda *args: [[~each for each in step] for step in run(*args)]
    )
    code, _, err = ethosu(*words, "--quiet")
    assert code == 6 and "warning: wrong results: 10 of 10 values of one random input" in err


def test_an_inference_that_fails_while_compiling_ends_with_3(
    ethosu, small_models, tmp_path, monkeypatch
):
    def fail(*_):
        raise BoardError("the inference failed: NPU stopped at byte 324")

    monkeypatch.setattr(simulation, "outputs", fail)
    output = tmp_path / "out.tflite"
    code, _, err = ethosu("compile", small_models["small_cnn"], "-o", output)
    assert code == 3 and "can't run here: the inference failed: NPU stopped at byte 324" in err
    assert "--force" in err and not output.exists()
    code, out, _ = ethosu("compile", small_models["small_cnn"], "-o", output, "--force")
    assert code == 0 and output.exists() and "refused    " in out
