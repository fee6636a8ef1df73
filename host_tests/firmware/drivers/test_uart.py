# SPDX-License-Identifier: MIT
"""The console on a 16550, on each emulated board that has one."""

from collections.abc import Iterator

import pytest
from ethosu_tools.board import Board, QemuBoard
from ethosu_tools.qemu import Machine

from host_tests.firmware.test_uart import flood
from host_tests.kit import matrix

from . import EMULATED, table

WITH_16550 = [name for name in EMULATED if table(name)["uart"].get("driver") == "16550"]
# Base, and the input clock of the divisor (from the boards' pages); all tools use 115,200 baud.
CLOCKS = {
    "ALIF_ENSEMBLE_E7-M55_HP": (0x4901C000, 100_000_000),
    "ALIF_ENSEMBLE_E7-M55_HE": (0x4901A000, 100_000_000),
    "ALIF_ENSEMBLE_E8-M55_HP": (0x4901C000, 100_000_000),
    "ALIF_ENSEMBLE_E8-M55_HE": (0x4901A000, 100_000_000),
    "OPENMV_AE3-M55_HP": (0x4901C000, 100_000_000),
    "OPENMV_AE3-M55_HE": (0x4901D000, 100_000_000),
    "GROVE_VISION_AI_V2": (0x54003000, 24_000_000),
}

# The divisor, and its sixteenths.
DIVISOR = """
from machine import mem32
def divisor(base):
    line = mem32[base + 0x0C]
    mem32[base + 0x0C] = line | 0x80
    value = mem32[base] << 4 | mem32[base + 4] << 12 | mem32[base + 0xC0]
    mem32[base + 0x0C] = line
    return value
"""


@pytest.fixture(scope="module", params=WITH_16550)
def uart_only(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """Each board in turn, without the emulator's fast console."""
    with QemuBoard(Machine(board=request.param, console="uart")) as board:
        yield board


# One board has the device; that input arrives on each board, test_every_board.py shows.
@pytest.mark.parametrize("uart_only", matrix.cases(WITH_16550, WITH_16550[:1]), indirect=True)
def test_nothing_is_lost_at_full_speed(uart_only: Board) -> None:
    """More than ring and FIFO hold, sent while the program is not reading."""
    flood(uart_only, 12_000)


def test_terminal_and_board_agree_on_the_speed(uart_only: QemuBoard) -> None:
    base, clock = CLOCKS[uart_only.machine.board.name]
    uart_only.exec(DIVISOR)
    sixteenths = uart_only.eval(f"divisor({base})")
    assert clock / sixteenths == pytest.approx(115_200, rel=0.01)
