# SPDX-License-Identifier: MIT
"""firmware/template compiles and links; it does not run anywhere."""

import re
import shutil
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.boards.facts import Span
from ethosu_tools.compile import vela
from ethosu_tools.link import flash

from host_tests.firmware.conftest import build
from host_tests.kit import firmware_image, sharing

FILES = {"README.md", "board.toml", "dma.c", "init.c", "uart.c"}
HOOK = "arm_ethos_io_memcpy"


@pytest.fixture(scope="module")
def image(repo) -> Path:
    return build(
        "TEMPLATE-no-emulator",
        "BOARD=TEMPLATE",
        f"BOARD_DIR={repo / 'firmware/template'}",
        "BOARD_EMULATOR=no",
    )


def test_the_folder_has_a_board_s_files_and_its_page_names_each(repo):
    folder = repo / "firmware/template"
    assert {path.name for path in folder.iterdir()} == FILES
    page = (folder / "README.md").read_text()
    assert [name for name in FILES if f"`{name}`" not in page] == []


@pytest.fixture
def copied(repo, empty_tree):
    """Return the tools' data about a board that is a copy of the folder."""
    shutil.copytree(repo / "firmware/template", empty_tree / "boards/COPY")
    (empty_tree / "build").symlink_to(repo / "build")
    return boards.load("COPY")


def test_its_copy_is_a_board(copied):
    assert boards.names() == ["COPY"]


def test_values_given_twice_agree(copied, image):
    """Numbers that board.toml repeats for the tools agree with the linked image."""
    linked = firmware_image.Image(image)
    rom, rom_end, *heap = map(
        linked.symbol, ("_romfs_start", "_romfs_end", "_gc_heap_start", "_gc_heap_end")
    )
    assert copied.romfs == Span(rom, rom_end - rom - 256)
    assert [copied.heap.start, copied.heap.end] == heap
    assert copied.flash["jlink"]["address"] == min(
        int(start, 16)
        for start in re.findall(
            r"^ +LOAD .* paddr (0x\w+)",
            sharing.run(["arm-none-eabi-objdump", "-p", image]),
            re.MULTILINE,
        )
    )
    (sram,) = (row for row in linked.memories if row.name == "SRAM")
    (shared,) = copied.qemu.memories.values()
    assert (sram.start, sram.end) == (shared.start, shared.end)
    assert shared.holds(copied.qemu.window.start, copied.qemu.window.size)
    for name, settings in copied.flash.items():
        assert flash.WAYS[name].check(copied, {}) == settings


def test_a_model_is_compiled_for_its_copy(copied, small_models, tmp_path):
    output = tmp_path / "out.tflite"
    vela.compile_model(
        small_models["small_cnn"], copied.npus[0], output, board=boards.vela_facts(copied)
    )
    assert output.stat().st_size > 1000


def test_the_page_of_boards_names_each_setting_of_each_way_to_flash(repo):
    page = (repo / "boards/README.md").read_text()
    table = page.partition("| way |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", table, re.MULTILINE))
    for name, way in flash.WAYS.items():
        missing = [key for key in way.settings | way.optional if f"`{key}`" not in rows[name]]
        assert missing == [], name


def test_the_board_s_copy_replaces_the_driver_s(image):
    symbols = re.findall(
        rf"^\w+ (\w) {HOOK}$", sharing.run(["arm-none-eabi-nm", image]), re.MULTILINE
    )
    assert symbols == ["T"]


def test_the_image_has_nothing_of_the_emulator(image):
    assert "emulator_" not in sharing.run(["arm-none-eabi-nm", image])


def test_the_vector_table_is_aligned_to_its_size(image, build_dir):
    """A misaligned table would break interrupts, since a core ignores the low bits of VTOR."""
    for elf, least in ((image, 2048), (build_dir / "firmware/MPS3_AN547/firmware.elf", 1024)):
        sections = sharing.run(["arm-none-eabi-objdump", "-h", elf])
        size, start, power = re.search(
            r"\.vectors +(\w+) +(\w+) .* 2\*\*(\d+)$", sections, re.MULTILINE
        ).groups()
        assert 2 ** int(power) >= least >= int(size, 16) > least // 2
        assert int(start, 16) % least == 0
