# SPDX-License-Identifier: MIT
"""A board emulated as its chip has no emulator's registers; its bus may never answer."""

import struct

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.base.errors import BoardError, NoEmulatorError, RemoteError
from ethosu_tools.boards.setup import AS_CHIP_VARIABLE, emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit.board_models import run_until

CHIP = "NUMAKER_M55M1"
PAGE = boards.load(CHIP).qemu.page
SILENT = ["unmapped=silent"]
NO_ANSWER = "the bus never answers: read of 4 bytes at {:#010x}, where NUMAKER_M55M1 has nothing"
# This is EMULATOR_ID_VALUE of firmware/emulator/emulator_registers.h.
ID_VALUE = 0x45485531


def test_an_image_that_looks_for_the_emulator_on_the_bus_does_not_start(tmp_path):
    """An image that takes a chip's register, 0, for the emulator's ID then hangs on the bus."""
    image = paths.firmware(CHIP).read_bytes()
    fooled = tmp_path / "firmware.elf"
    fooled.write_bytes(image.replace(struct.pack("<I", ID_VALUE), bytes(4)))
    assert fooled.read_bytes() != image
    with pytest.raises(BoardError) as raised:
        QemuBoard(Machine(emulated(CHIP, as_chip=True, firmware=fooled), plugin_options=SILENT))
    assert NO_ANSWER.format(PAGE + 4) in str(raised.value)


def test_a_bus_that_never_answers_stops_the_board_with_a_message():
    with QemuBoard(Machine(emulated(CHIP, as_chip=True), plugin_options=SILENT)) as board:
        board.exec("import machine")
        with pytest.raises(BoardError) as raised:
            board.exec(f"machine.mem32[{PAGE:#x}]")
        assert NO_ANSWER.format(PAGE) in str(raised.value)


def test_its_registers_are_a_bus_error_by_default():
    with QemuBoard(Machine(emulated(CHIP, as_chip=True))) as board:
        fault = b"cause: bus error at data access"
        run_until(board, fault, f"import machine; machine.mem32[{PAGE:#x}]")


def test_the_environment_chooses_it_too(monkeypatch):
    monkeypatch.setenv(AS_CHIP_VARIABLE, "yes")
    with QemuBoard(Machine(emulated(CHIP))) as board:
        assert board.machine.state() == "is running"
        with pytest.raises(RemoteError, match=r"ImportError: .*not running on QEMU"):
            board.exec("import emulator")


def test_it_has_no_fast_console():
    with pytest.raises(NoEmulatorError, match=r"the console fast .* use uart"):
        Machine(emulated(CHIP, as_chip=True, console="fast"))
