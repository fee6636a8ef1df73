# SPDX-License-Identifier: MIT
"""The image meets the requirements of Himax's boot loader and image tool."""

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.firmware.conftest import build
from host_tests.kit import sharing
from host_tests.kit.firmware_image import Image

NAME = "GROVE_VISION_AI_V2"
VECTORS = 0x10000000
# Start and size of memories in the tool's sec_mem_layout_one_sonly_bin.json, except the part of the
# SRAM where the boot loader's second stage runs.
LOADED = ((VECTORS, 0x40000), (0x30000000, 0x40000), (0x3404D000, 0x1B3000))
LOAD = 1


@dataclass(frozen=True)
class Section:
    """A section with the flags that `objdump -h` prints, from which the tool works."""

    name: str
    size: int
    address: int
    load_address: int
    flags: frozenset[str]

    @property
    def is_loaded(self) -> bool:
        return {"ALLOC", "CONTENTS"} <= self.flags


@pytest.fixture(scope="module")
def image() -> Path:
    return build(NAME, f"BOARD={NAME}")


def _sections(image: Path) -> list[Section]:
    """Return all sections, in the order of their headers."""
    lines = sharing.run(["arm-none-eabi-objdump", "-h", image]).splitlines()[5:]
    sections = []
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        _, name, size, address, load_address, *_ = first.split()
        numbers = [int(number, 16) for number in (size, address, load_address)]
        sections.append(Section(name, *numbers, frozenset(second.replace(",", "").split())))
    return sections


def _loaded(image: Path) -> list[Section]:
    return [section for section in _sections(image) if section.is_loaded]


def test_the_first_section_is_the_vector_table(image):
    """The boot loader takes the stack and the entry from the start of the first section."""
    first = _loaded(image)[0]
    assert (first.name, first.address) == (".table", VECTORS)
    table = Image(image)
    assert table.word(VECTORS) == table.symbol("_handler_stack_top")
    assert table.word(VECTORS + 4) == table.symbol("startup_reset_handler") | 1


def test_each_section_is_loaded_to_where_it_runs(image):
    """Load and run addresses are equal, since the tool handles one address per section."""
    sections = _loaded(image)
    assert {".table", ".text", ".data"} <= {section.name for section in sections}
    for section in sections:
        assert section.size, f"{section.name}: the tool may write a header without bytes"
        assert section.address == section.load_address, section.name
        assert any(
            start <= section.address and section.address + section.size <= start + room
            for start, room in LOADED
        ), section


def test_the_sections_are_all_that_is_loaded(image):
    """QEMU loads segments and the boot loader sections, so both must have the same bytes."""
    elf = image.read_bytes()
    (start,) = struct.unpack_from("<I", elf, 28)
    size, count = struct.unpack_from("<HH", elf, 42)
    headers = [struct.unpack_from("<8I", elf, start + i * size) for i in range(count)]
    segments = [row for row in headers if row[0] == LOAD and row[4]]
    assert all(row[2] == row[3] for row in segments)
    assert sum(row[4] for row in segments) - sum(each.size for each in _loaded(image)) < 64


def test_the_whole_image_fits_a_slot(image):
    assert sum(section.size for section in _loaded(image)) < 0x100000 - 0x40000  # loaders, tables


# --- The emulated board starts the image as the boot loader does ----------------------


def _reordered(image: Path, copy: Path, first: str) -> Path:
    """Make a copy whose section headers begin with this section."""
    names = [section.name for section in _sections(image)]
    elf = bytearray(image.read_bytes())
    (table,) = struct.unpack_from("<I", elf, 32)
    (size,) = struct.unpack_from("<H", elf, 46)
    one, other = (table + (1 + names.index(name)) * size for name in (names[0], first))
    elf[one : one + size], elf[other : other + size] = (
        elf[other : other + size],
        elf[one : one + size],
    )
    copy.write_bytes(elf)
    return copy


def _start(image: Path) -> None:
    with QemuBoard(Machine(emulated(NAME, firmware=image))):
        pass


def test_an_image_with_another_first_section_stays_silent(image, tmp_path, each_qemu):
    """An image whose first section is not the vector table does not start."""
    moved = _reordered(image, tmp_path / "firmware.elf", ".text")
    with pytest.raises(BoardError) as caught:
        _start(moved)
    text = str(caught.value)
    assert "starts the first section of the image, .text: jump_addr=0x3404d000" in text
    assert "no vector table" in text and "stays silent" in text


@pytest.mark.slow
def test_start_up_code_before_the_vectors_stays_silent(repo, tmp_path):
    """An image in which start-up code precedes the vectors does not start."""
    folder = tmp_path / NAME
    shutil.copytree(repo / "boards" / NAME, folder)
    with (folder / "board.toml").open("a") as file:
        file.write('[regions.VECTORS]\nsection = "startup"\ntakes = "*startup.o(.text .text.*)"\n')
    moved = build("SILENT", "BOARD=SILENT", f"BOARD_DIR={folder}")
    assert _loaded(moved)[0].name == ".startup"
    with pytest.raises(BoardError, match=r"\.startup: jump_addr=0x10000000.*stays silent"):
        _start(moved)
