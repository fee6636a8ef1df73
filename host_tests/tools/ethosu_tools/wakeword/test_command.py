# SPDX-License-Identifier: MIT
"""`ethosu demo wakeword` from its options to its report, with the reference in the NPU's place."""

import contextlib
import io
import json
import os
import re
import sys
import wave
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ethosu_tools import cli
from ethosu_tools.commands import demo
from ethosu_tools.errors import BoardError, MismatchError
from ethosu_tools.oracle import Oracle
from ethosu_tools.wakeword import plot, results, stage, words
from rich.console import Console


@pytest.fixture
def on_reference(monkeypatch, tmp_path):
    """The demo runs in a folder of its own, its models on the reference kernels."""

    @contextlib.contextmanager
    def open_stage(where, npu, rom, name):
        yield stage.on_pc(lambda word: contextlib.nullcontext(Oracle(word.model)))

    monkeypatch.setattr(demo.paths, "work", lambda name: tmp_path / "build" / name)
    monkeypatch.setattr(demo, "open_stage", open_stage)
    return tmp_path


def run_json(capsys, *options):
    code = cli.main(["demo", "wakeword", "--json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_the_word_is_detected_from_rom_and_console_and_the_other_sentence_is_not(
    on_reference, capsys
):
    code, data = run_json(capsys)
    spoken, other, streamed = data["sounds"]
    assert code == 0
    assert spoken["title"] == '"okay nabu"' and other["title"] == '"hello world"'
    assert spoken["words"]["okay_nabu"]["verdict"] == "detected okay_nabu at 1.9 s"
    assert streamed["file"] is None and streamed["words"] == spoken["words"]
    for result in (*other["words"].values(), spoken["words"]["alexa"]):
        assert " not detected, " in result["verdict"] and result["detected_at"] is None
    raw = [result["raw"] for sound in data["sounds"] for result in sound["words"].values()]
    assert data["equal_to_reference"] == sum(map(len, raw)) > 450


def test_a_voice_that_is_not_understood_is_answered_with_another(on_reference, capsys):
    def say(voice):
        cli.main(["demo", "wakeword", "--model", "hey_jarvis", "--voice", voice])
        return capsys.readouterr().out

    first = say("en-us")
    assert '"hey jarvis": hey_jarvis not detected' in first
    assert "try another: --voice en-us+f3" in first
    assert '"hey jarvis": detected hey_jarvis at 2.0 s' in say("en-us+f3")


def test_json_has_the_documented_keys(on_reference, capsys):
    _, data = run_json(capsys, "--say", "alexa", "--model", "alexa", "--npu", "ethos-u55-256")
    (sound,) = data.pop("sounds")
    (result,) = sound.pop("words").values()
    lengths = {len(result.pop(key)) for key in ("times", "raw", "means")}
    assert lengths == {data.pop("equal_to_reference")} and min(lengths) > 60
    assert sound.pop("seconds") == pytest.approx(2.2, abs=0.3)
    assert sound == {"title": '"alexa"', "file": "alexa.pcm"}
    assert result == {
        "detected_at": pytest.approx(1.7, abs=0.1),
        "verdict": "detected alexa at 1.7 s",
    }
    assert data == {
        "words": [{"name": "alexa", "phrase": "alexa", "cutoff": 0.9, "window": 5}],
        "board": "MPS3_AN547",
        "npu": "ethos-u55-256",
        "on": "qemu",
        "rom": str(on_reference / "build/demo/rom"),
        "instructions_per_10_ms": None,
        "try": 'listen(MicroFrontend(), Ring(4096), [Word("alexa", '
        'ethosu.Model("/rom/alexa.tflite"), 0.9, 5)], open("/rom/alexa.pcm", "rb"))',
    }


def test_the_picture_shows_each_sound_and_its_verdict(on_reference, capsys):
    path = on_reference / "demo.svg"
    run_json(capsys, "--picture", str(path))
    svg = ElementTree.parse(path).getroot()
    texts = [text.text for text in svg.findall(".//{*}text")]
    kinds = Counter(shape.get("class") for shape in svg.iter())
    assert '"okay nabu": detected okay_nabu at 1.9 s' in texts
    assert kinds["mean"] == kinds["sound"] == kinds["cutoff"] == 3 and kinds["detected"] == 2


def test_all_that_the_board_gets_is_kept_and_can_be_heard(on_reference, capsys):
    run_json(capsys)
    folder = on_reference / "build/demo"
    names = {path.name for path in (folder / "rom").iterdir()}
    models, sounds = {"okay_nabu.tflite", "alexa.tflite"}, {"okay_nabu.pcm", "hello_world.pcm"}
    assert names == {"listen.py"} | models | sounds
    with wave.open(str(folder / "okay_nabu.wav")) as file:
        assert file.getframerate() == 16000 and file.getnframes() > 32000


def test_a_recording_is_heard_like_speech(on_reference, capsys):
    run_json(capsys)
    recording = on_reference / "My recording.wav"
    (on_reference / "build/demo/okay_nabu.wav").rename(recording)
    code, data = run_json(capsys, "--wav", str(recording))
    (sound,) = data["sounds"]
    assert code == 0
    assert (sound["title"], sound["file"]) == ("My recording.wav", "my_recording.pcm")
    assert sound["words"]["okay_nabu"]["verdict"] == "detected okay_nabu at 1.9 s"


def test_a_board_has_its_own_npu(on_reference, capsys):
    words = ["--say", "alexa", "--model", "alexa", "--board", "GROVE_VISION_AI_V2"]
    assert cli.main(["demo", "wakeword", *words]) == 0
    expected = "qemu --board GROVE_VISION_AI_V2 --npu ethos-u55-64 --romfs"
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("on_path", [True, False])
def test_the_report_says_what_was_compared_and_how_to_go_on(
    on_reference, capsys, monkeypatch, on_path
):
    environment = Path(sys.executable).parent
    program = "ethosu" if on_path else demo._short(environment / "ethosu")
    others = [path for path in os.get_exec_path() if Path(path) != environment]
    monkeypatch.setenv("PATH", os.pathsep.join([str(environment), *others] if on_path else others))
    assert cli.main(["demo", "wakeword", "--say", "okay nabu"]) == 0
    text, progress = capsys.readouterr()
    assert '"okay nabu": detected okay_nabu at 1.9 s' in text
    assert "probabilities equals that of pymicro-features and TFLite's reference kernels" in text
    assert f"{program} qemu --npu ethos-u55-128 --romfs" in text
    assert "mpremote connect PORT repl" in text
    assert "\n1.89 s  okay_nabu  raw 2" in progress, (
        "without a terminal each answer is a plain line"
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--say", " "], 3, "there is no text to say"),
        (["--say", "hi", "--voice", "nobody"], 3, "cannot say it as nobody"),
        (["--wav", "none.wav"], 3, "none.wav cannot be read"),
        (["--output", __file__], 3, "test_command.py cannot be filled: "),
        (["--picture", f"{__file__}/a.svg", "--quiet"], 3, "a.svg cannot be written: "),
    ],
)
def test_bad_input_ends_in_one_sentence(on_reference, capsys, options, code, message):
    assert cli.main(["demo", "wakeword", *options]) == code
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "computer"], "okay_nabu"),
        (["--npu", "ethos-u99"], "ethos-u55-128"),
        (["--say", "a", "--wav", "b"], "not allowed with"),
    ],
)
def test_a_wrong_option_is_answered_with_the_right_ones(capsys, options, message):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["demo", "wakeword", *options])
    assert message in capsys.readouterr().err


def test_what_sound_costs_is_told_where_it_can_be_counted(on_reference, capsys, monkeypatch):
    counts = iter(range(0, 10**9, 10))
    monkeypatch.setattr(stage.listen, "instructions", lambda: next(counts))
    assert cli.main(["demo", "wakeword", "--say", "alexa", "--model", "alexa"]) == 0
    text = capsys.readouterr().out
    # Each call that is counted seems to take ten; several of the front end give one row.
    assert re.search(r"take 1\d instructions of the front end and 10 of the models", text)
    assert "0.0% of a CPU at 160 MHz" in text


def test_a_missing_program_is_named(on_reference, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(on_reference))
    assert cli.main(["demo", "wakeword"]) == 4
    assert "espeak-ng is not installed" in capsys.readouterr().err


def test_one_wrong_bit_is_a_mismatch(on_reference, capsys, monkeypatch):
    right = stage.PcModel.predict
    monkeypatch.setattr(stage.PcModel, "predict", lambda *args: [right(*args)[0] ^ 1])
    assert cli.main(["demo", "wakeword"]) == 6
    assert "answers differ from TFLite's reference kernels" in capsys.readouterr().err


def test_a_board_that_falls_silent_is_told_from_one_that_detects_nothing():
    with pytest.raises(BoardError, match="without a verdict; the last it said was nothing"):
        results.gather([], "w")
    with pytest.raises(BoardError, match=r"the last it said was '0\.03 s  w  raw   0  mean 0'"):
        results.gather(["v detected at 0.03 s", "0.03 s  w  raw   0  mean 0"], "w")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (results.Result([], [1, 2], [], None), "the board answered 2 times, .* 3 times"),
        (
            results.Result([], [1, 5, 3], [], None),
            "1 of 3 answers differ .* inference 2: 5 instead of 2",
        ),
        (results.Result([], [1, 2, 3], [], 0.09), r"detected the word at 0\.09 s instead of never"),
    ],
)
def test_each_difference_from_the_reference_is_named(found, message):
    with pytest.raises(MismatchError, match=message):
        results.compare(found, results.Result([], [1, 2, 3], [], None), "a sound")


def test_the_terminal_chart_rises_above_the_cutoff_and_ends_in_the_verdict():
    word = words.load("okay_nabu")
    console = Console(file=io.StringIO(), force_terminal=True, width=60, color_system=None)
    with plot.watch(console, "a title\x1b[2J", word, 3, 3.0) as show:
        for line in (
            "0.01 s  okay_nabu  raw   0  mean 0.000",
            "0.01 s  alexa  raw 255  mean 0.990",
            "0.02 s  okay_nabu  raw 255  mean 0.990",
        ):
            show(line)
        show("okay_nabu detected at 0.02 s")
        show("instructions per 10 ms: 1 front end, 2 models")
    text = console.file.getvalue()
    assert "a title\\x1b[2J" in text and "detected okay_nabu at 0.0 s" in text
    assert text.count("█") >= plot.HEIGHT - 1 and "0.85 ┤╌█╌" in text
