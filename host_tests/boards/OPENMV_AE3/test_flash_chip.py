# SPDX-License-Identifier: MIT
"""A /rom larger than the board's memory is in a flash chip that only the emulator maps."""

import os

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import InputError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator import qemu
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.board_models import raised

FACTS = boards.load("OPENMV_AE3-M55_HP")
FILLED = os.urandom(3_000_000)


@pytest.fixture(scope="module")
def board(compiled, small_models):
    model = compiled(small_models["small_cnn"], FACTS.npus[0])
    files = {"1.bin": FILLED, "model.tflite": model.read_bytes()}
    with QemuBoard(Machine(emulated(FACTS.name), romfs=romfs.build(files))) as board:
        yield board


def test_models_run_in_place(board, example):
    _, x, wanted = example
    board.exec(
        "import ethosu, uctypes\nfrom array import array\nm = ethosu.Model('/rom/model.tflite')\n"
        "at = uctypes.addressof(memoryview(open('/rom/model.tflite', 'rb')))"
    )
    place = FACTS.qemu.romfs
    assert place.start < board.eval("at") < place.end
    assert "weights used in place" in board.eval("repr(m)")
    assert board.eval(f"bytes(m.predict([array('b', {x.tobytes()!r})])[0])") == wanted.tobytes()
    assert board.eval("hash(open('/rom/1.bin', 'rb').read(2000))") == board.eval(
        f"hash({FILLED[:2000]!r})"
    )


def test_flash_chip_is_read_only(board):
    found = raised(board, "__import__('vfs').rom_ioctl(3, 0, 1000)")
    assert found.startswith("OSError 30") and "flash chip" in found
    board.soft_reset()
    assert board.eval("len(memoryview(open('/rom/1.bin', 'rb')))") == len(FILLED)


def test_small_images_use_the_boards_own_memory():
    assert qemu.rom_span(FACTS, bytes(FACTS.romfs.size)) == FACTS.romfs
    assert qemu.rom_span(FACTS, bytes(FACTS.romfs.size + 1)) == FACTS.qemu.romfs
    with pytest.raises(InputError, match=f"/rom of {FACTS.name} has 25,165,824"):
        qemu.rom_span(FACTS, bytes(FACTS.qemu.romfs.size + 1))


def test_timed_runs_are_rejected():
    image = romfs.build({"1.bin": FILLED})
    with pytest.raises(InputError, match="omit --timed"):
        Machine(emulated(FACTS.name), romfs=image, timed=True)
