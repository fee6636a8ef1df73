# SPDX-License-Identifier: MIT
"""The examples and the pages' code run on the board, as they stand."""

import re
from pathlib import Path

import pytest
from ethosu_tools import romfs, selftest
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from modules.ethosu.runtime.conftest import vela  # noqa: F401
from modules.ethosu.runtime.executorch import made
from modules.ethosu.runtime.executorch.conftest import raw  # noqa: F401

REPO = Path(__file__).resolve().parents[4]
MODULE = REPO / "modules/ethosu"
EXAMPLES = sorted((MODULE / "examples").glob("*.py"))
PAGES = [*sorted((MODULE / "docs").glob("*.md")), MODULE / "README.md", REPO / "README.md"]
EXPECTED = {
    "anomaly": "vibration 0.1 anomaly 0.0\r\n",
    "camera": "frame 3 ",
    "image": "class ",
    "keyword": "heard ",
    "low_level": "done: True",
    "pmu": "MAC unit busy ",
    "selftest": "self-test passed: True",
    "tensor_dma": "in place: the same",
    "two_models": "sound ",
    "wake_word": "heard ",
}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def rom(request, board_npu, compiled, small_models, raw, tmp_path_factory):  # noqa: F811
    """A board with the models that examples and pages load."""
    if request.config.getoption("--port"):
        pytest.skip("would replace the ROM file system of a real board")
    proven = tmp_path_factory.mktemp("proven") / "proven.tflite"
    proven.write_bytes(compiled(small_models["small_cnn"], board_npu).read_bytes())
    selftest.add(small_models["small_cnn"], proven)
    files = {
        f"{name}.tflite": compiled(path, board_npu).read_bytes()
        for name, path in small_models.items()
    }
    files["small_cnn_vela.tflite"] = files["small_cnn.tflite"]
    files["small_cnn.pte"] = made.quantised_ends(small_models["small_cnn"], raw(board_npu)).encode()
    image = romfs.build(files | {"proven.tflite": proven.read_bytes()})
    with QemuBoard(Machine(board_npu, romfs=image)) as board:
        yield board


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
