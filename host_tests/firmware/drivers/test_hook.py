# SPDX-License-Identifier: MIT
"""In each image with DMA, the board's copy hook is linked, and all callers use it."""

import re
from pathlib import Path

import pytest
from ethosu_tools.base import paths

from host_tests.kit import sharing

from . import WITH_DMA

HOOK = "arm_ethos_io_memcpy"
INSTRUMENT_FUNCTIONS = {"dma_module_copy", "emulator_copy_cost"}


@pytest.fixture(scope="module", params=WITH_DMA)
def image(request) -> Path:
    return paths.firmware(request.param)


def _object(image: Path, source: str) -> Path:
    """Return the object file of a source in the build folder."""
    return image.parent / "common" / Path(source).relative_to("modules").with_suffix(".o")


def test_link_map_has_the_board_s_hook(image):
    text = image.with_suffix(".map").read_text()
    used = text[text.index("Linker script and memory map") :]
    places = re.findall(rf"\.text\.{HOOK}\s+(0x\w+)\s+(0x\w+) (\S+)", used)
    assert [Path(place).name for _, _, place in places if int(_, 16)] == ["dma_copy.o"]
    assert "defaults.a(ethosu_irq.o)" in text and f"defaults.a({HOOK}.o)" not in text


def test_symbol_is_strong_and_from_the_board(image):
    symbols = re.findall(
        rf"^\w+ (\w) {HOOK}$", sharing.run(["arm-none-eabi-nm", image]), re.MULTILINE
    )
    assert symbols == ["T"]
    weak = _object(image, "modules/ethosu/driver/board/arm_ethos_io_memcpy.c")
    assert f" W {HOOK}" in sharing.run(["arm-none-eabi-nm", weak])


def test_calls_survive_the_link(image):
    """The firmware's callers reach the board's function in the linked image."""
    text = sharing.run(["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", image])
    address = re.search(rf"^(\w+) <{HOOK}>:", text, re.MULTILINE)
    assert address
    branch = rf"\tb(?:l|\.w)\t{int(address[1], 16):x} <{HOOK}>"
    callers = set()
    for match in re.finditer(branch, text):
        head = text.rindex(">:\n", 0, match.start())
        callers.add(text[text.rindex("<", 0, head) + 1 : head])
    assert len(callers - INSTRUMENT_FUNCTIONS) >= 3, "in, out, and between NPU and CPU"


def test_each_function_of_a_vendor_s_library_wins(tmp_path):
    """Hooks of a static library in LIBS replace the board's when the image is linked again."""
    defined = sharing.run(["arm-none-eabi-nm", paths.firmware("MPS3_AN547")])
    weak = re.findall(r"^\w+ W (ethosu_\w+|arm_\w+)$", defined, re.MULTILINE)
    assert len(weak) >= 9
    (tmp_path / "own.c").write_text("".join(f"void {name}(void) {{}}\n" for name in weak))
    flags = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-ffunction-sections"]
    own = tmp_path / "own.o"
    sharing.run(["arm-none-eabi-gcc", *flags, "-c", tmp_path / "own.c", "-o", own])
    sharing.run(["arm-none-eabi-ar", "rcs", tmp_path / "libown.a", own])
    done = sharing.try_make(
        *("firmware", "BOARD=MPS3_AN547", f"LIBS={tmp_path}/libown.a", "V=1", "--dry-run"),
        *("-W", "cortex_m/sections.ld"),
    )
    (command,) = re.findall(r"^(arm-none-eabi-gcc .* -o )\S+(.*libown\.a.*)$", done.stdout, re.M)
    words = f"{command[0]}{tmp_path}/image{command[1]}".split()
    sharing.run([word for word in words if not word.startswith("-Wl,-Map=")], paths.root())
    found = sharing.run(["arm-none-eabi-nm", tmp_path / "image"])
    assert [name for name in weak if not re.search(rf" T {name}$", found, re.MULTILINE)] == []
