# SPDX-License-Identifier: MIT
"""Tests the console on a 16550 and on an SCB, on each emulated board that has one."""

from collections.abc import Iterator

import pytest
from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.firmware.console.test_uart import flood
from host_tests.kit import matrix

from . import EMULATED

BY_DRIVER = {
    driver: [name for name in EMULATED if boards.table(name)["uart"].get("driver") == driver]
    for driver in ("16550", "scb")
}
WITH_EITHER = [name for names in BY_DRIVER.values() for name in names]
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

# The divisor, and its fraction in sixteenths.
DIVISOR = """
from machine import mem32
def divisor(base):
    line = mem32[base + 0x0C]
    mem32[base + 0x0C] = line | 0x80
    value = mem32[base] << 4 | mem32[base + 4] << 12 | mem32[base + 0xC0]
    mem32[base + 0x0C] = line
    return value
"""


@pytest.fixture(scope="module", params=BY_DRIVER["16550"])
def uart_only(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """Return a board without the emulator's fast console."""
    with QemuBoard(Machine(emulated(request.param, console="uart"))) as board:
        yield board


# One board per device is enough, since test_every_board.py tests input on each board.
@pytest.mark.parametrize(
    "uart_only",
    matrix.cases(WITH_EITHER, [names[0] for names in BY_DRIVER.values()]),
    indirect=True,
)
def test_nothing_is_lost_at_full_speed(uart_only: Board) -> None:
    """Nothing is lost when more than ring and FIFO hold arrives while no program reads."""
    flood(uart_only, 12_000)


def test_terminal_and_board_agree_on_the_speed(uart_only: QemuBoard) -> None:
    base, clock = CLOCKS[uart_only.machine.board.name]
    uart_only.exec(DIVISOR)
    sixteenths = uart_only.eval(f"divisor({base})")
    assert clock / sixteenths == pytest.approx(115_200, rel=0.01)


# The SCB's clock, from CLK_HF10 by the 16-bit divider 1 of its group; the clocks of a bit.
SCB = (0x429A0000, 0x42043404, 100_000_000)


@pytest.mark.parametrize("uart_only", BY_DRIVER["scb"], indirect=True)
def test_terminal_and_scb_agree_on_the_speed(uart_only: QemuBoard) -> None:
    base, divider, clock = SCB
    uart_only.exec("from machine import mem32")
    divisor = uart_only.eval(f"(mem32[{divider}] >> 8 & 0xFFFF) + 1")
    oversampling = uart_only.eval(f"(mem32[{base}] & 15) + 1")
    assert 8 <= oversampling <= 16
    assert clock / divisor / oversampling == pytest.approx(115_200, rel=0.001)


# With a wrong divider, pins without their function, or nine bits, bytes must not get through.
SPOILED = {
    "speed": (0x42043404, 0x2000, "the speed is not a standard baud rate"),
    "pins": (0x42800064, 0, "no pin is connected"),
    "format": (0x429A0200, 8, "the format is not eight bits and one stop bit"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_an_scb_that_is_set_up_wrongly_is_silent(what: str) -> None:
    register, value, reason = SPOILED[what]
    with QemuBoard(Machine(emulated(BY_DRIVER["scb"][0]))) as board:
        board.exec(f"from machine import mem32\nsaved = mem32[{register}]")
        board.exec(
            f"mem32[{register}] = {value}\nmem32[0x429A0240] = 65\nmem32[{register}] = saved"
        )
        assert f"uart: {reason}: bytes are lost" in board.machine.log()
