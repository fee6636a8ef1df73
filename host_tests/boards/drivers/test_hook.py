# SPDX-License-Identifier: MIT
"""The copy hook in each image with DMA: the board's is linked, and every caller calls it."""

import re
import subprocess
from pathlib import Path

import pytest
from ethosu_tools import paths

from . import WITH_DMA

HOOK = "arm_ethos_io_memcpy"
# An indented line that is no comment's.
CALL = rf"^ +[^*/\s].*\b{HOOK}\(|^ +{HOOK}\("
# Where tensors come in and go out, and what measures or tries the hook.
TENSORS = (
    "modules/ethosu/binding/",
    "modules/ethosu/runtime/run.c",
    "modules/ethosu/driver/ethosu_layout.c",
)
INSTRUMENTS = ("boards/drivers/moddma.c", "firmware/emulator/modemulator.c")
INSTRUMENT_FUNCTIONS = {"dma_module_copy", "emulator_copy_cost"}

REPO = Path(__file__).resolve().parents[3]
CALLERS = sorted(
    str(path.relative_to(REPO))
    for folder in ("modules", "firmware", "boards")
    for path in (REPO / folder).rglob("*.c")
    if "natmod" not in path.parts and re.search(CALL, path.read_text(), re.MULTILINE)
)


@pytest.fixture(scope="module", params=WITH_DMA)
def image(request) -> Path:
    return paths.firmware(request.param)


def _run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _object(image: Path, source: str) -> Path:
    """Where the build puts the object of a source."""
    place = source.removeprefix("modules/").removesuffix(".c") + ".o"
    return image.parent / place


def test_link_map_has_the_board_s_hook(image):
    text = image.with_suffix(".map").read_text()
    used = text[text.index("Linker script and memory map") :]
    places = re.findall(rf"\.text\.{HOOK}\s+(0x\w+)\s+(0x\w+) (\S+)", used)
    assert [Path(place).name for _, _, place in places if int(_, 16)] == ["dma_copy.o"]
    discarded = text[text.index("Discarded input sections") : text.index("Memory Configuration")]
    assert f"{HOOK}.o" in discarded.split(f".text.{HOOK}", 1)[1].split("\n", 2)[1]


def test_symbol_is_strong_and_from_the_board(image):
    symbols = re.findall(rf"^\w+ (\w) {HOOK}$", _run("arm-none-eabi-nm", image), re.MULTILINE)
    assert symbols == ["T"]
    weak = _object(image, "modules/ethosu/driver/arm_ethos_io_memcpy.c")
    assert f" W {HOOK}" in _run("arm-none-eabi-nm", weak)


@pytest.mark.parametrize("source", CALLERS)
def test_every_call_goes_through_the_symbol(repo, image, source):
    """As many calls in the object as in the source: none was replaced by the default's body."""
    calls = re.findall(CALL, (repo / source).read_text(), re.MULTILINE)
    relocations = _run("arm-none-eabi-objdump", "-r", _object(image, source))
    kinds = re.findall(rf"(R_ARM_THM_\w+)\s+{HOOK}$", relocations, re.MULTILINE)
    assert len(kinds) >= len(calls) > 0
    assert set(kinds) <= {"R_ARM_THM_CALL", "R_ARM_THM_JUMP24"}


def test_nothing_else_calls_it():
    assert [path for path in CALLERS if not path.startswith(TENSORS + INSTRUMENTS)] == []
    for place in TENSORS:
        assert any(path.startswith(place) for path in CALLERS), place


def test_calls_survive_the_link(image):
    """In the image, those that the firmware uses reach the board's function."""
    text = _run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", image)
    address = re.search(rf"^(\w+) <{HOOK}>:", text, re.MULTILINE)
    assert address
    callers, function = set(), ""
    for line in text.splitlines():
        if header := re.match(r"\w+ <(\w+)>:", line):
            function = header[1]
        elif re.search(rf"\tb(l|\.w)\t{int(address[1], 16):x} <{HOOK}>", line):
            callers.add(function)
    assert len(callers - INSTRUMENT_FUNCTIONS) >= 3, "in, out, and between NPU and CPU"
