# SPDX-License-Identifier: MIT
"""The examples and the pages' code run on the board, as they stand."""

import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import arrays, cli, live_rom, make_model, models, objects, romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from modules.ethosu.runtime.conftest import vela  # noqa: F401
from modules.ethosu.runtime.executorch import made
from modules.ethosu.runtime.executorch.conftest import raw  # noqa: F401

REPO = Path(__file__).resolve().parents[4]
MODULE = REPO / "modules/ethosu"
EXAMPLES = sorted((MODULE / "examples").glob("*.py"))
PAGES = [
    *sorted((MODULE / "docs").glob("*.md")),
    *(MODULE / "README.md", REPO / "README.md", REPO / "docs/tutorial.md"),
]
EXPECTED = {
    "assistant": "wake\r\n",
    "anomaly": "vibration 0.1 anomaly 0.0\r\n",
    "camera": "frame 3 ",
    "image": "class ",
    "keyword": "heard ",
    "low_level": "done: True",
    "objects": "red ",
    "pmu": "MAC unit busy ",
    "selftest": "self-test passed: True",
    "tensor_dma": "in place: the same",
    "two_models": "sound ",
    "wake_word": "heard ",
}


PYTORCH = MODULE / "docs/pytorch.md"


def blocks(page, language="python"):
    found = rf"^```{language}\n(.*?)^```$"
    return re.findall(found, page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def spotter(small_models, board_npu, raw):  # noqa: F811
    """What stands for the page's keyword spotter: a program with as many outputs, and labels."""
    program = made.quantised_ends(small_models["small_cnn"], raw(board_npu))
    program.constant_method("get_labels", *(f"word {index}" for index in range(10)))
    return program.encode()


def keyword_model():
    """What stands for MLPerf Tiny's keyword model: as many features and words."""
    net = make_model.Net("keywords", 3)
    x = net.conv(net.input((1, 49, 10, 1)), 8, kernel=(10, 4), stride=(2, 2))
    x = net.dense(net.reshape(x, (1, 25 * 5 * 8)), 12, gain=8.0)
    net.graph.outputs.append(net.softmax(x).tensor)
    return make_model.write([net.graph], "keywords: random weights")


@pytest.fixture(scope="module")
def rom(request, board_npu, compiled, spotter, tmp_path_factory):
    """A board with the models that examples and pages load."""
    if request.config.getoption("--ethosu-port"):
        pytest.skip("would replace the ROM file system of a real board")
    keywords = tmp_path_factory.mktemp("keywords") / "kws.tflite"
    keywords.write_bytes(keyword_model())
    files = live_rom.files(board_npu) | objects.rom_files(board_npu)
    files["kws.tflite"] = compiled(keywords, board_npu).read_bytes()
    files["kws.pte"] = spotter
    with QemuBoard(Machine(board_npu, romfs=romfs.build(files))) as board:
        yield board


def test_the_assistant_understands_words_after_the_wake_word(
    rom, board_npu, compiled, shared_models
):
    """With the real keyword model, and words that it understands when espeak-ng says them."""
    real = compiled(shared_models / "kws_ref_model.tflite", board_npu).read_bytes()
    rom.soft_reset()
    rom.write_file("/kws.tflite", real)
    code = (MODULE / "examples/assistant.py").read_text().replace("/rom/kws", "/kws")
    assert rom.exec(code, timeout=30) == "wake\r\nyes\r\n"


def test_every_example_is_expected_to_say_something():
    assert {path.stem for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(rom, path):
    rom.soft_reset()
    assert EXPECTED[path.stem] in rom.exec(path.read_text(), timeout=30)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_page(rom, page):
    rom.soft_reset()
    assert blocks(page)
    for block in blocks(page):
        rom.exec(block, timeout=30)


@pytest.fixture
def exporter(spotter, tmp_path):
    """A Python with ExecuTorch: the one that EXECUTORCH_PYTHON names, else a stand-in."""
    if os.environ.get("EXECUTORCH_PYTHON"):
        return os.environ["EXECUTORCH_PYTHON"]
    (tmp_path / "ready").write_bytes(spotter)
    path = tmp_path / "python"
    path.write_text(
        f"#!{sys.executable}\nimport json, shutil, sys\n"
        f"if sys.argv[1] != '-c':\n"
        f"    shutil.copy({str(tmp_path / 'ready')!r}, json.loads(sys.argv[2])['output'])\n"
    )
    path.chmod(0o755)
    return str(path)


def test_commands_of_the_page_on_pytorch(exporter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(PYTORCH, "py")
    Path("kws.py").write_text(code)
    lines = [line for block in blocks(PYTORCH, "sh") for line in block.splitlines()]
    assert len(lines) == 8
    for line in lines:
        words = shlex.split(line)[1:]
        if words[0] == "compile":
            words += ["--python", exporter]
        if words[0] == "run":
            inputs = arrays.random_inputs(
                models.describe(Path("kws.pte")).inputs, np.random.default_rng(0)
            )
            np.savez("in.npz", **{"0": inputs[0]})
        if words[0] == "deploy":
            words[words.index("--on") :] = ["-o", "rom.img"]
        assert cli.main(words) == 0, capsys.readouterr().err
    assert "get_labels" in capsys.readouterr().out
