# SPDX-License-Identifier: MIT
"""`ethosu compile --try`: changes are compiled, run and measured before they are offered."""

import json

import pytest
from ethosu_tools.answers.timeline import perfetto, processor
from ethosu_tools.base.errors import InputError, SetupError
from ethosu_tools.boards import systems
from ethosu_tools.debug.advice import option, rewrites, trial
from ethosu_tools.debug.advice.rewrites import Rewrite
from ethosu_tools.model import ModelFile
from ethosu_tools.model.tflite import edit

from host_tests.tools.ethosu_tools.debug.advice.branches import SAME, Branches

pytestmark = pytest.mark.usefixtures("emulator_only", "emulator_registers")

BOARD = "ALIF_ENSEMBLE_E7-M55_HE"


@pytest.fixture(scope="module")
def upscaler(tmp_path_factory):
    """Make two kinds of operators that stay on the CPU."""
    model = Branches()
    model.transposed("upscaled", (1, 8, 8, 4), (3, 3), 3, 6, SAME)
    model.blocks("shuffled", "DEPTH_TO_SPACE", (1, 8, 8, 16), 2)
    path = tmp_path_factory.mktemp("upscaler") / "upscaler.tflite"
    path.write_bytes(model.data())
    return path


@pytest.fixture
def focus(tmp_path):
    model = Branches()
    model.blocks("focus", "SPACE_TO_DEPTH", (1, 8, 16, 3), 4)
    path = tmp_path / "focus.tflite"
    path.write_bytes(model.data())
    return path


def test_changes_that_save_time_are_offered_and_saved(ethosu, upscaler, tmp_path):
    output, changed = tmp_path / "out.tflite", tmp_path / "changed.tflite"
    before = upscaler.read_bytes()
    words = ("compile", upscaler, "-o", output, "--board", BOARD, "--try", changed)
    code, out, _ = ethosu(*words, "--json")
    assert code == 0 and upscaler.read_bytes() == before
    data = json.loads(out)
    assert {row["output"] for row in data["leftover"]} == {"upscaled", "shuffled"}
    alone, together = data["tried"][:2], data["tried"][2]
    assert [row["operators"] for row in alone] == [["upscaled"], ["shuffled"]]
    assert together["operators"] == ["upscaled", "shuffled"]
    assert together["on_cpu"] == {} and set(data["cpu_operators"]) == {
        "TRANSPOSE_CONV",
        "DEPTH_TO_SPACE",
    }
    for row in data["tried"]:
        assert row["difference"]["differing"] == 0 < row["difference"]["values"]
        assert row["reference"] == "TFLite's reference kernels"
        assert row["pays"] and row["saved"] == pytest.approx(row["before"] - row["after"])
        assert row["before"] > row["after"] > together["after"] or row is together
        assert f"; saves {row['saved']:.3g} ms (" in trial.text(row)
    # The compiler accepts the saved model, and leaves no operator to the CPU.
    code, out, _ = ethosu("compile", changed, "-o", output, "--board", BOARD, "--json")
    data = json.loads(out)
    assert code == 0 and data["cpu_operators"] == {} and data["leftover"] == []
    timeline = perfetto.make(ModelFile(output), systems.find(BOARD))
    # Interrupts of the clock change the count by a few instructions.
    assert together["after"] == pytest.approx(timeline.milliseconds, rel=0.02)


@pytest.fixture
def no_emulator(monkeypatch):
    def absent(_model):
        raise SetupError("qemu-system-arm is not installed")

    monkeypatch.setattr(processor, "watch", absent)


@pytest.mark.usefixtures("no_emulator")
def test_the_text_has_reason_rule_and_result(ethosu, upscaler, tmp_path):
    words = ("compile", upscaler, "-o", tmp_path / "out.tflite", "--board", BOARD)
    code, out, _ = ethosu(*words)
    assert code == 0 and "on the CPU TRANSPOSE_CONV upscaled: stride out of range: (3,3)" in out
    assert "             Stride values WxH must be: 1x1 OR 2x2" in out
    assert "on the CPU DEPTH_TO_SPACE shuffled: Vela has no NPU operation for it" in out
    assert "--try tries changes of the model" in out
    code, out, _ = ethosu(*words, "--try")
    assert code == 0 and "exact (" in out and "--try" not in out


def test_a_model_without_operators_on_the_cpu_has_nothing_to_try(ethosu, small_models, tmp_path):
    words = ("compile", small_models["small_cnn"], "-o", tmp_path / "out.tflite")
    code, out, _ = ethosu(*words, "--try", "--json")
    data = json.loads(out)
    assert code == 0 and data["tried"] == [] and data["leftover"] == []
    code, out, _ = ethosu(*words, "--try", tmp_path / "changed.tflite")
    assert code == 0 and "on the CPU" not in out and not (tmp_path / "changed.tflite").exists()
    assert "changed    nothing: no change saves time, so no file was written" in out
    assert "tried      nothing: Vela left no operator to the CPU" in out


def space_to_depth(site):
    """Compute the right shape with wrong values."""
    site.reshape(site.source, site.shape(site.target), site.target)
    return True


@pytest.mark.usefixtures("no_emulator")
@pytest.mark.parametrize("exact", [True, False])
def test_a_change_with_other_results_is_never_called_exact(
    ethosu, focus, tmp_path, monkeypatch, exact
):
    row = Rewrite(space_to_depth, "a wrong RESHAPE", exact=exact)
    monkeypatch.setattr(rewrites, "TABLE", (row,))
    changed = tmp_path / "changed.tflite"
    words = ("compile", focus, "-o", tmp_path / "out.tflite", "--try", changed)
    code, out, _ = ethosu(*words)
    assert code == 0 and "exact (" not in out
    assert "values differ from those of TFLite's reference kernels, by at most " in out
    assert ("does not work: wrong results" in out) == exact
    assert changed.exists() != exact


@pytest.mark.usefixtures("no_emulator")
def test_a_file_that_litert_rejects_is_not_saved(ethosu, focus, tmp_path, monkeypatch):
    def reject(_model):
        raise InputError("LiteRT rejected it")

    monkeypatch.setattr(option, "Oracle", reject)
    changed = tmp_path / "changed.tflite"
    words = ("compile", focus, "-o", tmp_path / "out.tflite", "--try", changed)
    code, out, _ = ethosu(*words)
    assert code == 0 and "changed    nothing: LiteRT rejected it, so no file was written" in out
    assert not changed.exists()


@pytest.mark.usefixtures("no_emulator")
def test_what_vela_rejects_is_not_offered(ethosu, tmp_path, monkeypatch):
    """A change that Vela rejects, as windows.py says of PAD and CONV_2D, is not offered."""
    monkeypatch.setattr(edit.Site, "copy", lambda _site, image: image)
    model = Branches()
    model.conv("wide", (1, 32, 32, 3), (7, 7), (4, 4), 8, SAME)
    source = tmp_path / "wide.tflite"
    source.write_bytes(model.data())
    code, out, _ = ethosu("compile", source, "-o", tmp_path / "out.tflite", "--try", "--json")
    (row,) = json.loads(out)["tried"]
    assert code == 0 and not row["pays"]
    assert "Non-passthrough operation (Conv2D) could not run on NPU" in row["error"]


@pytest.mark.usefixtures("no_emulator")
def test_without_an_emulator_the_time_is_not_known(ethosu, focus, tmp_path):
    words = ("compile", focus, "-o", tmp_path / "out.tflite", "--try")
    code, out, _ = ethosu(*words)
    assert code == 0 and "exact (" in out and "saves" not in out
    assert "times of the CPU are not known: qemu-system-arm is not installed" in out
    code, out, _ = ethosu(*words, "--json")
    (row,) = json.loads(out)["tried"]
    assert row["saved"] is None and row["pays"]


@pytest.mark.usefixtures("no_emulator")
def test_a_model_that_cannot_run_is_tried_too(ethosu, tmp_path):
    """For a model that cannot run, the error has what was tried, and the changed model runs."""
    model = Branches()
    model.reverse("backwards", (1, 4, 6, 3), (1,))
    source, changed = tmp_path / "reverse.tflite", tmp_path / "changed.tflite"
    source.write_bytes(model.data())
    output = tmp_path / "out.tflite"
    code, _, err = ethosu("compile", source, "-o", output)
    assert code == 3 and "instead of REVERSE_V2: tf.concat(tf.split(" in err
    assert "\n  on the CPU REVERSE_V2 backwards: " in err and "Axis attribute is not supp" in err
    assert "--try tries changes of the model" in err
    code, _, err = ethosu("compile", source, "-o", output, "--try", changed)
    assert code == 3 and "exact (" in err
    assert f"changed    {changed}" in err and not output.exists()
    assert ethosu("compile", changed, "-o", output)[0] == 0


@pytest.mark.usefixtures("no_emulator")
def test_a_model_that_nothing_can_run_has_nothing_to_compare(ethosu, tmp_path):
    """If neither TFLite nor the runtime has an operator, there is nothing to compare with."""
    model = Branches()
    model.reverse("backwards", (1, 4, 6, 3), (1,))
    model._branch("custom", "Unknown", (1, 4), (1, 4), None)
    source = tmp_path / "unknown.tflite"
    source.write_bytes(model.data())
    code, _, err = ethosu("compile", source, "-o", tmp_path / "out.tflite", "--try")
    assert code == 3 and "REVERSE_V2 x 1 (backwards)" in err and "Unknown x 1 (custom)" in err
    assert "tried      nothing: " in err


def test_a_slower_change_says_so():
    row = {
        "operator": "MEAN",
        "operators": ["m"],
        "becomes": "something",
        "on_cpu": {"MEAN": 2},
        "difference": {"differing": 0, "values": 3, "largest": 0.0},
        "reference": "R",
        "before": 1.0,
        "after": 2.5,
        "saved": -1.5,
        "unknown": "",
        "error": "",
        "pays": False,
    }
    text = trial.text(row)
    assert "does not help: takes 2.5 ms (1 ms before, 2.5 ms after)" in text
    assert text.endswith("; still on the CPU: MEAN x 2")


WRONG = {
    ("--try", "--memory-mode", "Sram_Only"): "--try estimates times on a board",
    ("--try", "out.tflite"): "--try would overwrite out.tflite",
    ("--debug-db", "focus.tflite"): "--debug-db would overwrite focus.tflite",
    ("--vela-report", "out.tflite"): "--vela-report would overwrite out.tflite",
    ("--vela-report", "r", "--debug-db", "r"): "--debug-db would overwrite r",
}


@pytest.mark.parametrize("words", WRONG)
def test_options_that_contradict_each_other(ethosu, focus, monkeypatch, words):
    monkeypatch.chdir(focus.parent)
    code, _, err = ethosu("compile", focus, "-o", "out.tflite", *words)
    assert code == 2 and WRONG[words] in err
