# SPDX-License-Identifier: MIT
"""Tests `ethosu check`: the verdict on a file, its exactness, and the exit code."""

import json
import re

import pytest
from ethosu_tools import boards
from ethosu_tools.answers import text
from ethosu_tools.compile import vela
from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.model import ModelFile, make_model, tflite
from ethosu_tools.model.tflite import writer
from ethosu_tools.sim import fit

from host_tests.kit.models import mixed_models

GROVE, HE = "GROVE_VISION_AI_V2", "ALIF_ENSEMBLE_E7-M55_HE"
SMALL = ("--board", "MPS3_AN547")


@pytest.fixture
def check(ethosu):
    def run(*words):
        code, out, err = ethosu("check", *words, "--json")
        return code, json.loads(out), err

    return run


def test_a_model_as_trained_is_compiled_and_exact(ethosu, check, small_models):
    model = small_models["small_cnn"]
    code, data, _ = check(model, "--board", GROVE)
    (row,), (run,) = data["boards"], data["runs"]
    assert code == 0 and data["exit_code"] == 0
    assert data["verdict"] == f"Yes: it runs on {GROVE}; every value equals TFLite's"
    assert (row["board"], row["npu"], row["runs"]) == (GROVE, "ethos-u55-64", True)
    assert row["estimate"]["low_ms"] > 0
    assert run["exact"] is True and run["values"] == 3 * 10 and run["differing"] == 0
    code, out, _ = ethosu("check", model, "--board", GROVE)
    assert code == 0 and out.startswith("Yes: it runs on")
    assert text.BRACKETS not in out
    assert text.BRACKETS in ethosu("check", model, "--board", HE)[1].splitlines()
    assert "What other runtimes do with it as it is, without the NPU:" in out


def test_all_boards(check, compiled, small_models):
    """Each NPU of each board has a row; each NPU and memory system has a form of the file."""
    code, data, _ = check(small_models["small_cnn"])
    npus = [(board.name, npu) for board in boards.every() for npu in board.npus]
    found = [(row["board"], row["npu"]) for row in data["boards"]]
    assert code == 0 and sorted(found) == sorted(npus)
    assert all(row["runs"] for row in data["boards"])
    assert 3 < len(data["runs"]) < len(npus)
    assert all(run["exact"] for run in data["runs"])


def test_a_compiled_model_needs_its_original(check, compiled, small_models):
    model = compiled(small_models["small_cnn"])
    code, data, _ = check(model, *SMALL)
    assert code == 0 and data["runs"][0]["exact"] is None
    assert "exactness is unknown" in data["verdict"] and "--reference" in data["verdict"]
    code, data, _ = check(model, *SMALL, "--reference", small_models["small_cnn"])
    assert code == 0 and data["verdict"].endswith("every value equals TFLite's")


def test_a_difference_is_in_the_verdict(ethosu, check, compiled, small_models, tmp_path):
    """The verdict reports a difference, here from a reference with other weights."""
    other = tmp_path / "other.tflite"
    other.write_bytes(_with_other_weights(small_models["small_cnn"].read_bytes()))
    code, data, _ = check(compiled(small_models["small_cnn"]), *SMALL, "--reference", other)
    (run,) = data["runs"]
    assert code == 6 and run["exact"] is False and run["differing"] > 0 and run["by"] >= 1
    differ = f"{run['differing']} of 30 values differ from the reference"
    assert data["verdict"].startswith("Wrong: it runs on") and f"; but {differ}" in data["verdict"]
    _, out, _ = ethosu("check", compiled(small_models["small_cnn"]), *SMALL, "--reference", other)
    assert f"\n{differ}, by up to" in out


def _with_other_weights(model):
    """Invert each byte of the largest constant."""
    tensors = tflite.parse(model)[0].tensors
    content = max((tensor.content for tensor in tensors), key=len)
    at = model.index(content)
    return model[:at] + bytes(byte ^ 0xFF for byte in content) + model[at + len(content) :]


def test_another_npu(ethosu, check, compiled, small_models):
    model = compiled(small_models["small_cnn"])
    code, data, _ = check(model, "--board", GROVE)
    assert code == 3 and data["exit_code"] == 3 and data["runs"] == []
    assert data["verdict"].startswith(f"No: not on {GROVE}: compiled for ethos-u55-128")
    assert f"`ethosu compile --board {GROVE}`" in data["verdict"]
    _, out, _ = ethosu("check", model, "--board", GROVE)
    (sscma,) = [line for line in out.splitlines() if "SSCMA" in line]
    assert "compiled for ethos-u55-128, but" in sscma, "it is the reason"
    assert "post-processing" not in sscma, "which does not help here"
    code, data, _ = check(model)
    assert code == 0
    assert {row["board"] for row in data["boards"] if row["runs"]} == {
        board.name for board in boards.every() if "ethos-u55-128" in board.npus
    }
    # A board that is selected by name may be emulated with any NPU.
    assert check(compiled(small_models["small_cnn"], "ethos-u65-256"), *SMALL)[0] == 0


def test_a_model_that_does_not_fit(ethosu, check, tmp_path):
    net = make_model.Net("wide", 1)
    x = net.conv(net.input((1, 192, 192, 32)), 32, (1, 1))
    path = tmp_path / "wide.tflite"
    path.write_bytes(net.finish(net.conv(x, 32, (1, 1))))
    code, data, _ = check(path, "--board", HE)
    (row,) = data["boards"]
    need = row["need"]["heap"]
    assert code == 3 and not row["runs"] and row["short"][0].startswith("its arena needs ")
    assert need > fit.room_of(boards.load(HE)).heap
    code, out, _ = ethosu("check", path)
    (row,) = [line for line in out.splitlines() if line.startswith(HE)]
    assert code == 0 and f"no: heap -{need - fit.room_of(boards.load(HE)).heap:,}" in row


def test_a_model_that_is_not_quantised(check, tmp_path):
    graph = writer.Graph("float")
    x, y = (graph.tensor(name, (1, 4), "float32") for name in "xy")
    graph.inputs, graph.outputs = [x], [y]
    graph.operator("TANH", [x], [y])
    path = tmp_path / "float.tflite"
    path.write_bytes(writer.write([graph], "float"))
    code, data, _ = check(path, *SMALL)
    assert code == 3 and "it is not quantised (float32: TANH x 1 (y))" in data["verdict"]
    assert data["runs"][0]["refused"] in data["verdict"] and str(path) not in data["verdict"]


@pytest.mark.parametrize("length", [3, 200, -100])
def test_a_damaged_file_gives_one_message(ethosu, compiled, small_models, tmp_path, length):
    path = tmp_path / "cut.tflite"
    path.write_bytes(compiled(small_models["small_cnn"]).read_bytes()[:length])
    code, out, err = ethosu("check", path)
    assert (code, out) == (3, "") and len(err.splitlines()) == 1 and str(path) in err


def test_a_reference_must_be_an_original(ethosu, compiled, small_models):
    model, made = small_models["small_cnn"], compiled(small_models["small_cnn"])
    code, _, err = ethosu("check", model, "--reference", model)
    assert code == 3 and "omit --reference" in err
    code, _, err = ethosu("check", made, "--reference", made)
    assert code == 3 and "is compiled, for ethos-u55-128" in err


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("shape", "dtype", "said"),
    [
        ((1, 4, 4, 3), "int8", "it has inputs int8 [1, 4, 4, 3], expected int8 [1, 16, 16, 3]"),
        ((1, 16, 16, 3), "int8", "it has outputs int8 [1, 16, 16, 3], expected int8 [1, 10]"),
        ((1, 16, 16, 3), "float32", "it has inputs float32 [1, 16, 16, 3], expected int8"),
    ],
)
def test_a_reference_has_the_same_inputs_and_outputs(
    ethosu, compiled, small_models, tmp_path, command, shape, dtype, said
):
    path = tmp_path / "other.tflite"
    graph = writer.Graph("other")
    scale = 0.5 if dtype == "int8" else None
    x, y = (graph.tensor(name, shape, dtype, scale) for name in "xy")
    graph.inputs, graph.outputs = [x], [y]
    graph.operator("RELU", [x], [y])
    path.write_bytes(writer.write([graph], "other"))
    made = compiled(small_models["small_cnn"])
    more = SMALL if command == "check" else ()
    code, out, err = ethosu(command, made, *more, "--reference", path)
    assert (code, out) == (3, "")
    assert f"{path} is not the original of {made}: {said}" in err


def test_what_litert_rejects_is_the_reference_not_the_file(check, shared_models, compiled):
    """The error of LiteRT is about the reference; it always refuses the compiled file."""
    source = shared_models / "person_detect.tflite"
    code, data, _ = check(compiled(source), *SMALL, "--reference", source)
    note = data["runs"][0]["note"]
    assert code == 0 and f"LiteRT rejected {source}: " in note
    assert note.count("quantized_dimension") == 1, "one sentence, not one for each tensor"
    assert [each["rule"] for each in data["runtimes"][0]["reasons"]] == ["commands"]


@pytest.mark.parametrize("name", ["kws_ref_model", "person_detect"])
def test_models_of_others(check, shared_models, name):
    """For a model that LiteRT rejects and TFLite Micro takes, there is nothing to compare."""
    code, data, _ = check(shared_models / f"{name}.tflite", "--board", GROVE)
    assert code == 0 and data["runs"][0]["exact"] is (True if name == "kws_ref_model" else None)
    pc = data["runtimes"][0]
    assert [reason["rule"] for reason in pc["reasons"]] == (
        [] if name == "kws_ref_model" else ["rejected"]
    )
    assert ModelFile(shared_models / f"{name}.tflite").description.npu is None


def test_known_differences_are_in_the_table_of_the_simulator(repo):
    page = (repo / "tools/npu_sim/README.md").read_text().partition("## Differences from TFLite")[2]
    assert all(re.search(rf"^\| [^|]*\b{name}\b", page, re.MULTILINE) for name in BOUNDS)


def test_a_known_difference_is_named(check, tmp_path):
    """The known difference of ABS of int16, one step, is named and no error."""
    graph = writer.Graph("abs")
    x = graph.tensor("x", (1, 4, 4, 64), "int16", 1 / 256)
    y = graph.tensor("y", (1, 4, 4, 64), "int16", 3 / 1000)
    graph.operator("ABS", [x], [y], "AbsOptions")
    graph.inputs, graph.outputs = [x], [y]
    path = tmp_path / "abs.tflite"
    path.write_bytes(writer.write([graph], "abs"))
    code, data, _ = check(path, *SMALL)
    assert code == 0 and data["runs"][0]["by"] == 1
    assert data["verdict"].endswith("as known of ABS, which the NPU rounds in another way")


def test_a_wrong_reference_is_named(ethosu, check, tmp_path):
    """If TFLite's kernel is wrong, as for int16 with two scales, the verdict says so."""
    graph = writer.Graph("less")
    graph.inputs = [
        graph.tensor(n, (1, 8, 8, 4), "int16", s) for n, s in (("x", 0.02), ("y", 0.01))
    ]
    graph.outputs = [graph.tensor("truth", (1, 8, 8, 4), "bool")]
    graph.operator("LESS", graph.inputs, graph.outputs, "LessOptions")
    path, made = tmp_path / "less.tflite", tmp_path / "made.tflite"
    path.write_bytes(writer.write([graph], "less"))
    code, data, _ = check(path, "--board", "ALIF_ENSEMBLE_E8-M55_HP")
    why = "of LESS of int16, which TFLite's kernel compares without their two scales, so that"
    assert code == 0 and data["verdict"].endswith(f"as known {why} the result here is right")
    vela.compile_model(path, "ethos-u85-256", made)
    code, _, err = ethosu("run", made, "--reference", path)
    assert code == 6 and f"as known {why} the result here is right" in " ".join(err.split())
    words = ("--npu", "ethos-u85-256", "-o", tmp_path / "found")
    code, out, _ = ethosu("bisect", path, *words)
    assert code == 6 and f"expected {why} the result here is right" in " ".join(out.split())


def test_what_to_type_next_is_for_the_npu_of_the_row(ethosu, small_models):
    model = small_models["small_cnn"]
    for npu, said in (("ethos-u85-256", "--npu ethos-u85-256"), ("ethos-u55-256", "")):
        words = ("--board", "ALIF_ENSEMBLE_E8-M55_HP", "--npu", npu)
        _, out, _ = ethosu("check", model, *words)
        expected = f"next: ethosu compile {model} --board {words[1]} {said}".rstrip()
        assert out.splitlines()[-1] == expected


def test_what_stays_on_the_cpu_is_beside_the_time(ethosu, check, tmp_path):
    """The CPU's part is shown beside the time, which would seem to be the whole inference."""
    path = tmp_path / "mixed.tflite"
    path.write_bytes(mixed_models.MODELS["segmenter"].make())
    code, data, _ = check(path, *SMALL)
    assert code == 0 and data["cpu_operators"] and "CONV_2D" not in data["cpu_operators"]
    code, out, _ = ethosu("check", path, *SMALL)
    name, count = next(iter(data["cpu_operators"].items()))
    assert "NPU, ms" in out and "CPU, ms" in out and f"{name} x {count}" in out


def test_memory_that_the_program_needs_is_not_the_models(check, small_models):
    """Reserved heap is not for the model: with all but 1 KB reserved, the arena has no room."""
    room = fit.room_of(boards.load(GROVE)).heap
    words = small_models["small_cnn"], "--board", GROVE
    assert check(*words, "--reserve=300K")[0] == 0
    code, data, _ = check(*words, f"--reserve={room - 1024}")
    (row,) = data["boards"]
    assert code == 3 and not row["runs"]
    assert data["verdict"].startswith(f"No: not on {GROVE}: its arena needs")
