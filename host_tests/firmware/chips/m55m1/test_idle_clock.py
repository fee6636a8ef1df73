# SPDX-License-Identifier: MIT
"""NPU and DMA controller can read the flash while the CPU sleeps: its clock stays on."""

from collections.abc import Callable, Iterator

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.board_models import raised

BOARD = "NUMAKER_M55M1"
CLOCK, IDLE = 0x4000123C, 1  # CLK_FMCCTL, FMC0CKEN

HELPERS = f"""
import dma, ethosu, time, vfs
from machine import mem32
def idle_clock(on): mem32[{CLOCK}] = mem32[{CLOCK}] & ~{IDLE} | on
m = ethosu.Model('/rom/m.tflite')
rom, target = vfs.rom_ioctl(2, 0), ethosu.buffer(32768)
def errors():
    before = dma.counters()['errors']
    dma.copy(target, rom[:len(target)])
    return dma.counters()['errors'] - before
"""


@pytest.fixture(scope="module", params=[False, True], ids=["host's time", "instructions' time"])
def board(request: pytest.FixtureRequest, proven: Callable[[str], bytes]) -> Iterator[QemuBoard]:
    """Return the board with a model in its flash."""
    image = romfs.build({"m.tflite": proven("ethos-u55-256")})
    machine = Machine(emulated(BOARD), romfs=image, repeatable=request.param)
    with QemuBoard(machine) as board:
        board.exec(HELPERS)
        yield board


def test_npu_and_dma_read_the_flash_while_the_cpu_sleeps(board):
    assert board.eval("m.selftest()") is True
    assert board.eval("[errors(), target == rom[:len(target)]]") == [0, True]


def test_without_its_clock_the_npu_gets_a_bus_error(board):
    """Without its clock, the flash does not answer; with the clock, the same model is exact."""
    board.exec("idle_clock(0)")
    assert "bus error" in raised(board, "m.selftest()")
    assert "FLASH has no clock while the CPU sleeps" in board.machine.log()
    board.exec("idle_clock(1)")
    assert board.eval("m.selftest()") is True


def test_without_its_clock_the_cpu_repeats_the_copy(board):
    board.exec("idle_clock(0)")
    assert board.eval("[errors(), target == rom[:len(target)]]") == [1, True]
    board.exec("idle_clock(1)\ndma.enable(True)")
    assert board.eval("errors()") == 0


def test_the_cpu_itself_reads_the_flash_without_that_clock(board):
    board.exec("idle_clock(0)")
    assert board.eval("bytes(rom[:4]) == bytes(memoryview(rom)[:4])") is True
    board.exec("idle_clock(1)")
