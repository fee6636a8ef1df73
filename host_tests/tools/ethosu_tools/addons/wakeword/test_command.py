# SPDX-License-Identifier: MIT
"""Runs `ethosu demo wakeword` with the NPU simulated in this process, and on a board.

Each run compares every probability with the reference and fails at the first that differs.
"""

import json
import os
import re
import sys
import wave
from pathlib import Path

import pytest
from ethosu_tools.addons.wakeword import command, keywords
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs
from ethosu_tools.model.samples import wake_words

ON_SIM = ("--on", "sim")


@pytest.fixture
def run_demo(ethosu, tmp_path):
    """Run the demo in a separate folder: `run_demo("--say", "alexa")`; returns its JSON."""

    def run(*options):
        code, out, err = ethosu("demo", "wakeword", "--json", "--output", tmp_path, *options)
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.mark.parametrize("voice", ["en-us", "en-gb"])
@pytest.mark.parametrize("text", ["okay nabu", "alexa", "hello world"])
def test_the_simulated_npu_detects_its_word_and_no_other(run_demo, text, voice):
    data = run_demo(*ON_SIM, "--say", text, "--voice", voice)
    (sound,) = data["sounds"]
    for name, result in sound["words"].items():
        assert (result["detected_at"] is not None) == (text == wake_words.load(name).phrase)
    raw = [each for result in sound["words"].values() for each in result["raw"]]
    assert data["equal_to_reference"] == len(raw) > 120


def test_a_board_detects_the_word_and_nothing_else(run_demo, request, board_npu):
    """With two models at once, a board detects the spoken word and nothing else."""
    where = request.config.getoption("--ethosu-port") or "qemu"
    data = run_demo("--on", where, "--npu", board_npu)
    found = [
        [result["detected_at"] is not None for result in sound["words"].values()]
        for sound in data["sounds"]
    ]
    assert found == [[True, False], [False, False]]
    assert data["sounds"][0]["words"]["okay_nabu"]["verdict"] == "detected okay_nabu at 1.9 s"
    assert data["equal_to_reference"] > 300


def test_the_printed_follow_up_commands_work(run_demo, board_npu):
    data = run_demo(*ON_SIM, "--npu", board_npu)
    image = romfs.load_image(Path(data["rom"]))
    with QemuBoard(Machine(emulated(npu=data["npu"]), romfs=image)) as board:
        board.exec(command.IMPORTS)
        said = board.exec(data["try"], timeout=30)
    assert "okay_nabu detected at 1.89 s" in said.splitlines()


def test_each_line_to_type_fits_a_terminal():
    words = [wake_words.load(name) for name in wake_words.NAMES]
    typed = "\n".join([command.IMPORTS, command.command(words, "okay_nabu.wav")])
    for line in typed.splitlines():
        assert len(line) <= 80, line


def test_json_has_the_documented_keys(run_demo, tmp_path):
    data = run_demo(*ON_SIM, "--say", "alexa", "--model", "alexa", "--npu", "ethos-u55-256")
    (sound,) = data.pop("sounds")
    (result,) = sound.pop("words").values()
    lengths = {len(result.pop(key)) for key in ("times", "raw", "means")}
    assert lengths == {data.pop("equal_to_reference")} and min(lengths) > 60
    assert sound.pop("seconds") == pytest.approx(2.2, abs=0.3)
    assert sound == {"title": '"alexa"', "file": "alexa.wav"}
    assert result == {
        "detected_at": pytest.approx(1.7, abs=0.1),
        "verdict": "detected alexa at 1.7 s",
    }
    assert data == {
        "words": [{"name": "alexa", "phrase": "alexa", "cutoff": 0.9, "window": 5}],
        "features_by_c_library": 0,
        "board": "MPS3_AN547",
        "npu": "ethos-u55-256",
        "on": "sim",
        "picture": str(tmp_path / "heard.svg"),
        "rom": str(tmp_path / "rom"),
        "try": 'words = [Word("alexa", Model("/rom/alexa.tflite"), 0.9, 5)]\n'
        'listen(MicroFrontend(), Ring(4096), words, Wav("/rom/alexa.wav"))',
    }


def test_all_input_of_the_board_is_saved_and_can_be_replayed(run_demo, tmp_path):
    run_demo(*ON_SIM)
    names = {path.name for path in (tmp_path / "rom").iterdir()}
    models, sounds = {"okay_nabu.tflite", "alexa.tflite"}, {"okay_nabu.wav", "hello_world.wav"}
    assert names == {"listen.py"} | models | sounds
    recording = tmp_path / "My recording.wav"
    (tmp_path / "rom/okay_nabu.wav").rename(recording)
    with wave.open(str(recording)) as file:
        assert file.getframerate() == 16000 and file.getnframes() > 32000
    (sound,) = run_demo(*ON_SIM, "--wav", recording)["sounds"]
    assert (sound["title"], sound["file"]) == ("My recording.wav", "my_recording.wav")
    assert sound["words"]["okay_nabu"]["verdict"] == "detected okay_nabu at 1.9 s"


@pytest.mark.parametrize("where", ["on PATH", "on PATH of make", "elsewhere"])
def test_the_report_lists_comparisons_and_next_steps(ethosu, tmp_path, monkeypatch, where):
    environment, on_path = Path(sys.executable).parent, where != "elsewhere"
    program = "ethosu" if where == "on PATH" else command._short(environment / "ethosu")
    monkeypatch.delenv("MAKELEVEL", raising=False)
    if where == "on PATH of make":
        monkeypatch.setenv("MAKELEVEL", "1")
    others = [path for path in os.get_exec_path() if Path(path) != environment]
    monkeypatch.setenv("PATH", os.pathsep.join([str(environment), *others] if on_path else others))
    options = ("--output", tmp_path, "--say", "hello", "--board", "GROVE_VISION_AI_V2")
    code, text, _ = ethosu("demo", "wakeword", *ON_SIM, *options)
    assert code == 0 and '"hello": okay_nabu not detected, ' in text
    expected = "probabilities are bit-exact with pymicro-features and TFLite's reference kernels"
    assert expected in text
    assert f"{program} qemu --board GROVE_VISION_AI_V2 --npu ethos-u55-64 --romfs" in text
    assert "mpremote connect PORT repl" in text


def test_a_voice_that_is_not_detected_suggests_another(ethosu, tmp_path):
    words = ("demo", "wakeword", *ON_SIM, "--model", "hey_jarvis", "--output", tmp_path)
    _, out, _ = ethosu(*words)
    assert '"hey jarvis": hey_jarvis not detected' in out
    assert "try another one: --voice en-us+f3" in out
    _, out, _ = ethosu(*words, "--voice", "en-us+f3")
    assert re.search(r'"hey jarvis": detected hey_jarvis at \d\.\d s', out)  # by espeak's release


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--say", "hi", "--voice", "nobody"], 3, "cannot speak it as nobody: .*voice does not ex"),
        (["--wav", "none.wav"], 3, "none.wav cannot be read: No such file"),
        (["--output", __file__], 3, "test_command.py cannot be written: "),
        (["--model", "computer"], 2, "okay_nabu"),
        (["--npu", "ethos-u99"], 2, "ethos-u55-128"),
        (["--say", "a", "--wav", "b"], 2, "not allowed with"),
    ],
)
def test_bad_input_is_one_error(ethosu, options, code, message):
    found, _, err = ethosu("demo", "wakeword", *options)
    assert found == code and re.search(message, err) and err.count("\n") == 1


def test_a_missing_program_is_named_with_its_package(ethosu, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = ethosu("demo", "wakeword")
    assert code == 4 and re.search("espeak-ng is not installed; .*apt install espeak-ng", err)


def test_one_wrong_bit_is_a_mismatch(ethosu, tmp_path, monkeypatch):
    right = command.Simulation.step
    monkeypatch.setattr(command.Simulation, "step", lambda *args: [right(*args)[0] ^ 1])
    code, _, err = ethosu("demo", "wakeword", *ON_SIM, "--output", tmp_path)
    assert code == 6 and "outputs differ from TFLite's reference kernels" in err


@pytest.mark.parametrize(("band", "code"), [(33, 0), (31, 6)])
def test_a_pc_with_another_log1pf_changes_nothing(ethosu, tmp_path, monkeypatch, band, code):
    """Features of a PC with another log1pf(), which differ in a band, do not count as errors."""

    def features(samples):
        rows = right(samples)
        rows[:, band] += 200 * keywords.STEP
        return rows

    right, bands = keywords.features, [band for band in range(40) if band not in (32, 33, 38, 39)]
    monkeypatch.setattr(keywords, "features", features)
    monkeypatch.setattr(keywords, "bands", lambda: bands)
    words = ("demo", "wakeword", "--output", tmp_path, "--say", "okay nabu", "--voice", "en-gb")
    found, out, err = ethosu(*words, "--model", "okay_nabu")
    assert found == code, err
    if code:
        assert "features differ from pymicro-features, first at 0.00 s in band 31" in err
    else:
        assert "bit-exact with TFLite's reference kernels on this PC for the board's" in out
        assert re.search(r"pymicro-features has otherwise: \d\d+\. The C library of this PC", out)


@pytest.mark.parametrize("lines", [["0001"], ["text"]])
def test_a_board_that_shows_no_features_is_named(lines):
    with pytest.raises(BoardError, match="showed no rows of features"):
        command._features(lines)


def test_a_silent_board_is_distinguished_from_one_that_detects_nothing():
    with pytest.raises(BoardError, match=r"without a result for .*; it printed nothing"):
        command.gather([], "w")
    with pytest.raises(BoardError, match=r"its last line is '0\.03 s  w  raw 0  mean 0'"):
        command.gather(["v detected at 0.03 s", "0.03 s  w  raw 0  mean 0"], "w")
