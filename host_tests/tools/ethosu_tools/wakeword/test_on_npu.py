# SPDX-License-Identifier: MIT
"""The demo with an NPU: simulated in this process, and on an emulated or real board.

Each run compares every probability with the reference and fails at the first that differs.
"""

import json
from pathlib import Path

import pytest
from ethosu_tools import cli, romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine
from ethosu_tools.wakeword import stage, words


@pytest.fixture
def run_demo(tmp_path, capsys):
    """Runs the demo, `run_demo("--on", "sim")`, in a folder of its own; gives its JSON."""

    def run(*options):
        code = cli.main(["demo", "wakeword", "--json", "--output", str(tmp_path), *options])
        output = capsys.readouterr()
        assert code == 0, output.err
        return json.loads(output.out)

    return run


@pytest.mark.parametrize("voice", ["en-us", "en-gb"])
@pytest.mark.parametrize("name", ["okay_nabu", "alexa"])
@pytest.mark.parametrize("text", ["okay nabu", "alexa", "hello world"])
def test_the_simulated_npu_hears_its_word_and_no_other(run_demo, name, text, voice):
    data = run_demo("--on", "sim", "--model", name, "--say", text, "--voice", voice)
    (sound,) = data["sounds"]
    result = sound["words"][name]
    assert (result["detected_at"] is not None) == (text == words.load(name).phrase)
    assert data["equal_to_reference"] == len(result["raw"]) > 60


def test_a_board_hears_the_word_and_nothing_else(run_demo, request, board_npu):
    """From samples in its ROM and over the console, with two models at once."""
    where = request.config.getoption("--ethosu-port") or "qemu"
    data = run_demo("--on", where, "--npu", board_npu)
    found = [
        [result["detected_at"] is not None for result in sound["words"].values()]
        for sound in data["sounds"]
    ]
    assert found == [[True, False], [False, False], [True, False]]
    assert data["sounds"][0]["words"]["okay_nabu"]["verdict"] == "detected okay_nabu at 1.9 s"
    assert data["equal_to_reference"] > 450
    counts = data["instructions_per_10_ms"]
    assert where != "qemu" or counts["front_end"] < 30_000


def test_the_lines_to_go_on_with_work_as_printed(run_demo, board_npu):
    data = run_demo("--on", "sim", "--npu", board_npu)
    image = romfs.load_image(Path(data["rom"]))
    with QemuBoard(Machine(data["npu"], romfs=image)) as board:
        board.exec(stage.IMPORTS)
        said = board.exec(data["try"], timeout=30)
    assert "okay_nabu detected at 1.89 s" in said.splitlines()
