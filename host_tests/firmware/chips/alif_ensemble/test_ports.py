# SPDX-License-Identifier: MIT
"""Each memory needs the right port of the NPU; through another, a model gives a bus error."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.firmware.patch import patched
from host_tests.kit import firmware_image, sharing
from host_tests.kit.board_models import put, raised

E7, E8 = "ALIF_ENSEMBLE_E7-M55_HP", "ALIF_ENSEMBLE_E8-M55_HP"
# Words of a row of struct ethosu_memory, and the word with masters, port, cache and access.
ROW, WORD = 8, 6
PORT = 0xFF00
RUN = "m = ethosu.Model({})\nprint(bytes(m.predict([x])[0]) == golden)"


@pytest.fixture
def model(compiled: Callable[..., Path], small_models: dict[str, Path]) -> Callable[[str], bytes]:
    return lambda npu: compiled(small_models["small_cnn"], npu).read_bytes()


def without_port(name: str, memory: str, copy: Path) -> Path:
    """Make an image in which the row of a memory names no port."""
    sharing.make("firmware", f"BOARD={name}")
    rows = [row.name for row in firmware_image.of(name).memories]
    word, image = ROW * rows.index(memory) + WORD, paths.firmware(name)
    old = patched(image, copy, "memories", word, 0)
    assert old & PORT
    patched(image, copy, "memories", word, old & ~PORT)
    return copy


@pytest.mark.parametrize(
    ("name", "npu", "memory", "place"),
    [
        (E7, "ethos-u55-256", "MRAM", "'/rom/m'"),
        (E8, "ethos-u85-256", "SRAM0", "open('/rom/m', 'rb').read()"),
    ],
    ids=["M1 of an E7 does not reach MRAM", "EXT of an E8 does not reach SRAM"],
)
def test_the_default_port_does_not_reach_it(tmp_path, example, model, name, npu, memory, place):
    """The driver's default port, M1 or EXT, does not reach it: the board's table must name one."""
    image = without_port(name, memory, tmp_path / "firmware.elf")
    for firmware, answer in ((None, "True"), (image, "OSError 5 ")):
        machine = Machine(
            emulated(name, npu, firmware=firmware), romfs=romfs.build({"m": model(npu)})
        )
        with QemuBoard(machine) as board:
            put(board, example)
            board.exec("import ethosu")
            assert raised(board, RUN.format(place)).startswith(answer)
    assert ": its port M1 does not reach 0x" in machine.log()


def test_both_npus_of_an_e8_run_models_from_mram_and_sram(example, model):
    npus = boards.load(E8).npus
    rom = romfs.build({npu: model(npu) for npu in npus})
    with QemuBoard(Machine(emulated(E8), romfs=rom)) as board:
        put(board, example)
        board.exec("import ethosu")
        for npu in npus:
            for place in (f"'/rom/{npu}'", f"open('/rom/{npu}', 'rb').read()"):
                assert raised(board, RUN.format(place)) == "True\r\nnothing"


def test_the_shared_npu_needs_its_clock():
    """The firmware must set bit ZAPHOD of CLK_ENA, which the emulator clears at reset."""
    with QemuBoard(Machine(emulated(E8))) as board:
        board.exec(
            "from machine import mem32\nclocks, first = mem32[0x1A602014], mem32[0x49042000]"
        )
        assert board.eval("[clocks >> 31 & 1, first != 0]") == [1, True]
        with pytest.raises(BoardError):
            board.exec("mem32[0x1A602014] = clocks ^ 1 << 31\nmem32[0x49042000]", timeout=0.5)
        assert "address: 0x49042000" in board.machine.log()
