# SPDX-License-Identifier: MIT
"""`ethosu bisect` finds the layer in which a fault was planted."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import debug_table, vela
from ethosu_tools.errors import InputError
from ethosu_tools.make_model import NONE, SAME, Net
from ethosu_tools.tflite import parse

from host_tests.kit import vela_once
from host_tests.modules.ethosu.driver.streams import commands, npu_calls
from host_tests.tools.ethosu_tools.bisection import plant

NPU = "ethos-u55-128"
# dB; inputs from the whole range saturate many values of these small models.
TOLERANCE = ("--tolerance", "12")


def flipped(values):
    """Weights with other signs in the first channel."""
    values[: len(values) // 4] *= -1


def raised(values):
    """Biases of which one is larger."""
    values[3] += 20_000


# Layers of small_cnn: 0 CONV_2D, 1 DEPTHWISE_CONV_2D, 2 CONV_2D, 3 ADD, 4 MAX_POOL_2D, 5 CONV_2D,
# 6 AVERAGE_POOL_2D, 7 RESHAPE, 8 FULLY_CONNECTED, 9 SOFTMAX.
BEFORE_VELA = {
    "weight": (1, plant.contents(plant.WEIGHTS, "int8", flipped)),
    "bias": (5, plant.contents(plant.BIAS, "int32", raised)),
    "scale of weights": (2, plant.scale(plant.WEIGHTS, 1.7)),
    "scale of output": (3, plant.scale(None, 1.2)),
    "zero point": (0, plant.zero_point(9)),
    "activation bound": (5, plant.option("fusedActivationFunction", plant.RELU_N1_TO_1)),
    "activation of a sum": (3, plant.option("fusedActivationFunction", plant.RELU)),
    "weight of the last layer": (8, plant.contents(plant.WEIGHTS, "int8", flipped)),
    "factor of softmax": (9, plant.option("beta", 3.0)),
}
# Operation of the NPU, register, change; operations 0 to 6 are layers 0 to 6, 7 is layer 8.
AFTER_VELA = {
    "zero point": (5, 5, "OFM_ZERO_POINT", 7),
    "activation bound": (0, 0, "ACTIVATION_MIN", 40),
    "scale of a sum": (3, 3, "OPA_SCALE", -(1 << 28)),
    "zero point of an input": (2, 2, "IFM_ZERO_POINT", 11),
    "base of the weights' scales": (2, 2, "SCALE_BASE", 16),
    "first row": (4, 4, "IFM_BASE0", 64),
}


@pytest.fixture
def source(small_models):
    return small_models["small_cnn"]


@pytest.fixture
def bisect(ethosu, tmp_path):
    """Runs the command; returns the exit code and its data."""

    def run(*words):
        code, out, err = ethosu("bisect", *words, "-o", tmp_path / "found", "--json")
        assert err == ""
        return code, json.loads(out)

    return run


@pytest.fixture
def put(tmp_path):
    """Writes a model."""

    def write(name, data):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(data)
        return path

    return write


def expect(result, layer):
    """The command found this layer, and nothing else may be the cause."""
    code, data = result
    assert code == 6
    assert data["first"]["number"] == layer, data["first"]
    assert data["first"]["group"] == []
    return data


@pytest.mark.parametrize("name", BEFORE_VELA)
def test_in_one_of_two_models(source, put, bisect, name):
    layer, edit = BEFORE_VELA[name]
    changed = put("changed", plant.edited(source.read_bytes(), layer, edit))
    data = expect(bisect(source, changed), layer)
    assert data["operators"] == [layer] and data["reproduced"]
    parts = [parse(Path(data["files"][key]).read_bytes())[0] for key in ("model", "model_a")]
    assert [len(part.operators) for part in parts] == [1, 1]
    assert data["defects"] == []


@pytest.mark.parametrize("name", BEFORE_VELA)
def test_in_a_file_that_was_compiled_from_another_model(source, put, compiled, bisect, name):
    layer, edit = BEFORE_VELA[name]
    changed = compiled(put("changed", plant.edited(source.read_bytes(), layer, edit)), NPU)
    data = expect(bisect(source, changed), layer)
    assert not data["reproduced"], "this Vela compiles the layer right"
    assert "attach the model" in Path(data["files"]["report"]).read_text()


@pytest.mark.parametrize("name", AFTER_VELA)
def test_in_the_command_stream(source, put, compiled, bisect, name):
    layer, operation, register, change = AFTER_VELA[name]
    path = compiled(source, NPU)
    changed = put("changed", plant.register(path.read_bytes(), operation, register, change))
    data = expect(bisect(source, changed), layer)
    assert register in {row["register"] for row in data["registers"]}
    assert f"| {register} |" in Path(data["files"]["report"]).read_text()


def test_in_the_file_that_is_named_first(source, put, compiled, bisect):
    path = compiled(source, NPU)
    changed = put("changed", plant.register(path.read_bytes(), 5, "OFM_ZERO_POINT", 7))
    expect(bisect(changed, source), 5)
    expect(bisect(changed, "--source", source), 5)


def test_in_one_of_two_compiled_files(source, put, compiled, bisect):
    path = compiled(source, NPU)
    changed = put("changed", plant.register(path.read_bytes(), 5, "OFM_ZERO_POINT", 7))
    code, data = bisect(path, changed)
    assert code == 6 and data["first"]["name"] == "5 CONV_2D conv"
    assert {row["register"] for row in data["registers"]} == {"OFM_ZERO_POINT"}
    assert "files" not in data, "without the model before Vela nothing can be cut out"
    assert expect(bisect(path, changed, "--source", source), 5)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("table", [True, False])
def test_in_what_another_vela_writes(source, bisect, monkeypatch, npu, table):
    """This Vela gives depthwise convolutions a wrong zero point, wherever they are."""

    def run_vela(path, options, python=None):
        folder = Path(options[options.index("--output-dir") + 1])
        said = vela_once.run_vela(path, options)
        if python:
            assert python == "other/python"
            (made,) = folder.glob("*_vela.tflite")
            made.write_bytes(wrong_depthwise(made.read_bytes()))
        return said

    if not table:
        monkeypatch.setattr(debug_table, "make", lambda *_: None)
    monkeypatch.setattr(vela, "run_vela", run_vela)
    monkeypatch.setattr(vela, "release", lambda python=None: "0.1.0" if python else "5.2.0")
    words = (source, "--npu", npu, "--other-vela", "other/python")
    data = expect(bisect(*words), 1)
    assert data["operators"] == [1] and data["reproduced"]
    assert table or data["compared"] == 1, "only the output"
    assert "OFM_ZERO_POINT" in {row["register"] for row in data["registers"]}


def test_that_another_vela_cannot_compile(source, bisect, monkeypatch):
    """It fails with every depthwise convolution."""

    def run_vela(path, options, python=None):
        if python and b"depthwise" in path.read_bytes():
            raise InputError(f"Vela crashed on {path} (signal 11)")
        return vela_once.run_vela(path, options)

    monkeypatch.setattr(vela, "run_vela", run_vela)
    monkeypatch.setattr(vela, "release", lambda python=None: "0.1.0" if python else "5.2.0")
    data = expect(bisect(source, "--npu", NPU, "--other-vela", "other/python"), 1)
    assert "Vela crashed on" in data["first"]["error"]
    assert data["operators"] == [1] and data["reproduced"]


def wrong_depthwise(compiled):
    """The compiled model, OFM_ZERO_POINT changed before each depthwise convolution."""
    for call in npu_calls(compiled):
        last, stream = 0, bytearray(call.stream)
        for command in commands(call.stream):
            if command.code == 0x118:
                last = command.offset
            if command.code == 3 and last:
                (value,) = struct.unpack_from("<H", stream, last + 2)
                struct.pack_into("<H", stream, last + 2, (value + 30) & 0xFFFF)
        compiled = compiled.replace(call.stream, bytes(stream))
    return compiled


@pytest.mark.parametrize("words", [("--npu", NPU), ()], ids=["npu", "kernels"])
def test_beside_a_float_model(source, put, bisect, words):
    """The first layer below the tolerance, although those after it have noise, too."""
    real = put("float", plant.as_float(source.read_bytes()))
    code, data = bisect(real, source, *words, *TOLERANCE)
    assert (code, data["first"]) == (0, None)
    layer, edit = BEFORE_VELA["weight"]
    changed = put("changed", plant.edited(source.read_bytes(), layer, edit))
    data = expect(bisect(real, changed, *words, *TOLERANCE), layer)
    ratios = [row["difference"]["snr"] for row in data["layers"] if row["difference"]]
    assert ratios[0] > 15 > 10 > ratios[1] and data["reproduced"]
    assert {"model_a", "inputs_a"} <= data["files"].keys()


def test_by_name_if_the_models_have_other_operators(put, bisect):
    """The quantised model ends with a conversion that the float model does not have."""
    quantised, plain = (chain(with_conversion) for with_conversion in (True, False))
    real = put("float", plant.as_float(plain))
    assert bisect(real, put("same", quantised), *TOLERANCE)[0] == 0
    edit = plant.contents(plant.WEIGHTS, "int8", flipped)
    changed = put("changed", plant.edited(quantised, 1, edit))
    assert expect(bisect(real, changed, *TOLERANCE), 1)["first"]["name"] == "1 CONV_2D conv1"


def test_with_equal_values_if_the_models_have_other_operators(put, bisect):
    plain, longer = put("plain", chain(False)), chain(True)
    edit = plant.contents(plant.WEIGHTS, "int8", flipped)
    data = expect(bisect(plain, put("changed", plant.edited(longer, 1, edit))), 1)
    assert data["operators"] == [1] and data["reproduced"]


def chain(with_conversion):
    """Three convolutions."""
    net = Net("chain", 4)
    x = net.input((1, 8, 8, 4))
    for number in range(3):
        x = net.conv(x, 8, (3, 3), padding=SAME, activation=NONE)
        net.graph.tensors[x.tensor][0].name = f"conv{number}"
    return net.finish(net.to_uint8(x) if with_conversion else x)


def test_an_equal_model_has_no_difference(source, bisect, tmp_path):
    code, data = bisect(source, "--npu", NPU)
    assert (code, data["first"]) == (0, None)
    assert data["compared"] == 9 and not list(tmp_path.glob("found*"))


def test_in_user_inputs_only(source, put, bisect, tmp_path):
    """A bound that only the largest inputs reach."""
    edit = plant.option("fusedActivationFunction", 3)  # RELU6
    changed = put("changed", plant.edited(source.read_bytes(), 3, edit))
    quiet = tmp_path / "quiet.npz"
    np.savez(quiet, **{"0": np.full((2, 1, 16, 16, 3), -3, np.int8)})
    assert bisect(source, changed, "--inputs", quiet)[0] in (0, 6)
    data = expect(bisect(source, changed), 3)
    assert data["seed"] == 0
