# SPDX-License-Identifier: MIT
"""Images without a step of the start-up that the chip needs fail when emulated."""

import shutil

import pytest
from ethosu_tools.boards import files
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.firmware.conftest import build
from host_tests.kit import firmware_image
from host_tests.kit.board_models import load, put, raised

BOARD = "KIT_PSE84_AI"
VARIANTS = """
[variants.SECURE]
npu_registers = [{ base = 0x44600000, irq = 38, secure = true }]
[variants.HASTY.define]
BOARD_COMPANION_MS = 0
"""


@pytest.fixture
def variant(emulator_only, repo, tmp_path):
    """Build a variant of the board's image."""
    folder = tmp_path / BOARD
    shutil.copytree(repo / "boards" / BOARD, folder)
    table = folder / files.FILE
    table.write_text(table.read_text() + VARIANTS)
    return lambda name: build(f"{BOARD}-{name}", f"BOARD={BOARD}-{name}", f"BOARD_DIR={folder}")


def test_the_npu_is_non_secure_and_privileged():
    assert firmware_image.of(BOARD).npu_security == bytes([False, True])


@pytest.mark.slow
def test_a_secure_npu_gets_bus_errors(variant, compiled, small_models, example):
    """An NPU left secure cannot access memories, which accept only non-secure accesses."""
    model = compiled(small_models["small_cnn"], "ethos-u55-128")
    with QemuBoard(Machine(emulated(BOARD, firmware=variant("SECURE")))) as board:
        load(board, model)
        put(board, example)
        assert "bus error" in raised(board, "m.predict([x])")


@pytest.mark.slow
def test_without_the_wait_for_the_other_core_nothing_is_switched_on(variant):
    """Until the other core has opened the peripherals, they ignore the start-up's writes.

    Time is based on instructions, since a busy host would slow the start-up enough to pass.
    """
    with QemuBoard(Machine(emulated(BOARD, firmware=variant("HASTY")), repeatable=True)) as board:
        board.exec("from machine import mem32")
        assert board.eval("[mem32[at] for at in (0x44004090, 0x44602000, 0x42004050)]") == [0] * 3
        assert board.eval("__import__('ethosu').npus()") == []
