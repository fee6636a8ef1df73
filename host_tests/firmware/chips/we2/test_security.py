# SPDX-License-Identifier: MIT
"""The start-up must make NPU, DMA0 and flash secure; without that, they fail."""

from collections.abc import Iterator

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit.board_models import raised

BOARD = "GROVE_VISION_AI_V2"

# A register, the bits that mean "not secure", and the bits that the start-up leaves set.
NPU_REGISTERS = (0x53070884, 1 << 2, 0)  # SCU_APB2_PPC_CFG_NS
DMA_REGISTERS = (0x53070858, 1 << 17, 1 << 1)  # SCU_AHB1M4_PPC_CFG_APNS
FLASH = [
    (0x53070840, 1 << 16, 1),  # SCU_DWC_PPC_CFG_APNS
    (0x53070848, 1 << 16, 1),  # SCU_ISP_PPC_CFG_APNS
    (0x53070858, 1 << 19, 1 << 3),  # SCU_AHB1M4_PPC_CFG_APNS
]
NPU_MASTER = (0x5307080C, 0x0101, 0)  # SCU_U55_AXIMSC_CFG
DMA_MASTER = (0x53070810, 1 << 24, 0)  # SCU_DMA0_AHBMSC_IDAUCFG

HELPERS = """
import dma, ethosu
from machine import mem32
def set_bits(register, bits, on):
    mem32[register] = mem32[register] & ~bits | bits * on
source, target = ethosu.buffer(8192), ethosu.buffer(8192)
source[:] = bytes(range(256)) * 32
def copy():
    target[:] = b'U' * 8192
    before = dma.counters()
    dma.copy(target, source)
    after = dma.counters()
    names = 'errors', 'cpu_copies', 'transfers'
    return [after[name] - before[name] for name in names], bytes(target[:4])
"""


@pytest.fixture
def board(emulator_only: None) -> Iterator[QemuBoard]:
    with QemuBoard(Machine(emulated(BOARD, coherence="off"))) as board:
        board.exec(HELPERS)
        yield board


def set_bits(board: QemuBoard, where: tuple[int, int, int], on: bool) -> None:
    board.exec(f"set_bits({where[0]}, {where[1]}, {on})")


def test_the_start_up_makes_all_of_them_secure(board):
    """The start-up corrects each of these bits, which are wrong in the emulator after a reset."""
    for register, bits, left in (NPU_REGISTERS, DMA_REGISTERS, *FLASH, NPU_MASTER, DMA_MASTER):
        assert board.eval(f"mem32[{register}]") & (bits | left) == left, hex(register)


def test_npu_and_dma_work(board, proven):
    board.write_file("/m.tflite", proven("ethos-u55-64"))
    assert board.eval("ethosu.Model('/m.tflite').selftest()") is True
    assert board.eval("copy()") == ([0, 0, 1], bytes(range(4)))


def test_an_npu_that_is_no_secure_master_gives_wrong_results_and_no_error(board, proven):
    """Only a comparison of results finds an NPU that is no secure master."""
    board.write_file("/m.tflite", proven("ethos-u55-64"))
    set_bits(board, NPU_MASTER, True)
    assert "differs from the golden one" in raised(board, "ethosu.Model('/m.tflite').selftest()")
    assert "npu: as a bus master it is not secure: it reads zeros" in board.machine.log()
    set_bits(board, NPU_MASTER, False)
    assert board.eval("ethosu.Model('/m.tflite').selftest()") is True


def test_a_controller_that_is_no_secure_master_copies_nothing_and_reports_no_error(board):
    set_bits(board, DMA_MASTER, True)
    assert board.eval("copy()") == ([0, 0, 1], b"UUUU")
    assert "dma: as a bus master it is not secure" in board.machine.log()
    set_bits(board, DMA_MASTER, False)
    assert board.eval("copy()") == ([0, 0, 1], bytes(range(4)))


@pytest.mark.parametrize(
    ("where", "register"),
    [
        (NPU_REGISTERS, 0x53020000),
        (DMA_REGISTERS, 0x50000FE0),
        *((gate, 0x3A000000) for gate in FLASH),
    ],
)
def test_what_is_protected_reads_as_zero(board, where, register):
    before = board.eval(f"mem32[{register}]")
    assert before
    set_bits(board, where, True)
    assert board.eval(f"mem32[{register}]") == 0
    set_bits(board, where, False)
    assert board.eval(f"mem32[{register}]") == before
