# SPDX-License-Identifier: MIT
"""Requirements of Himax's boot loader and image tool on the image, which emulators do not check."""

import struct
from pathlib import Path

import pytest

from host_tests.firmware.conftest import build

NAME = "GROVE_VISION_AI_V2"
# sec_mem_layout_one_sonly_bin.json of the tool, except the part of the SRAM where the boot
# loader's second stage runs: start, size.
LOADED = ((0x10000000, 0x40000), (0x30000000, 0x40000), (0x3404D000, 0x1B3000))
LOAD = 1


@pytest.fixture(scope="module")
def image() -> Path:
    return build(NAME, f"BOARD={NAME}")


def _segments(image: Path) -> list[tuple[int, int, int]]:
    """Loaded segments: run address, load address, size in the file."""
    elf = image.read_bytes()
    (start,) = struct.unpack_from("<I", elf, 28)
    size, count = struct.unpack_from("<HH", elf, 42)
    headers = [struct.unpack_from("<8I", elf, start + i * size) for i in range(count)]
    return [(row[2], row[3], row[4]) for row in headers if row[0] == LOAD and row[4]]


def test_each_section_is_loaded_to_where_it_runs(image):
    """The tool handles one address per section, and the boot loader copies it there."""
    segments = _segments(image)
    assert len(segments) >= 3
    for runs_at, loaded_at, size in segments:
        assert runs_at == loaded_at
        assert any(
            start <= loaded_at and loaded_at + size <= start + room for start, room in LOADED
        ), hex(loaded_at)


def test_vectors_are_where_the_boot_loader_looks(image):
    assert min(loaded_at for _, loaded_at, _ in _segments(image)) == 0x10000000


def test_the_whole_image_fits_a_slot(image):
    assert sum(size for _, _, size in _segments(image)) < 0x100000 - 0x40000  # loaders, tables
