# SPDX-License-Identifier: MIT
"""Models of other formats get advice; Keras, SavedModel and ONNX are converted."""

import gzip
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import Model
from ethosu_tools.base import other_python
from ethosu_tools.compile.convert import converter
from ethosu_tools.model import SOURCE, ModelFile
from ethosu_tools.model.tflite import describe
from ethosu_tools.model.tflite.metadata import get

from host_tests.kit import needs
from host_tests.kit.stand_ins import program
from host_tests.tools.ethosu_tools.debug.advice.branches import Branches

CALIBRATE = "ethosu compile {path} --calibrate"
WITH_STAND_IN = ("compile", "m.keras", "--calibrate", "samples.npz", "--python", "./python")


def ramp(shape):
    return np.linspace(0, 1, math.prod(shape), dtype="f4").reshape(shape)


def announced(err):
    """Check that only the start of the conversion, which can take minutes, is printed."""
    return err.startswith("ethosu: converting ") and err.count("\n") == 1


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


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
FORMATS = {
    "m.keras": (archive("config.json", "model.weights.h5"), "a Keras model: ", CALIBRATE),
    "m.h5": (holding(b"\x89HDF\r\n\x1a\n" + bytes(64)), "a Keras model (HDF5): ", CALIBRATE),
    "saved": (saved_model, "a SavedModel of TensorFlow: ", CALIBRATE),
    "m.onnx": (holding(b"\x08\x08\x12\x07pytorch"), "an ONNX model: ", CALIBRATE),
    "m.pt": (
        archive("m/data.pkl"),
        "saved by PyTorch: ",
        "a .py that defines `model` and `inputs`",
    ),
    "m.pth": (holding(b"\x80\x02."), "saved by PyTorch: ", "`ethosu compile`"),
    "m.pb": (holding(b"\x0a\x05"), "a frozen graph of TensorFlow 1: ", "tf.compat.v1"),
    # Files that a download or a clone leaves in place of a model.
    "lfs.tflite": (holding(LFS), "a pointer of Git LFS", "`git lfs pull`"),
    "page.tflite": (holding(b"\n<!DOCTYPE html><html>"), "a web page", '"Raw"'),
    "m.tflite.gz": (
        holding(gzip.compress(b"TFL3")),
        "compressed by gzip",
        "gunzip -k -S '' {path}",
    ),
    "m.zip": (archive("m.tflite"), "a ZIP archive", "unpack it"),
    "raw.npz": (archive("cmd_data.npy", "weight_data.npy"), "Vela's raw output", ""),
    "m.uf2": (holding(b"UF2\n" + bytes(60)), "firmware in the format UF2", "drive"),
    "m.json": (holding(b'{\n  "type": "micro", "model": "m.tflite"}'), "JSON", "it names"),
    "empty.tflite": (holding(b""), "empty", "copy or download it again"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_its_own_error(ethosu, tmp_path, name):
    make, title, remedy = FORMATS[name]
    path = tmp_path / name
    make(path)
    for command in ("compile", "inspect", "profile"):
        code, _, err = ethosu(command, path)
        assert code in (2, 3) and err.count("\n") == 1, err
        assert f"{path} is " in err and title in err and remedy.format(path=path) in err


@pytest.mark.parametrize("form", ["xxd", "zephyr", "decimal"])
def test_a_model_in_c_source_is_read(ethosu, tmp_path, small_models, form):
    """A model in C source, as in TFLM, Zephyr and Arduino sketches, is found among other arrays."""

    def write(path, data):
        words = [str(byte) if form == "decimal" else f"{byte:#04x}" for byte in data]
        lines = ",\n  ".join(", ".join(words[at : at + 12]) for at in range(0, len(words), 12))
        head, size = {
            "xxd": ("unsigned char small_cnn_tflite[] = {", f"unsigned int len = {len(data)};"),
            "zephyr": ("const uint8_t model[] __attribute__((aligned(16))) = { /* TFL3 */", ""),
            "decimal": ("alignas(8) const unsigned char g_model[] = { // it's = {1}", ""),
        }[form]
        path.write_text(
            f"static const int8_t input[] = {{1, -2, 3}};\n{head}\n  {lines},\n}};\n{size}"
        )

    path, compiled = tmp_path / "model.h", tmp_path / "model_vela.tflite"
    write(path, small_models["small_cnn"].read_bytes())
    code, _, err = ethosu("compile", path, "--npu", "ethos-u55-128", "-o", compiled)
    assert code == 0, err
    in_c = tmp_path / "compiled.cc"
    write(in_c, compiled.read_bytes())
    for file in (compiled, in_c):
        code, out, err = ethosu("run", file, "--reference", path, "--on", "sim")
        assert code == 0 and "every value equals" in out, err
    code, _, err = ethosu("deploy", in_c, "-o", tmp_path / "rom.img")
    assert code == 3 and "compiled.cc is C source with a model as an array" in err
    assert ModelFile(in_c).named_files("m") == {"m.tflite": compiled.read_bytes()}


def test_c_source_without_a_model_is_no_model(ethosu, tmp_path):
    path = tmp_path / "model.h"
    for text in ("unsigned char a[] = {1, 2, 3};", "int a[] = {0x100, 2};", "x = {,,}", "{" * 9999):
        path.write_text(text)
        code, _, err = ethosu("inspect", path)
        assert code == 3 and err.count("\n") == 1 and "nor C source with one as an array" in err


def test_a_program_is_not_compiled_again(fails, tmp_path):
    path = tmp_path / "m.pte"
    path.write_bytes(bytes(4) + b"ET12" + bytes(60))
    fails("compile", path, code=3, said="ExecuTorch program, which is already compiled")


def test_what_cannot_be_converted(ethosu, fails, tmp_path):
    path, samples = tmp_path / "m.onnx", tmp_path / "samples.npz"
    FORMATS["m.onnx"][0](path)
    np.savez(samples, **{"0": ramp((2, 4))})
    words = "compile", path, "--calibrate"
    fails(*words, tmp_path / "none.npz", code=3, said="none.npz cannot be read")
    fails(*words, samples, "--python", "/no/python", code=4, said="/no/python cannot be run")
    code, _, err = ethosu(*words, samples, "--python", "/usr/bin/python3")
    assert code == 4 and "/usr/bin/python3 cannot load onnx2tf: No module named 'onnx2tf'" in err
    assert "with `ethosu doctor --install convert`, or select another Python with --python" in err


def test_archives_are_checked_before_tensorflow_unpacks_them(fails, tmp_path):
    path, samples = tmp_path / "m.keras", tmp_path / "samples.npz"
    FORMATS["m.keras"][0](path)
    words = "compile", path, "--python", "/bin/false", "--calibrate", samples
    samples.write_bytes(b"PK\3\4")
    fails(*words, code=3, said="samples.npz is not a valid .npz file")
    np.savez(samples, **{"0": ramp((2, 4))})
    path.write_bytes(path.read_bytes().replace(b"{}", b"{?"))
    fails(*words, code=3, said="m.keras is damaged: Bad CRC-32")


FAKE = """\
from types import SimpleNamespace as Names
import json, pathlib, sys
utils = Names(read_model_from_bytearray=lambda data: Names(signatureDefs=[]))
sys.modules["tensorflow.lite.tools"] = Names(flatbuffer_utils=utils)
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
        if len(rows) == 2: sys.exit("set converter._experimental_lower_tensor_list_ops = False")
        return pathlib.Path({result!r}).read_bytes()
lite = Names(TFLiteConverter=Converter(), Optimize=Names(DEFAULT=1),
             OpsSet=Names(TFLITE_BUILTINS_INT8=1))
inputs = [Names(name="zoom", shape=(None, 16, 16, 3)), Names(name="added", shape=(None, 2))]
keras = Names(models=Names(load_model=lambda path: Names(inputs=inputs, get_config=dict)))
int8 = 1
"""


@pytest.fixture
def stand_in(tmp_path, small_models, monkeypatch):
    """Make a Python with a stand-in for TensorFlow, and m.keras, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    fake = FAKE.format(log=str(tmp_path / "log"), result=str(small_models["small_cnn"]))
    Path("fake").mkdir()
    Path("fake/tensorflow.py").write_text(fake)
    text = f'PYTHONPATH={tmp_path}/fake exec {sys.executable} "$@"\n'
    python = program(tmp_path / "python", text, "/bin/sh")
    FORMATS["m.keras"][0](Path("m.keras"))
    np.savez("samples.npz", **{"0": ramp((3, 16, 16, 3)), "1": ramp((3, 2))})
    return python


def test_the_quantised_model_is_kept_and_is_a_reference(
    ethosu, fails, stand_in, small_models, inputs
):
    code, out, err = ethosu(*WITH_STAND_IN, "-o", "made/out.tflite")
    assert code == 0 and announced(err) and "quantised  made/out_int8.tflite" in out
    kept = Path("made/out_int8.tflite")
    assert describe(kept).inputs == describe(small_models["small_cnn"]).inputs
    code, out, _ = ethosu("run", "made/out.tflite", "--input", inputs(kept), "--reference", kept)
    assert code == 0 and "every value equals" in out
    code, _, err = ethosu(
        "run", "made/out.tflite", "--input", inputs(kept), "--reference", "m.keras"
    )
    assert code == 3 and "keeps the quantised model as NAME_int8.tflite" in err
    assert ethosu(*WITH_STAND_IN, "-o", "made/out.tflite")[0] == 0, "its own file may be replaced"
    Path("m_int8.tflite").write_bytes(small_models["small_cnn"].read_bytes())
    fails(*WITH_STAND_IN, code=2, said="would overwrite m_int8.tflite; move that")


def test_the_quantised_model_of_one_that_cannot_run_is_kept(ethosu, fails, stand_in, small_models):
    """The converted model is kept for other tools, but an earlier pair of files stays a pair."""
    model = Branches()
    model.reverse("backwards", (1, 4, 6, 3), (1, 2))
    fake, kept = Path("fake/tensorflow.py"), Path("m_int8.tflite")
    right, wrong = fake.read_text(), Path("reverse.tflite")
    wrong.write_bytes(model.data())
    fake.write_text(right.replace(str(small_models["small_cnn"]), str(wrong.resolve())))
    fails(*WITH_STAND_IN, code=3, said=("REVERSE_V2", "the quantised model is m_int8.tflite"))
    assert describe(kept).inputs == describe(wrong).inputs and not Path("m_vela.tflite").exists()
    fake.write_text(right)
    assert ethosu(*WITH_STAND_IN)[0] == 0
    before = kept.read_bytes()
    fake.write_text(right.replace(str(small_models["small_cnn"]), str(wrong.resolve())))
    fails(*WITH_STAND_IN, code=3, said="m_int8.tflite is still that of m_vela.tflite")
    assert kept.read_bytes() == before


def test_the_quantised_model_is_written_with_what_was_compiled_of_it(ethosu, fails, stand_in):
    """A failed compilation keeps the previous pair of files; another -o makes a separate pair."""
    assert ethosu(*WITH_STAND_IN)[0] == 0
    pair = [Path("m_vela.tflite"), Path("m_int8.tflite")]
    before = [(path.read_bytes(), path.stat().st_ino) for path in pair]
    assert get(before[1][0], SOURCE) == b"m.keras"
    code, _, err = ethosu(*WITH_STAND_IN, "--vela=--nonsense")
    assert code and str(Path(err)).count("ethosu-") == 0, err
    Path("folder").mkdir()
    fails(*WITH_STAND_IN, "-o", "folder", code=3, said="folder cannot be written: it is a folder")
    assert not Path("folder_int8.tflite").exists() and not list(Path().glob(".*.part"))
    assert ethosu(*WITH_STAND_IN, "-o", "y.tflite")[0] == 0 and Path("y_int8.tflite").is_file()
    assert [(path.read_bytes(), path.stat().st_ino) for path in pair] == before


def test_a_model_that_is_missing_or_damaged_is_named(fails, stand_in):
    Path("cut.keras").write_bytes(Path("m.keras").read_bytes()[:20])
    Path("bad.onnx").write_bytes(b"garbage")
    Path("empty").mkdir()
    damaged = "it is damaged, or in another format"
    for name, message in {
        "nope.keras": "nope.keras cannot be read: No such file or directory",
        "nope.onnx": "nope.onnx cannot be read: No such file or directory",
        "cut.keras": f"cut.keras is not a valid Keras model: {damaged}",
        "bad.onnx": f"bad.onnx is not a valid ONNX model: {damaged}",
        "empty": "empty is not a SavedModel: saved_model.pb is missing",
        "samples.npz": "samples.npz is an archive of arrays (.npz), not a model",
    }.items():
        fails("compile", name, "--calibrate", "samples.npz", code=3, said=message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "1 in samples.npz has 2 NaN or infinite values among 6"),
        (0.5, "all values of 1 in samples.npz are 0.5: quantisation derives the input's"),
        ("a", "1 in samples.npz must be numbers, with the samples as the first"),
    ],
)
def test_samples_without_a_range_are_refused(fails, stand_in, value, message):
    added = np.full((3, 2), value) if value == value else ramp((3, 2))
    if value != value:
        added[1:, 0] = np.nan, np.inf
    np.savez("samples.npz", **{"0": ramp((3, 16, 16, 3)), "1": added})
    fails(*WITH_STAND_IN, code=3, said=message)
    assert not Path("m_int8.tflite").exists()


def test_the_environment_of_setup_is_found_until_other_releases_are_needed(
    ethosu, stand_in, tmp_path, monkeypatch
):
    folder = tmp_path / "data/ethosu/convert"
    (folder / "bin").mkdir(parents=True)
    words = ["compile", "m.keras", "--calibrate", "samples.npz"]
    stand_in.rename(folder / "bin/python")
    code, _, err = ethosu(*words)
    assert (
        code == 4
        and "No module named 'tensorflow'. Create an environment with "
        "`ethosu doctor --install convert`"
        in err
    )
    other_python.mark("convert")
    assert ethosu(*words)[0] == 0
    monkeypatch.setattr(other_python, "pins", lambda _: ["tensorflow==9"])
    assert ethosu(*words)[0] == 4


def test_samples_reach_the_converter_and_its_model_the_compiler(ethosu, fails, tmp_path, stand_in):
    """Samples reach the converter, here a stand-in, and its model reaches the compiler."""
    log, path, samples = tmp_path / "log", tmp_path / "m.keras", tmp_path / "samples.npz"
    words = ["compile", path, "--calibrate", samples, "--python", stand_in]
    code, out, err = ethosu(*words, "-o", tmp_path / "out.tflite")
    assert code == 0 and announced(err) and "npu        ethos-u55-128" in out
    assert json.loads(log.read_text()) == [[[1, 16, 16, 3], [1, 2]]] * 3
    np.savez(samples, added=ramp((3, 2)), zoom=ramp((3, 16, 16, 3)))
    assert ethosu(*words, "-o", tmp_path / "out.tflite")[0] == 0
    assert json.loads(log.read_text()) == [{"zoom": [1, 16, 16, 3], "added": [1, 2]}] * 3
    np.savez(samples, zoom=ramp((3, 3, 16, 16)), added=ramp((3, 2)))
    err = fails(*words, code=3, said="must have shape [samples, 16, 16, 3], found [3, 3, 16, 16]")
    assert "transpose it with np.transpose(x, (0, 2, 3, 1))" in err
    for key in ("2", "image"):
        np.savez(samples, **{"0": ramp((3, 4)), key: ramp((3, 4))})
        err = fails(*words, code=3, said="must have the keys 0 (zoom), 1 (added), numbers or names")
        assert f"found 0, {key}" in err
    np.savez(samples, **{"0": ramp((1, 16, 16, 3)), "added": ramp((1, 2)), "labels": np.zeros(1)})
    code, _, err = ethosu(*words, "-o", tmp_path / "none.tflite")
    assert code == 3 and f"could not convert {path}: ValueError: one sample is too few" in err
    np.savez(samples, **{"0": ramp((1, 4)), "1": ramp((2, 4))})
    fails(*words, code=3, said="has no samples, or a different number for each input")
    np.savez(samples, **{"0": ramp((2, 16, 16, 3)), "1": ramp((2, 2))})
    fails(*words, code=3, said=("loops, from LSTM or GRU layers.", "batch_size=1"))


def test_loops_are_unrolled_for_a_batch_of_one():
    def layers(unroll, batch):
        cell = {"class_name": "LSTM", "config": {"units": 6, "unroll": unroll}}
        wrapped = {"class_name": "Bidirectional", "config": {"layer": cell}}
        first = {"class_name": "InputLayer", "config": {"batch_shape": (batch, 12, 5)}}
        return {"layers": [first, {"config": {"layers": [wrapped]}}], "name": None}

    assert converter._unroll(layers(False, None)) == (layers(True, 1), 1)
    for config in (layers(True, 8), {"layers": [{"batch_shape": None}]}):
        assert converter._unroll(config) == (config, 0)


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
model = tf.keras.Sequential([tf.keras.Input((6, 5)), layers.LSTM(4, return_sequences=True),
                             layers.GRU(4), layers.Dense(3)])
model.save("loops.keras"); model.save("loops.h5"); model.export("loops")
x = np.random.rand(20, 6, 5).astype("f4")
np.savez("loops.npz", **{"0": x}); np.save("loops.npy", model.predict(x, verbose=0))
"""


@pytest.fixture
def tensorflow():
    """Return a Python that has TensorFlow, onnx2tf and onnxruntime."""
    return needs.python_with("convert", "TENSORFLOW_PYTHON")


@pytest.mark.slow
def test_with_tensorflow(ethosu, tmp_path, tensorflow):
    python = tensorflow
    subprocess.run([python, "-c", KERAS], cwd=tmp_path, check=True, capture_output=True)
    models = dict.fromkeys(("m.keras", "m.h5", "saved"), "samples.npz")
    models |= dict.fromkeys(("two.keras", "two"), "named.npz")
    models |= dict.fromkeys(("loops.keras", "loops.h5"), "loops.npz")
    for name, samples in models.items():
        output = tmp_path / f"{Path(name).name}.tflite"
        words = ["--calibrate", tmp_path / samples, "--python", python, "-o", output]
        code, _, err = ethosu("compile", tmp_path / name, *words)
        assert code == 0 and announced(err), name
        names = {each.name for each in describe(output).inputs}
        assert not any(":" in each or "serving" in each for each in names), names
        if samples == "named.npz":
            assert names == {"picture", "a"}
    code, _, err = ethosu("compile", tmp_path / "loops", *words[:4])
    assert code == 3 and "has loops, from LSTM or GRU layers. Save the Keras model" in err
    file = np.load(tmp_path / "loops.npz")["0"], np.load(tmp_path / "loops.npy")
    with Model(tmp_path / "loops.keras.tflite") as model:
        for x, want in zip(*file, strict=True):
            np.testing.assert_allclose(model.predict([x[None]], real=True)[0][0], want, atol=0.05)


# A model with two inputs, not in the order of their names, and any batch size; Y is per sample.
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
    """The converted model computes the same as the ONNX model, except for quantisation."""
    subprocess.run([tensorflow, "-c", ONNX], cwd=tmp_path, check=True, capture_output=True)
    words = "compile", tmp_path / "m.onnx", "--python", tensorflow, "--calibrate"
    code, _, err = ethosu(*words, tmp_path / "last.npz")
    assert code == 3 and "[samples, 3, 16, 12], found [20, 16, 12, 3]" in err
    assert "np.transpose(x, (0, 3, 1, 2))" in err
    output, named = tmp_path / "out.tflite", tmp_path / "named.tflite"
    for name, path in (("samples.npz", output), ("named.npz", named)):
        code, _, err = ethosu(*words, tmp_path / name, "-o", path)
        assert code == 0 and announced(err)
    assert named.read_bytes() == output.read_bytes()
    found = describe(output)
    assert {each.name for each in found.inputs} == {"image/b:0", "a"}
    assert [each.name for each in found.outputs] == ["y"]
    samples, expected = np.load(tmp_path / "last.npz"), np.load(tmp_path / "y.npy")
    with Model(output) as model:
        image, added = sorted(range(2), key=lambda index: -len(model.inputs[index].shape))
        for number, want in enumerate(expected):
            feed = {image: samples["0"][number], added: samples["1"][number]}
            (found,) = model.predict([feed[0][None], feed[1][None]], real=True)
            np.testing.assert_allclose(found[0], want, atol=0.05)
