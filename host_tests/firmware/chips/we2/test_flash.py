# SPDX-License-Identifier: MIT
"""The controller maps the flash as memory only if it is set up for reads of this chip."""

from collections.abc import Callable, Iterator

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.board_models import raised

BOARD = "GROVE_VISION_AI_V2"
FLASH, ROM, MAPPING = 0x3A000000, 0x3A200000, 0x53070B00
START = 0x53426B63  # "ckBS", which begins Himax's images

# Reads the flash and sets the controller directly, with the MPU off, which has it read-only. The
# values are those of Himax's flash_dump(): swdflash.py.
HELPERS = f"""
import dma, ethosu, vfs
from machine import mem32
ORDER = (8, 0, 4, 0x10, 0x14, 0xF4, 0x100, 0x104, 0x108, 0x10C)
QUAD = {{8: 0, 0: 0x80800807, 4: 9, 0x10: 1, 0x14: 4, 0xF4: 0x104218, 0x100: 0x6B, 0x104: 0x6B,
        0x108: 0x08410462, 0x10C: 1}}
def word(offset): return mem32[{FLASH} + offset] & 0xFFFFFFFF
def by_hand(enable=1, **changes):
    values = dict(QUAD)
    values.update((int(name[1:], 16), value) for name, value in changes.items())
    protection = mem32[0xE000ED94]
    mem32[0xE000ED94] = 0
    mem32[{MAPPING}] = 0
    for offset in ORDER: mem32[{FLASH} + offset] = values[offset]
    mem32[{FLASH} + 8] = enable
    mem32[{MAPPING}] = 2
    mem32[0xE000ED94] = protection
    return word(0)
"""


@pytest.fixture(scope="module")
def image(proven: Callable[[str], bytes]) -> bytes:
    """Make a ROM image with a model that has a self-test."""
    return romfs.build({"m.tflite": proven("ethos-u55-64")})


def start(image: bytes, *faults: str) -> QemuBoard:
    options = [f"fault={fault}" for fault in faults]
    return QemuBoard(Machine(emulated(BOARD), romfs=image, plugin_options=options))


@pytest.fixture(scope="module")
def board(emulator_only: None, image: bytes) -> Iterator[QemuBoard]:
    with start(image) as board:
        board.exec(HELPERS)
        yield board


def is_used_in_place(board: QemuBoard) -> bool:
    """Whether the NPU reads a model's weights from the flash, with the reference's results."""
    board.exec("import ethosu\nm = ethosu.Model('/rom/m.tflite')")
    copied = board.eval("m.info()['copied_bytes']")
    return bool(copied == 0 and board.eval("m.selftest()"))


def test_the_start_up_maps_it(board):
    assert board.eval(f"[word(0), mem32[{MAPPING}]]") == [START, 2]
    assert is_used_in_place(board)


def test_a_copy_by_dma_reads_it(board):
    board.exec("rom, to = vfs.rom_ioctl(2, 0), ethosu.buffer(8192)")
    board.exec("before = dma.counters()\ndma.copy(to, rom[:8192])\nafter = dma.counters()")
    assert board.eval("[after['errors'] - before['errors'], bytes(to) == bytes(rom[:8192])]") == [
        0,
        True,
    ]


def test_it_is_mapped_again_after_a_reset(board):
    board.reset()
    assert is_used_in_place(board)
    board.exec(HELPERS)


def test_without_the_chip_s_quad_mode_two_lines_are_used(emulator_only, image):
    with start(image, "flash.no-quad") as board:
        assert (
            "flash is not readable, wrong or missing: the chip's quad mode" in board.machine.log()
        )
        assert is_used_in_place(board)


def test_a_flash_that_does_not_answer_is_no_rom(emulator_only, image):
    """If the flash does not answer, the prompt starts without /rom, not with register values."""
    with start(image, "flash.dead") as board:
        board.exec("import os, vfs")
        assert board.eval("'rom' in os.listdir('/')") is False
        assert board.eval("vfs.rom_ioctl(2, 0)") == -19  # ENODEV
        assert board.eval(f"__import__('machine').mem32[{MAPPING}]") == 0
        assert "flash --rom" in raised(board, "vfs.rom_ioctl(3, 0, 4096)")


def test_before_it_is_mapped_there_are_registers(board):
    """Before it is mapped, the flash's addresses show registers, as on the chip."""
    board.exec(f"mem32[{MAPPING}] = 0")
    assert board.eval(f"[word(0x100), word({ROM - FLASH} + 0x100), word(8)]") == [0x6B, 0x6B, 1]
    board.exec(f"mem32[{MAPPING}] = 2")
    assert board.eval("word(0)") == START


@pytest.mark.parametrize(
    "change",
    [
        "enable=0",
        "x0=0x807",  # controller is not the master
        "x0=0x80800407",  # controller transmits
        "x0=0x80400807",  # two lines for data, four in XIP_CTRL
        "x0=0x80800907",  # wrong phase of the clock
        "x14=3",
        "x14=0",
        "x100=0xEB",  # another instruction for bursts that wrap
        "x100=0xEB, x104=0xEB",  # which has its address on four lines
        "x104=0x0B, x100=0x0B",
        "x108=0x08410461",
        "x108=0x08410466",  # address on four lines
        "x108=0x08410482",  # 32 bits of address
        "x108=0x08410262",  # 4 bits of instruction
        "x108=0x08010462",  # no instruction
        "x108=0x0840C462",  # 6 cycles
        "x108=0x08411462",  # mode bits
        "x108=0x08490462",  # double rate
        "x10C=0",
    ],
)
def test_another_setting_does_not_map_it(board, change):
    assert board.eval(f"by_hand({change})") != START
    assert board.eval("by_hand()") == START


@pytest.mark.parametrize(
    "change",
    [
        "x0=0x80400807, x100=0x3B, x104=0x3B, x108=0x08410461",
        "x100=0xEB, x104=0xEB, x108=0x0840C466",
        "x0=0x80400807, x100=0xBB, x104=0xBB, x108=0x08408465",
    ],
)
def test_the_chip_s_other_instructions_map_it(board, change):
    """Dual output, quad I/O and dual I/O reads map it (WB_25Q128JW_instruction_table.h)."""
    assert board.eval(f"by_hand({change})") == START
    assert board.eval("by_hand()") == START


# The NPU copies the first 1,024 bytes of the ROM.
COPY = """
import struct
words = (0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 1024, 0x10, 0x11, 0xFFFF0000)
job = struct.pack('<4sIII11I', b'COP1', 5, 5, 2 | 11 << 16, *words)
rom, target = vfs.rom_ioctl(2, 0)[:1024], ethosu.buffer(1024)
expected = bytes(rom)
def copy():
    target[:] = bytes(1024)
    with ethosu.reserve(timeout_ms=1000) as npu:
        npu.invoke(job, [rom, target], timeout_ms=1000)
    return target == expected
"""


def test_the_npu_cannot_read_it_before(board):
    board.exec(COPY)
    assert board.eval("copy()") is True
    board.exec(f"mem32[{MAPPING}] = 0")
    assert "bus error" in raised(board, "copy()")
    assert "flash is not mapped by its controller" in board.machine.log()
    board.exec(f"mem32[{MAPPING}] = 2")
    assert board.eval("copy()") is True
