# SPDX-License-Identifier: MIT
"""Tests the output of firmware/make/board.py for a board.toml, and errors for a wrong one."""

import re
import subprocess
import sys
import tomllib

import pytest
from ethosu_tools.boards import files

from host_tests.kit import firmware_image, sharing

# All fields of the driver's structures.
TOML = """
title = "a board"
core = "Cortex-M55"
npus = ["ethos-u55-128"]
clock_mhz = 100
cache_line = 32
interrupts = { count = 100, priority_bits = 4 }
micropython = { board = "B \\"{variant}\\"", mcu = "M", platform = "b" }
heap = { start = 0x20000000, size = 0x800 }
ramdisk = { start = 0x20000800, size = 0x100 }
romfs = { start = 0x20000900, size = 0x200 }
journal = 0x40
uart = { base = 0x40000000, irq = 3, baud = 115200, driver = "16550" }
dma = { base = 0x41000000, irq = 5, least = 64, least_cached = 64 }
define = { MINE = "(1u + 2u)" }
[[memories]]
name = "code"
start = "_code_start"
end = "_code_end"
masters = "read"
cpu = "code"
[[memories]]
name = "RAM"
start = 0x20000000
size = 0x1000
masters = ["npu-reads", "dma-writes"]
npu_address = 0x60000000
dma_address = 0x70000000
port = 2
cache = "write-through"
cpu = "all"
[[npu_registers]]
base = 0x50000000
irq = 7
secure = false
fast_memory = { start = 0x30000000, size = 0x2000 }
settings = { axi_limit = [1, 2, 3, 4], power_ramp = 5 }
power = true
[regions]
VECTORS = { start = 0, size = 0x400 }
CODE = { start = 0x400, size = 0x1000 }
DATA = { start = 0x20000000, size = 0x1000, section = "own", takes = "*(.own)", noload = true }
[variants.fast]
"""


@pytest.fixture
def program(repo):
    return sharing.script(repo / "firmware/make/board.py")


@pytest.fixture
def made(program, tmp_path):
    """Make the files of a board that uses every option, and return their folder."""
    (tmp_path / "B").mkdir()
    (tmp_path / "B/board.toml").write_text(TOML)
    program.make("B-fast", tmp_path / "B", tmp_path / "out")
    return tmp_path / "out"


def test_the_table_has_each_field(repo, made):
    header = re.sub(
        r"/\*.*?\*/", "", (repo / "modules/ethosu/driver/include/ethosu_board.h").read_text(),
        flags=re.DOTALL,
    )  # fmt: skip
    text = (made / "board_table.c").read_text()
    for name in ("ethosu_memory", "ethosu_npu", "ethosu_board"):
        body = re.search(rf"^struct {name} \{{(.*?)^\}};", header, re.M | re.S)[1]
        for plain, function in re.findall(r"(\w+);|\(\*(\w+)\)\(", body):
            assert f".{plain or function} = " in text


def test_the_table_compiles_to_what_the_file_says(repo, made):
    image, firmware = made / "table.elf", repo / "firmware"
    module = repo / "modules/ethosu/driver/include"
    (made / "startup.h").write_text("#include <stdint.h>\n")
    (made / "hooks.c").write_text(
        '#include "ethosu_board.h"\nuint32_t _code_start[8], _code_end[8];\n'
        "bool board_npu_power(const struct ethosu_npu *npu, bool on) { return npu && on; }\n"
    )
    subprocess.run(
        ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-Wall", "-Werror"]
        + ["-nostdlib", "-Wl,-e0", made / "board_table.c", made / "hooks.c", "-o", image]
        + [f"-I{folder}" for folder in (made, module, firmware / "include", firmware / "drivers")],
        check=True,
    )
    found = firmware_image.Image(image)
    assert found.name == 'B "fast"'
    code, ram = found.memories
    assert (code.start, code.end) == (found.symbol("_code_start"), found.symbol("_code_end"))
    assert (ram.start, ram.end, ram.npu_address) == (0x20000000, 0x20001000, 0x60000000)
    assert (code.dma_address, ram.dma_address) == (0, 0x70000000)
    assert (ram.masters, ram.cache, ram.cpu) == (1 | 8, 1, firmware_image.Cpu.ALL)
    assert (found.npu_base, found.npu_irq) == (0x50000000, 7)


def test_the_linker_script_has_regions_symbols_and_sections(made):
    text = (made / "memory.ld").read_text()
    assert "DATA    (rw) : ORIGIN = 0x20000000, LENGTH = 0x1000" in text
    assert "_romfs_start = 0x20000900;\n_romfs_end = 0x20000B40;" in text  # including the journal
    assert ".own (NOLOAD) : {\n        *(.own)\n    } > DATA" in text
    assert text.index(".own") < text.index("INCLUDE sections.ld")
    assert "_ram_code_start = 0;\n_ram_code_end = 0;\n" in text  # nothing to copy


def test_unchanged_files_are_not_rewritten(program, made, tmp_path):
    before = {path.name: path.stat().st_mtime_ns for path in made.iterdir()}
    program.make("B-fast", tmp_path / "B", made)
    assert {path.name: path.stat().st_mtime_ns for path in made.iterdir()} == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("clock_mhz = 100\n", "", "board.toml of B-fast has no entry 'clock_mhz'"),
        (
            'cpu = "all"',
            'cpu = "some"',
            "memories[1]: cpu is 'some', expected one of data, code, all",
        ),
        ("power = true", "powre = true", "unknown entry 'powre', expected base, irq"),
        (
            "journal =",
            "joural =",
            "board.toml of B-fast has unknown entry 'joural', expected title",
        ),
        ('"npu-reads"', '"npu"', "masters[0] is 'npu', expected one of npu-reads, npu-writes"),
        ("dma_address = 0x7", "dma_address = 0x17", "is 0x170000000, expected a multiple of 32"),
        ("dma_address = 0x7", "dma_address = 0x", "is 0x0, expected a multiple of 32 from 0x20"),
        ("0x70000000\n", "0x70000004\n", "of memory 'RAM' is 0x70000004, expected a multiple"),
        (
            ', "dma-writes"',
            "",
            "memory 'RAM' has a dma_address, expected only with DMA in `masters`",
        ),
        ("dma = {", "#", "a memory has a dma_address, expected only with [dma]"),
        ("[variants.fast]", "[variants.slow]", "B has variants: choose B-slow"),
        ("count = 100", "count = ", "Invalid value"),
        ("DATA = {", "DATUM = {", "board.toml has no entry 'DATA'"),
        ('npus = ["ethos-u55-128"]', "npus = 5", "npus is 5, expected a list"),
        ("[variants.fast]", "variants = 5", "B-fast: "),
        ("noload = true", 'initial = "CODE"', "section is 'own', expected 'ram_code' with initial"),
    ],
)
def test_an_invalid_file_is_one_error(repo, tmp_path, old, new, said):
    (tmp_path / "B").mkdir()
    (tmp_path / "B/board.toml").write_text(TOML.replace(old, new))
    command = [sys.executable, repo / "firmware/make/board.py", "make", "B-fast", tmp_path / "B"]
    done = subprocess.run([*command, tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "B-fast: " in done.stderr and said in done.stderr


def test_entries_of_a_board_override_those_of_its_chip(tmp_path):
    chip = tmp_path / files.CHIPS / "C/chip.toml"
    chip.parent.mkdir(parents=True)
    chip.write_text("clock = 1\nuart = { irq = 1, base = 2 }\n[variants.one]\nclock = 3\n")
    board = tmp_path / "boards/B/board.toml"
    board.parent.mkdir(parents=True)
    board.write_text('chip = "C"\nuart = { irq = 4 }\n')
    table = files.read(tmp_path, board)
    assert (table["clock"], table["uart"]) == (1, {"irq": 4, "base": 2})
    assert files.variants("B", table) == ["B-one"]
    assert files.choose(table, "BOARD-one")["clock"] == 3
    assert tomllib.loads(board.read_text())["uart"] == {"irq": 4}  # the file is unchanged
