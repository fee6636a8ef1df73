# SPDX-License-Identifier: MIT
"""Commands in a report of `ethosu bisect` reproduce the difference; its messages help."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.commands import bisect as command
from ethosu_tools.model import ModelFile
from ethosu_tools.model.tflite.cut import Whole

from host_tests.conformance.generator.known_defects.defects import DEFECTS
from host_tests.tools.ethosu_tools.debug.bisection import plant

NPU = "ethos-u55-128"


@pytest.fixture
def defect(tmp_path, monkeypatch):
    """Make a model that Vela compiles wrongly, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (row,) = (row for row in DEFECTS if row.name == "elementwise-of-slice")
    Path("model.tflite").write_bytes(row.case.model)
    return "model.tflite"


def test_each_command_of_the_report_shows_the_difference(ethosu, vela, defect, capsys):
    code, out, err = ethosu("bisect", defect, "--npu", NPU)
    assert (code, err) == (6, "") and "elementwise-of-slice" in out
    text = Path("model.bug.md").read_text()
    assert f"found with: `ethosu bisect model.tflite --npu {NPU} --steps 3`" in text
    lines = re.findall(r"^    ((?:ethosu|vela) .*?)(?:    #.*)?$", text, re.MULTILINE)
    bisect, compile_it, run = map(shlex.split, lines)
    assert ethosu(*bisect[1:], "-o", "again")[0] == 6
    assert Path("again.repro.tflite").read_bytes() == Path("model.repro.tflite").read_bytes()
    made = vela(Path(compile_it[-1]), *compile_it[1:-1])
    Path("output").mkdir()
    Path(run[2]).write_bytes(made.read_bytes())
    code, _, err = ethosu(*run[1:])
    assert code == 6 and "differs from the reference" in err
    assert "Python 3.11 or 3.12 with ai-edge-litert 1.2.0 (later releases round" in text
    script = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    script = script[script.index("import numpy") :]
    names = {}
    exec(script, names)  # the report's own text
    (found,) = (names["i"].get_tensor(each["index"]) for each in names["i"].get_output_details())
    outputs = np.load("model.outputs.npz")
    assert np.array_equal(found, outputs["a_0"]) and not np.array_equal(found, outputs["b_0"])
    index, expected, got = re.search(r"^\| 0 \| (.*?) \| (\S+) \| (\S+) \|$", text, re.M).groups()
    place = tuple(map(int, index.split(",")))
    assert (outputs["a_0"][place], outputs["b_0"][place]) == (int(expected), int(got))


def test_two_memory_modes_and_two_npus_of_a_board(ethosu, small_models, tmp_path):
    source = small_models["small_streaming"]
    for words in (
        ("--npu", "ethos-u85-256", "--other-memory-mode", "Sram_Only"),
        ("--npu", "ethos-u55-32", "--other-npu", "ethos-u65-512"),
    ):
        code, out, _ = ethosu("bisect", source, *words, "-o", tmp_path / "x")
        assert code == 0 and "no difference: " in out


def test_a_difference_after_several_steps_needs_their_inputs(ethosu, small_models, tmp_path):
    """A difference after several steps of a model with state needs all their inputs."""
    source = small_models["small_streaming"]
    kinds = [operator.name for operator in plant_operators(source)]
    layer = kinds.index("FULLY_CONNECTED")
    changed = tmp_path / "changed.tflite"
    edit = plant.contents(plant.WEIGHTS, "int8", lambda values: np.negative(values, out=values))
    changed.write_bytes(plant.edited(source.read_bytes(), layer, edit))
    words = ("bisect", source, changed, "-o", tmp_path / "found", "--json")
    code, out, _ = ethosu(*words)
    data = json.loads(out)
    assert code == 6 and data["first"]["number"] == layer and data["reproduced"]


def plant_operators(path):
    """Return the operators of a model."""
    from ethosu_tools.model.tflite import parse

    return parse(path.read_bytes())[0].operators


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("compiled",), 2, "pass the model before Vela, too, or a second file"),
        (("source", "--other-npu", "ethos-u55-128"), 2, "both sides are compiled in the same way"),
        (("source", "other"), 3, "the models have inputs of shapes"),
        (("source", "--other-vela", "no/python"), 4, "no/python cannot be run"),
        (("source", "--other-vela", "/bin/true"), 4, "/bin/true has no Vela"),
        (("compiled", "other"), 3, "whose inputs have the shapes"),
        (("compiled", "--source", "other"), 3, "whose inputs have the shapes"),
        (("compiled", "--source", "part"), 3, "whose outputs have the shapes [1, 8, 8, 16]: exp"),
    ],
)
def test_messages(ethosu, small_models, compiled, tmp_path, words, code, message):
    part = Whole(ModelFile(small_models["small_cnn"])).cut([0])
    paths = {
        "source": small_models["small_cnn"],
        "other": small_models["small_streaming"],
        "compiled": compiled(small_models["small_cnn"]),
        "part": tmp_path / "part.tflite",
    }
    paths["part"].write_bytes(part.data)
    given = [paths.get(word, word) for word in words]
    found, _, err = ethosu("bisect", *given, *(("--npu", NPU) if code != 3 else ()))
    assert (found, message in err) == (code, True), err


def test_a_file_that_does_not_run_has_no_first_layer(ethosu, small_models, compiled, tmp_path):
    """If the verifier rejects a file's commands, no layer is named as the first."""
    source, made = small_models["small_cnn"], compiled(small_models["small_cnn"])
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(plant.register(made.read_bytes(), 1, "OFM_REGION", 5))
    code, out, _ = ethosu("bisect", source, broken, "-o", tmp_path / "found")
    assert code == 6 and f"\nB does not run: {broken}: operator 0 (ethos-u)" in out
    report = (tmp_path / "found.bug.md").read_text()
    assert report.startswith(f"# {broken} does not run\n") and f"- error: {broken}: op" in report
    assert "first layer" not in out + report
    assert (
        ethosu("bisect", broken, source, "-o", tmp_path / "found")[1].count("A does not run") == 1
    )


def test_the_part_does_not_overwrite_the_model(ethosu, small_models, tmp_path):
    path = tmp_path / "found.repro.tflite"
    data = small_models["small_cnn"].read_bytes()
    path.write_bytes(data)
    code, _, err = ethosu("bisect", path, "--npu", NPU, "-o", tmp_path / "found")
    assert code == 2 and f"would overwrite {path}" in err and path.read_bytes() == data


def test_a_source_is_for_compiled_files(ethosu, small_models):
    model = small_models["small_cnn"]
    code, _, err = ethosu("bisect", model, "--npu", NPU, "--source", model)
    assert code == 2 and f"{model} is not compiled: it is its own source, omit --source" in err


@pytest.mark.parametrize("tolerance", ["nan", "inf", "x"])
def test_a_tolerance_is_a_number(ethosu, small_models, tolerance):
    """NaN is refused as a tolerance, because nothing would ever differ."""
    code, _, err = ethosu("bisect", small_models["small_cnn"], "--tolerance", tolerance)
    assert code == 2 and "expected a number above 0" in err


def test_long_names_do_not_widen_the_table(ethosu, defect):
    """Long names, such as joined names of fused layers, do not widen the table."""
    words = "bisect", defect, "--npu", NPU
    data = json.loads(ethosu(*words, "--json")[1])
    row = data["layers"][0] | {"name": "0 CONV_2D " + "name;" * 60}
    text = command.render(data | {"layers": [row, *data["layers"][1:]]})
    assert "0 CONV_2D name;name;" in text and "...  " in text
    assert max(map(len, text.split("\n\n")[1].splitlines())) < 100
