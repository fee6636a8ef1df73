# SPDX-License-Identifier: MIT
"""Models of other formats: each is told what to do; Keras, SavedModel and ONNX are converted."""

import json
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import needs
import numpy as np
import pytest
from ethosu_tools import Model

CALIBRATE = "ethosu compile {path} --calibrate"


def archive(*names):
    def make(path):
        with zipfile.ZipFile(path, "w") as file:
            for name in names:
                file.writestr(name, "{}")

    return make


def holding(data):
    return lambda path: path.write_bytes(data)


def saved_model(path):
    path.mkdir()
    (path / "saved_model.pb").touch()


FORMATS = {
    "m.keras": (archive("config.json", "model.weights.h5"), "a Keras model: ", CALIBRATE),
    "m.h5": (holding(b"\x89HDF\r\n\x1a\n" + bytes(64)), "a Keras model (HDF5): ", CALIBRATE),
    "saved": (saved_model, "a SavedModel of TensorFlow: ", CALIBRATE),
    "m.onnx": (holding(b"\x08\x08\x12\x07pytorch"), "an ONNX model: ", CALIBRATE),
    "m.pt": (archive("m/data.pkl"), "PyTorch saved: ", "a .py that defines `model` and `inputs`"),
    "m.pth": (holding(b"\x80\x02."), "PyTorch saved: ", "`ethosu compile`"),
    "m.pb": (holding(b"\x0a\x05"), "a frozen graph of TensorFlow 1: ", "tf.compat.v1"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_its_sentence(ethosu, tmp_path, name):
    make, title, remedy = FORMATS[name]
    path = tmp_path / name
    make(path)
    for command in ("compile", "inspect", "plan"):
        code, _, err = ethosu(command, path)
        assert code in (2, 3) and err.count("\n") == 1, err
        assert f"{path} is " in err and title in err and remedy.format(path=path) in err


def test_a_program_is_not_compiled_again(ethosu, tmp_path):
    path = tmp_path / "m.pte"
    path.write_bytes(bytes(4) + b"ET12" + bytes(60))
    code, _, err = ethosu("compile", path)
    assert code == 3 and "ExecuTorch program, which its exporter has compiled" in err


def test_what_cannot_be_converted(ethosu, tmp_path):
    path, samples = tmp_path / "m.onnx", tmp_path / "samples.npz"
    FORMATS["m.onnx"][0](path)
    np.savez(samples, **{"0": np.zeros((2, 4), "f4")})
    words = "compile", path, "--calibrate"
    code, _, err = ethosu(*words, tmp_path / "none.npz")
    assert code == 3 and "none.npz cannot be read" in err
    code, _, err = ethosu(*words, samples, "--python", "/no/python")
    assert code == 4 and "/no/python cannot be run" in err
    code, _, err = ethosu(*words, samples, "--python", "/usr/bin/python3")
    assert code == 4 and "has no onnx2tf; install it there: pip install 'ethosu-tools[conv" in err


FAKE = """\
from types import SimpleNamespace as Names
import json, pathlib, sys
class Converter:
    def from_keras_model(self, model):
        self.target_spec = Names()
        return self
    def convert(self):
        def shapes(row):
            if isinstance(row, dict): return {{key: row[key].shape for key in row}}
            return [array.shape for array in row]
        rows = [shapes(row) for row in self.representative_dataset()]
        print(json.dumps(rows), file=open({log!r}, "w"))
        if len(rows) == 1: raise ValueError("one sample is too few")
        return pathlib.Path({result!r}).read_bytes()
lite = Names(TFLiteConverter=Converter(), Optimize=Names(DEFAULT=1),
             OpsSet=Names(TFLITE_BUILTINS_INT8=1))
inputs = [Names(name="zoom"), Names(name="added")]
keras = Names(models=Names(load_model=lambda path: Names(inputs=inputs)))
int8 = 1
"""


def test_samples_reach_the_converter_and_its_model_the_compiler(ethosu, tmp_path, small_models):
    """A stand-in for TensorFlow, which is no requirement of the tests."""
    log, path, samples = tmp_path / "log", tmp_path / "m.keras", tmp_path / "samples.npz"
    FORMATS["m.keras"][0](path)
    fake = FAKE.format(log=str(log), result=str(small_models["small_cnn"]))
    (tmp_path / "tensorflow.py").write_text(fake)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    np.savez(samples, **{"0": np.zeros((3, 16, 16, 3), "f4"), "1": np.zeros((3, 2))})
    words = ["compile", path, "--calibrate", samples, "--python", python]
    code, out, err = ethosu(*words, "-o", tmp_path / "out.tflite")
    assert (code, err) == (0, "") and "npu        ethos-u55-128" in out
    assert json.loads(log.read_text()) == [[[1, 16, 16, 3], [1, 2]]] * 3
    np.savez(samples, added=np.zeros((3, 2)), zoom=np.zeros((3, 16, 16, 3), "f4"))
    assert ethosu(*words, "-o", tmp_path / "out.tflite")[0] == 0
    assert json.loads(log.read_text()) == [{"zoom": [1, 16, 16, 3], "added": [1, 2]}] * 3
    np.savez(samples, **{"0": np.zeros((1, 4))})
    code, _, err = ethosu(*words, "-o", tmp_path / "none.tflite")
    assert code == 3 and f"does not convert {path}: ValueError: one sample is too few" in err
    np.savez(samples, **{"0": np.zeros((1, 4)), "1": np.zeros((2, 4))})
    code, _, err = ethosu(*words)
    assert code == 3 and "holds no samples, or not as many for each input" in err


KERAS = """\
import numpy as np, tensorflow as tf
tf.keras.utils.set_random_seed(1)
layers = tf.keras.layers
model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="relu"),
                             layers.GlobalAveragePooling2D(), layers.Dense(4), layers.Softmax()])
model.save("m.keras"); model.save("m.h5"); model.export("saved")
np.savez("samples.npz", **{"0": np.random.rand(20, 8, 8, 3).astype("f4")})
picture, a = tf.keras.Input((8, 8, 3), name="picture"), tf.keras.Input((5,), name="a")
means = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3)(picture))
model = tf.keras.Model([picture, a], layers.Dense(4)(layers.Concatenate()([means, a])))
model.save("two.keras"); model.export("two")
np.savez("named.npz", a=np.random.rand(20, 5), picture=np.random.rand(20, 8, 8, 3))
"""


@pytest.fixture
def tensorflow():
    """A Python that has TensorFlow, onnx2tf and onnxruntime."""
    return needs.python_with("TENSORFLOW", "TENSORFLOW_PYTHON")


@pytest.mark.slow
def test_with_tensorflow(ethosu, tmp_path, tensorflow):
    python = tensorflow
    subprocess.run([python, "-c", KERAS], cwd=tmp_path, check=True, capture_output=True)
    models = dict.fromkeys(("m.keras", "m.h5", "saved"), "samples.npz")
    models |= dict.fromkeys(("two.keras", "two"), "named.npz")
    for name, samples in models.items():
        output = tmp_path / f"{Path(name).name}.tflite"
        words = ["--calibrate", tmp_path / samples, "--python", python, "-o", output]
        code, out, err = ethosu("compile", tmp_path / name, *words)
        assert (code, err) == (0, "") and "input  0   int8 [1, 8, 8, 3]" in out


TRAINED = """\
import tensorflow as tf
import numpy as np
x_train = np.random.default_rng(1).random((256, 49, 10, 1))
labels = (x_train.mean(axis=(1, 2, 3)) > 0.5).astype(int)
layers = tf.keras.layers
model = tf.keras.Sequential([tf.keras.Input((49, 10, 1)), layers.Conv2D(8, 3, activation="relu"),
                             layers.Flatten(), layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x_train, labels, verbose=0)
"""


@pytest.mark.slow
def test_the_tutorial_from_a_trained_model(ethosu, repo, tmp_path, monkeypatch, tensorflow):
    """The page's own lines, on a model that was trained for a moment."""
    text = (repo / "docs/tutorial.md").read_text()
    (save,) = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (command,) = re.findall(r"^    ethosu (compile kws\.keras .*)$", text, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    subprocess.run([tensorflow, "-c", TRAINED + save], check=True, capture_output=True)
    code, out, err = ethosu(*shlex.split(command), "--python", tensorflow)
    assert (code, err) == (0, "") and "npu        ethos-u55-128" in out
    assert ethosu("validate", "kws_vela.tflite", "samples.npz")[0] == 0
    assert ethosu("bench", "kws_vela.tflite", "--on", "sim")[0] == 0


# Two inputs in another order than that of their names, and of any batch; Y is of each sample.
ONNX = """\
import numpy as np, onnx, onnxruntime
from onnx import TensorProto, helper, numpy_helper
rng = np.random.default_rng(1)
def constant(name, *shape):
    return numpy_helper.from_array(rng.normal(0, 0.4, shape).astype("f4"), name)
FLOAT = TensorProto.FLOAT
inputs = [helper.make_tensor_value_info("image/b:0", FLOAT, ["N", 3, 16, 12]),
          helper.make_tensor_value_info("a", FLOAT, ["N", 8])]
nodes = [helper.make_node("Conv", ["image/b:0", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("Relu", ["c"], ["r"]),
         helper.make_node("GlobalAveragePool", ["r"], ["p"]),
         helper.make_node("Flatten", ["p"], ["f"]),
         helper.make_node("Add", ["f", "a"], ["s"]),
         helper.make_node("Gemm", ["s", "g", "h"], ["y"], transB=1)]
graph = helper.make_graph(
    nodes, "g", inputs, [helper.make_tensor_value_info("y", FLOAT, ["N", 4])],
    [constant("w", 8, 3, 3, 3), constant("b", 8), constant("g", 4, 8), constant("h", 4)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.save(model, "m.onnx")
x = {"0": rng.random((20, 3, 16, 12), "f4"), "1": rng.random((20, 8), "f4")}
np.savez("samples.npz", **x)
np.savez("named.npz", **{"a": x["1"], "image/b:0": x["0"]})
np.savez("last.npz", **{"0": np.moveaxis(x["0"], 1, -1), "1": x["1"]})
run = onnxruntime.InferenceSession("m.onnx").run
np.save("y.npy", run(None, {"image/b:0": x["0"], "a": x["1"]})[0])
"""


@pytest.mark.slow
def test_with_onnx2tf(ethosu, tmp_path, tensorflow):
    """The converted model computes what the ONNX model does, but for its quantisation."""
    subprocess.run([tensorflow, "-c", ONNX], cwd=tmp_path, check=True, capture_output=True)
    words = "compile", tmp_path / "m.onnx", "--python", tensorflow, "--calibrate"
    code, _, err = ethosu(*words, tmp_path / "last.npz")
    assert code == 3 and "[20, 16, 12, 3], [20, 8], the inputs of the ONNX model [[0, 3, 16" in err
    output, named = tmp_path / "out.tflite", tmp_path / "named.tflite"
    for name, path in (("samples.npz", output), ("named.npz", named)):
        code, _, err = ethosu(*words, tmp_path / name, "-o", path)
        assert (code, err) == (0, "")
    assert named.read_bytes() == output.read_bytes()
    samples, expected = np.load(tmp_path / "last.npz"), np.load(tmp_path / "y.npy")
    with Model(output) as model:
        image, added = sorted(range(2), key=lambda index: -len(model.inputs[index].shape))
        for number, want in enumerate(expected):
            feed = {image: samples["0"][number], added: samples["1"][number]}
            (found,) = model.predict([feed[0][None], feed[1][None]], real=True)
            np.testing.assert_allclose(found[0], want, atol=0.05)
