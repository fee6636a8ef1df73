# SPDX-License-Identifier: MIT
"""`ethosu bisect` finds the layer in which a fault was planted."""

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile import vela
from ethosu_tools.debug.bisection import sides
from ethosu_tools.model import debug_table
from ethosu_tools.model.make_model import NONE, SAME, Net
from ethosu_tools.model.tflite import parse

from host_tests.conformance.generator import coverage
from host_tests.kit.models import vela_once
from host_tests.modules.ethosu.driver.streams import commands, npu_calls
from host_tests.tools.ethosu_tools.debug.bisection import plant
from host_tests.tools.ethosu_tools.debug.bisection.test_observe import with_fused

NPU = "ethos-u55-128"
# Tolerance in dB; inputs from the whole range saturate many values of these small models.
TOLERANCE = ("--tolerance", "12")


def flipped(values):
    """Invert the signs of weights in the first channel."""
    values[: len(values) // 4] *= -1


def raised(values):
    """Increase one bias."""
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
# The kind of difference that is named, by a word of these names.
WHAT = {
    **{"scale": "scale of ", "zero point": "zero point of ", "weight": "contents of "},
    **{"bias": "contents of ", "activation": "parameter fused", "factor": "parameter beta"},
}
# Operation of the NPU, register, change; operations 0 to 6 are layers 0 to 6, 7 is layer 8.
AFTER_VELA = {
    "zero point": (5, 5, "OFM_ZERO_POINT", 7),
    "activation bound": (0, 0, "ACTIVATION_MIN", 40),
    "scale of a sum": (3, 3, "OPA_SCALE", -(1 << 28)),
    "zero point of an input": (2, 2, "IFM_ZERO_POINT", 11),
    "base of the weights' scales": (2, 2, "SCALE_BASE", 16),
    "first row": (4, 4, "IFM_BASE0", 64),
    "size of a window": (6, 6, "KERNEL_HEIGHT_M1", -1),
}


@dataclass(frozen=True)
class Fault:
    """A register that a release of Vela sets wrongly before each operation of a kind."""

    operation: str
    register: str
    on_u85: str  # its name there
    change: int
    layer: int  # the first one of small_cnn with such an operation

    def put(self, compiled):
        """Change the last such command before each operation of a compiled model in place."""
        for call in npu_calls(compiled):
            last, stream = None, bytearray(call.stream)
            for command in commands(call.stream):
                name = coverage.NAMES[command.code]
                last = command if name == self.register else last
                if name == self.operation and last:
                    at, kind = (2, "<H") if last.payload is None else (4, "<I")
                    (value,) = struct.unpack_from(kind, stream, last.offset + at)
                    value = (value + self.change) % (1 << 8 * struct.calcsize(kind))
                    struct.pack_into(kind, stream, last.offset + at, value)
                    last = None
            compiled = compiled.replace(call.stream, bytes(stream))
        return compiled


FAULTS = (
    Fault("DEPTHWISE", "OFM_ZERO_POINT", "OFM_ZERO_POINT", 30, 1),
    Fault("ELEMENTWISE", "OPA_SCALE", "IFM_SCALE", -(1 << 28), 3),
)


@pytest.fixture
def source(small_models):
    return small_models["small_cnn"]


@pytest.fixture
def bisect(ethosu, tmp_path):
    """Run the command; returns the exit code and its data."""

    def run(*words):
        code, out, err = ethosu("bisect", *words, "-o", tmp_path / "found", "--json")
        assert err == ""
        return code, json.loads(out)

    return run


@pytest.fixture
def put(tmp_path):
    """Write a model."""

    def write(name, data):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(data)
        return path

    return write


def expect(result, layer):
    """Check that the command found this layer as the only possible cause."""
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
    change = data["changes"][0]
    assert change["layer"].split()[0] == str(layer)
    assert change["what"].startswith(next(what for key, what in WHAT.items() if key in name))
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
    assert data["registers_of_a"] == f"what Vela {vela.release()} writes for A"
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
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.operation)
def test_in_what_another_vela_writes(source, bisect, monkeypatch, npu, table, fault):
    """A register that a Vela sets wrongly is found, wherever the operation is."""
    other_vela(monkeypatch, fault)
    if not table:
        monkeypatch.setattr(debug_table, "make", lambda *_: None)
    words = (source, "--npu", npu, "--other-vela", "other/python")
    data = expect(bisect(*words), fault.layer)
    assert data["operators"] == [fault.layer] and data["reproduced"]
    assert data["judgement"] == "A equals TFLite's reference kernels"
    assert data["judgement"] in Path(data["files"]["report"]).read_text()
    assert table or data["compared"] == 1, "only the output"
    register = fault.on_u85 if "u85" in npu else fault.register
    assert register in {row["register"] for row in data["registers"]}


def other_vela(monkeypatch, fault):
    """Make `--other-vela other/python` this Vela with a fault."""

    def run_vela(path, options, python=None):
        folder = Path(options[options.index("--output-dir") + 1])
        said = vela_once.run_vela(path, options)
        if python:
            assert python == "other/python"
            (made,) = folder.glob("*_vela.tflite")
            made.write_bytes(fault.put(made.read_bytes()))
        return said

    monkeypatch.setattr(vela, "run_vela", run_vela)
    monkeypatch.setattr(vela, "release", lambda python=None: "0.1.0" if python else "5.2.0")


@pytest.mark.parametrize("recompiled", [True, False])
def test_beside_values_that_are_seen_wrongly(
    source, put, compiled, bisect, monkeypatch, recompiled
):
    """A fault in layer 3 is found, although the observed values of layer 1 are wrong."""
    seen = sides.values

    def values(*arguments):
        found = seen(*arguments)
        whole = arguments[-1]
        tensor = whole.operators[1].outputs[0]
        if tensor in found:
            found[tensor] = [array + 1 for array in found[tensor]]
        return found

    monkeypatch.setattr(sides, "values", values)
    if recompiled:
        other_vela(monkeypatch, FAULTS[1])
        expect(bisect(source, "--vela", "other/python", "--npu", NPU), 3)
    else:
        path = compiled(source, NPU)
        changed = put("changed", plant.register(path.read_bytes(), 3, "OPA_SCALE", -(1 << 28)))
        code, data = bisect(source, changed)
        assert (code, data["first"]["number"]) == (6, 3)
    monkeypatch.undo()


def test_that_another_vela_cannot_compile(source, bisect, monkeypatch):
    """The first layer that another Vela cannot compile, a depthwise convolution, is found."""

    def run_vela(path, options, python=None):
        if python and b"depthwise" in path.read_bytes():
            raise InputError(f"Vela crashed on {path} (signal 11)")
        return vela_once.run_vela(path, options)

    monkeypatch.setattr(vela, "run_vela", run_vela)
    monkeypatch.setattr(vela, "release", lambda python=None: "0.1.0" if python else "5.2.0")
    data = expect(bisect(source, "--npu", NPU, "--other-vela", "other/python"), 1)
    assert "Vela crashed on" in data["first"]["error"]
    report = Path(data["files"]["report"]).read_text()
    assert report.startswith(f"# {data['first']['name']}: it fails\n")
    assert data["operators"] == [1] and data["reproduced"]


@pytest.mark.parametrize("words", [("--npu", NPU), ()], ids=["npu", "kernels"])
def test_beside_a_float_model(source, put, bisect, words):
    """Beside a float model, the first layer below the tolerance is found, despite later noise."""
    real = put("float", plant.as_float(source.read_bytes()))
    code, data = bisect(real, source, *words, *TOLERANCE)
    assert (code, data["first"]) == (0, None)
    layer, edit = BEFORE_VELA["weight"]
    changed = put("changed", plant.edited(source.read_bytes(), layer, edit))
    data = expect(bisect(real, changed, *words, *TOLERANCE), layer)
    ratios = [row["difference"]["snr"] for row in data["layers"] if row["difference"]]
    assert ratios[0] > 15 > 10 > ratios[1] and data["reproduced"]
    assert data["largest_drop"]["number"] == layer
    assert data["largest_drop"]["to"] == ratios[layer]
    assert {"model_a", "inputs_a"} <= data["files"].keys()


def test_what_is_below_the_tolerance_is_shown_all_the_same(source, put, ethosu):
    real = put("float", plant.as_float(source.read_bytes()))
    code, out, _ = ethosu("bisect", real, source, "--tolerance", "1")
    assert code == 0 and "no difference: " in out
    assert re.search(r"^largest drop: [0-9.]+ to [0-9.]+ dB, at \d+ [A-Z]", out, re.MULTILINE)
    assert re.search(r"^\d+ [A-Z].* [1-9][0-9]\.[0-9]$", out, re.MULTILINE), "dB of a layer"


def test_by_name_if_the_models_have_other_operators(put, bisect):
    """Layers match by name if only the quantised model ends with a conversion."""
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
    rows = [(row["layer"].split()[0], row["what"], row["a"], row["b"]) for row in data["changes"]]
    assert ("1", "contents of input 1", "576 bytes", "576 bytes, 143 of them other") in rows
    assert rows[-1] == ("3", "operator", "", "QUANTIZE")


def chain(with_conversion):
    """Make three convolutions."""
    net = Net("chain", 4)
    x = net.input((1, 8, 8, 4))
    for number in range(3):
        x = net.conv(x, 8, (3, 3), padding=SAME, activation=NONE)
        net.graph.tensors[x.tensor][0].name = f"conv{number}"
    return net.finish(net.to_uint8(x) if with_conversion else x)


def test_an_equal_model_has_no_difference(source, bisect, tmp_path):
    code, data = bisect(source, "--npu", NPU)
    assert (code, data["first"]) == (0, None)
    assert data["compared"] == 10 and not list(tmp_path.glob("found*"))


def test_in_user_inputs_only(source, put, bisect, tmp_path):
    """A fault that only the user's large inputs show is found with these inputs."""
    edit = plant.option("fusedActivationFunction", 3)  # RELU6
    changed = put("changed", plant.edited(source.read_bytes(), 3, edit))
    quiet = tmp_path / "quiet.npz"
    np.savez(quiet, **{"0": np.full((2, 1, 16, 16, 3), -3, np.int8)})
    code, data = bisect(source, changed, "--inputs", quiet)
    assert code in (0, 6)
    (change,) = data["changes"]
    assert (change["what"], change["a"], change["b"]) == (
        *("parameter fusedActivationFunction", "0", "3"),
    )
    data = expect(bisect(source, changed), 3)
    assert data["seed"] == 0


def test_in_a_fused_operator(put, compiled, bisect):
    """A fault is found in a convolution of which only the fused sigmoid can be observed."""
    source = put("fused", with_fused())
    changed = plant.register(compiled(source, NPU).read_bytes(), 0, "IFM_ZERO_POINT", 30)
    code, data = bisect(source, put("changed", changed))
    assert (code, data["first"]["number"], data["first"]["group"]) == (6, 1, [0])
