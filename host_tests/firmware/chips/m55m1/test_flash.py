# SPDX-License-Identifier: MIT
"""The ROM file system and / are erased, programmed and read back in the chip's flash."""

import os
import struct
import zlib
from collections.abc import Iterator

import pytest
from ethosu_tools.base.errors import BoardResetError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.deploy import deploy
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.firmware.chips.m55m1.test_devices import HELPERS

BOARD = "NUMAKER_M55M1"
# More than a page of flash, and not a multiple of the programming unit.
OLD = {"a.bin": bytes(range(251)) * 80, "b.txt": b"stays"}
NEW = {"a.bin": bytes(range(250, 0, -1)) * 90}


@pytest.fixture(params=["off", "strict"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Start the board with and without a data cache, which the flash controller bypasses."""
    with Machine(emulated(BOARD, coherence=request.param)) as machine:
        yield machine


def test_rom_and_files_survive_a_power_cut(machine):
    deploy(machine.port, OLD)
    deploy(machine.port, NEW)
    data = os.urandom(20_000)
    with QemuBoard(machine) as board:
        board.write_file("/data", data)
        board.exec("import emulator")
        board.start("emulator.fault('board.power-loss')\nimport time\ntime.sleep(9)")
        with pytest.raises(BoardResetError, match="restarted"):
            board.finish()
        assert board.read_file("/data") == data
        assert board.read_file("/rom/a.bin") == NEW["a.bin"]
        assert board.read_file("/rom/b.txt") == OLD["b.txt"]


def test_the_disk_is_as_large_as_its_memory(machine):
    with QemuBoard(machine) as board:
        block, _, count = board.eval("__import__('os').statvfs('/')[:3]")
    assert block == 8192 and block * count == 0x00300000 - 0x00280000


# A new image waiting to be moved, and its record in the last page: firmware/storage/romfs.c.
WAITS = """
def program(address, data):
    isp(0x22, address)
    for at in range(0, len(data), 8):
        isp(0x61, address + at, *struct.unpack_from("<2I", data, at))
"""
RECORD = struct.pack("<3I", 0x45564F4D, 0x8000, 64)
OR = ~(0x45564F4D ^ 0x8000 ^ 64 << 1) & 0xFFFFFFFF


@pytest.mark.parametrize("check", [zlib.crc32(RECORD), OR], ids=["CRC", "exclusive or"])
def test_a_journal_is_valid_only_with_its_crc(machine, check):
    """Two wrong bits make a journal invalid; an XOR of its words would miss them."""
    new = romfs.build({"b.txt": b"moved"}).ljust(64)
    start, size = machine.board.romfs.start, machine.board.romfs.size
    deploy(machine.port, OLD)
    with QemuBoard(machine) as board:
        board.exec(HELPERS + "import struct" + WAITS)
        board.exec(f"program({start + 0x8000}, {new!r})")
        board.exec(f"program({start + size}, {RECORD + struct.pack('<I', check)!r})")
        board.reset()
        assert board.read_file("/rom/b.txt") == (OLD["b.txt"] if check == OR else b"moved")
