# SPDX-License-Identifier: MIT
"""The released image for a chip does not contain emulator-only code."""

import pytest
from ethosu_tools import boards
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from host_tests.firmware.conftest import build
from host_tests.firmware.emulator.test_without_emulator import _objects

CHIPS = [name for name in boards.names() if boards.load(name).flash and boards.load(name).qemu]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHIPS)
def test_it_starts_and_does_not_look_for_the_emulator(name):
    image = build(f"{name}-no-emulator", f"BOARD={name}", "BOARD_EMULATOR=no")
    assert _objects(image) == []
    with QemuBoard(Machine(board=name, firmware=image, console="uart")) as board:
        assert board.eval("__import__('ethosu').npus()") == list(boards.load(name).npus)
