# SPDX-License-Identifier: MIT
"""The emulated DataWire controller refuses wrong descriptors and reports the cause."""

from collections.abc import Iterator

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

BOARD = "KIT_PSE84_AI"

# Channel 1, which the firmware does not use; its descriptor and the data are in the heap.
HELPERS = """
import time, uctypes
from machine import mem32
CHANNEL = 0x42278040
mem32[0x42270000] = 1 << 31  # the firmware does it at its first copy
COPY = 2 << 30 | 2 << 28 | 1 << 24 | 2 << 6 | 2 << 2
data = bytearray(512)
at = (uctypes.addressof(data) + 31) & ~31
source, target = at + 64, at + 256
row = 15 << 24 | 0x1001
for offset in range(64): uctypes.bytearray_at(source, 64)[offset] = offset
def transfer(control=COPY, source=source, target=target, x=row, y=0, next=0, pointer=at):
    for offset, word in enumerate((control, source, target, x, y, next)):
        mem32[at + 4 * offset] = word
    mem32[CHANNEL + 0x0C] = pointer
    mem32[CHANNEL + 0x10] = 1
    mem32[CHANNEL] = 1 << 31
    mem32[CHANNEL + 0x28] = 1
    time.sleep_ms(2)
    return mem32[CHANNEL + 0x04], mem32[CHANNEL + 0x10], mem32[CHANNEL] >> 31 & 1
"""


@pytest.fixture(scope="module")
def chip(emulator_only: None) -> Iterator[QemuBoard]:
    """Return the board, whose CPU and bus masters see the same bytes."""
    with QemuBoard(Machine(emulated(BOARD, coherence="off"), repeatable=True)) as board:
        board.exec(HELPERS)
        yield board


def test_a_descriptor_is_copied_and_the_channel_is_off(chip: QemuBoard) -> None:
    assert chip.eval("transfer()") == (1, 1, 0)
    assert chip.eval("bytes(uctypes.bytearray_at(target, 64))") == bytes(range(64))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ("source=0x90000000", 2),
        ("target=0x60600000", 3),
        ("source=source + 2", 4),
        ("target=target + 2", 5),
        ("pointer=0", 6),
        ("pointer=0x20000000", 8),  # DTCM has another address for bus masters
        ("control=COPY & ~(3 << 30)", 8),
        ("control=COPY & ~(3 << 6)", 8),
        ("next=at", 8),
        ("x=15 << 24 | 0x2001", 8),
        ("y=1 << 24", 8),
    ],
)
def test_what_it_cannot_copy_ends_with_its_cause(chip: QemuBoard, change: str, cause: int) -> None:
    assert chip.eval(f"transfer({change})") == (cause, 1, 0)


def test_neither_a_channel_nor_a_controller_that_is_off_starts(chip: QemuBoard) -> None:
    chip.exec("transfer()\nmem32[CHANNEL + 0x10] = 1\nmem32[CHANNEL + 0x28] = 1\ntime.sleep_ms(2)")
    assert chip.eval("mem32[CHANNEL + 0x10]") == 0
    chip.exec("mem32[0x42270000] = 0")
    assert chip.eval("transfer()") == (1, 0, 1), "the status of the last transfer"
    chip.exec("mem32[CHANNEL] = 0\nmem32[0x42270000] = 1 << 31")
