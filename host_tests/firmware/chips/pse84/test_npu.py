# SPDX-License-Identifier: MIT
"""The NPU of the chip is non-secure: its memories accept no other accesses."""

import shutil

import pytest
from ethosu_tools import board_files
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from host_tests.firmware.conftest import build
from host_tests.kit import firmware_image
from host_tests.kit.board_models import load, put, raised

BOARD = "KIT_PSE84_AI"
SECURE = """
[variants.SECURE]
npu_registers = [{ base = 0x44600000, irq = 38, secure = true }]
"""


@pytest.fixture
def secure(repo, tmp_path):
    """The board's image with a secure NPU."""
    folder = tmp_path / BOARD
    shutil.copytree(repo / "boards" / BOARD, folder)
    table = folder / board_files.FILE
    table.write_text(table.read_text() + SECURE)
    return build(f"{BOARD}-SECURE", f"BOARD={BOARD}-SECURE", f"BOARD_DIR={folder}")


def test_its_image_makes_it_non_secure_and_privileged():
    assert firmware_image.of(BOARD).npu_security == bytes([False, True])


def test_a_secure_one_gets_bus_errors(emulator_only, secure, compiled, small_models, example):
    model = compiled(small_models["small_cnn"], "ethos-u55-128")
    with QemuBoard(Machine(board=BOARD, firmware=secure)) as board:
        load(board, model)
        put(board, example)
        assert "bus error" in raised(board, "m.predict([x])")
