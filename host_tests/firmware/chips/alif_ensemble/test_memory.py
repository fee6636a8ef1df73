# SPDX-License-Identifier: MIT
"""Tests MRAM and aliases of TCM, which only Alif Ensemble boards have, on both cores."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import firmware_image
from host_tests.kit.board_models import load, raised
from host_tests.kit.lines import uart

BOARDS = [name for name in boards.names() if name.startswith("ALIF_ENSEMBLE_E7-")]
E8 = "ALIF_ENSEMBLE_E8-M55_HP"
# An unused part of the DTCM, and the DTCM's address for bus masters.
FREE = 0x20030000
ON_BUS = {"M55_HP": 0x50800000, "M55_HE": 0x58800000}
# Switches the memory protection unit off, which blocks stray stores to MRAM.
UNPROTECTED = "import machine\nmachine.mem32[0xE000ED94] = 0\n"


@pytest.fixture(scope="module", params=BOARDS)
def alif(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """Return each core in turn."""
    with QemuBoard(Machine(emulated(request.param))) as board:
        yield board


def disk(board: QemuBoard) -> int:
    """Return an address in the board's disk, past the area used by a fresh file system."""
    core = board.machine.board.name.partition("-")[2]
    return {"M55_HP": 0x804F0000, "M55_HE": 0x80570000}[core]


def test_a_store_of_a_partial_line_is_lost(alif):
    place = disk(alif)
    alif.exec(UNPROTECTED)
    old = alif.eval(f"machine.mem32[{place}]")
    alif.exec(f"machine.mem32[{place}] = {old ^ 1}\nmachine.mem32[{place + 16}] = 0")
    assert alif.eval(f"machine.mem32[{place}]") == old
    said = f"ram is written in lines of 16 bytes: a store of 4 bytes at {place:#010x} is lost"
    assert said in alif.machine.log()


LOST = "mram cannot be written while the CPU executes code from it: the line at"
# Python stores to a line; its interpreter is in MRAM.
STORES = "for i in range(4): machine.mem32[{place} + 4 * i] = i + 7"


def test_the_stores_of_a_line_arrive_together():
    with QemuBoard(Machine(emulated(E8))) as board:
        place = disk(board) + 0x1000
        board.exec(UNPROTECTED + STORES.format(place=place))
        assert board.eval(f"[machine.mem32[{place} + 4 * i] for i in range(4)]") == [7, 8, 9, 10]


def test_code_in_mram_cannot_write_it(alif):
    """On the E7's first revision, code in MRAM cannot write MRAM (Driver_MRAM.c, MRAM_write())."""
    place = disk(alif) + 0x1000
    old = alif.eval(f"[machine.mem32[{place} + 4 * i] for i in range(4)]")
    alif.exec(UNPROTECTED + STORES.format(place=place))
    assert alif.eval(f"[machine.mem32[{place} + 4 * i] for i in range(4)]") == old
    assert f"{LOST} {place:#010x} is lost" in alif.machine.log()


def test_the_firmware_writes_mram_by_code_outside_it(alif):
    """The firmware's write_lines() runs outside of MRAM, so a file can be written."""
    image = firmware_image.of(alif.machine.board.name)
    assert image.symbol("write_lines") & ~1 in range(0x0003FC00, 0x00040000)
    data, before = bytes(range(256)) * 20, alif.machine.log().count(LOST)
    alif.write_file("/data", data)
    assert alif.read_file("/data") == data
    assert alif.machine.log().count(LOST) == before


def test_a_stray_store_to_mram_is_a_fault_that_its_uart_reports(alif):
    name = alif.machine.board.name
    with Machine(emulated(name, console="uart")) as machine, uart.at_prompt(machine) as port:
        port.write(b"import machine; machine.mem32[%d] = 0\r" % disk(alif))
        said = port.read_until(b"skipped once.\r\n")
    assert b"*** Fault: MemManage" in said and b"address: %#010x" % disk(alif) in said


SCRATCH = f"""
import uctypes
m.deinit()
m = ethosu.Model({{model!r}}, arena=uctypes.bytearray_at({FREE}, 0x8000))
"""


def scratch_in_dtcm(board: QemuBoard, compiled: Path) -> str:
    load(board, compiled)
    board.exec(SCRATCH.format(model="/model.tflite"))
    return raised(board, "m.run_into()")


@pytest.fixture
def model(alif, compiled, small_models) -> Path:
    return compiled(small_models["small_cnn"], alif.machine.board.npus[0])


def test_scratch_in_dtcm(alif, model):
    """The NPU does not see DTCM at the CPU's address, so the board's table needs the alias."""
    assert scratch_in_dtcm(alif, model) == "nothing"


def without_alias(board: str, copy: Path) -> Path:
    """Make an image whose table lacks the DTCM's npu_address."""
    image = bytearray(paths.firmware(board).read_bytes())
    alias = struct.pack("<Q", ON_BUS[board.partition("-")[2]])
    start = image.find(struct.pack("<I", 0x20000000))
    while image[start + 12 : start + 20] != alias:
        start = image.find(struct.pack("<I", 0x20000000), start + 1)
        assert start > 0, "no row of the table begins there"
    image[start + 12 : start + 20] = bytes(8)
    copy.write_bytes(image)
    return copy


def test_scratch_in_dtcm_without_the_alias_is_a_bus_error(alif, model, tmp_path):
    name = alif.machine.board.name
    image = without_alias(name, tmp_path / "firmware.elf")
    with QemuBoard(Machine(emulated(name, firmware=image))) as board:
        assert "bus error" in scratch_in_dtcm(board, model)
