# SPDX-License-Identifier: MIT
"""boards/TEMPLATE compiles, links and says what a board must say; it runs nowhere."""

import re
import subprocess
from pathlib import Path

import pytest
from firmware.conftest import build

FILES = {
    *("README.md", "board.c", "board.mk", "dma.c"),
    *("memory.ld", "mpconfigboard.h", "uart.c"),
}
HOOK = "arm_ethos_io_memcpy"


@pytest.fixture(scope="module")
def image() -> Path:
    return build("TEMPLATE", "BOARD=TEMPLATE")


def _run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_the_folder_has_a_board_s_files_and_its_page_names_each(repo):
    folder = repo / "boards/TEMPLATE"
    assert {path.name for path in folder.iterdir()} == FILES
    page = (folder / "README.md").read_text()
    assert [name for name in FILES if f"`{name}`" not in page] == []


def test_every_field_of_the_table_is_shown(repo):
    """A field that ethosu_board.h gains is explained to the next board, too."""
    header = (repo / "modules/ethosu/driver/include/ethosu_board.h").read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    table = (repo / "boards/TEMPLATE/board.c").read_text()
    fields = [
        field
        for name in ("ethosu_memory", "ethosu_npu", "ethosu_board")
        for field in re.findall(
            r"(\w+);|\(\*(\w+)\)\(",
            re.search(rf"^struct {name} \{{(.*?)^\}};", header, re.MULTILINE | re.DOTALL)[1],
        )
    ]
    names = {first or second for first, second in fields}
    assert {"npu_address", "power", "cache_line"} <= names
    assert sorted(name for name in names if f".{name} = " not in table) == []


def test_the_board_s_copy_replaces_the_driver_s(image):
    symbols = re.findall(rf"^\w+ (\w) {HOOK}$", _run("arm-none-eabi-nm", image), re.MULTILINE)
    assert symbols == ["T"]


def test_the_image_has_nothing_of_the_emulator(image):
    assert "emulator_" not in _run("arm-none-eabi-nm", image)


def test_the_vector_table_is_aligned_to_its_size(image, build_dir):
    """A core ignores the low bits of VTOR: 2,048 bytes for 480 interrupts, 1,024 for 128."""
    for elf, least in ((image, 2048), (build_dir / "firmware/MPS3_AN547/firmware.elf", 1024)):
        sections = _run("arm-none-eabi-objdump", "-h", elf)
        size, start, power = re.search(
            r"\.vectors +(\w+) +(\w+) .* 2\*\*(\d+)$", sections, re.MULTILINE
        ).groups()
        assert 2 ** int(power) >= least >= int(size, 16) > least // 2
        assert int(start, 16) % least == 0
