# SPDX-License-Identifier: MIT
"""The memory protection unit follows the board's table, or the board reports why it cannot."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.kit.firmware_image import Image

from ..conftest import start
from ..patch import patched

# Values of enum ethosu_cache and enum ethosu_cpu_access.
WRITE_BACK, WRITE_THROUGH, NONE = range(3)
DATA, CODE, ALL, REGISTERS = range(4)

# Armv8-M Architecture Reference Manual. MPU_RBAR: bit 2 read-only, bit 0 execute-never, bits 4
# and 3 shareability (none). MPU_MAIR0: 0xFF write-back, 0xAA write-through without write
# allocation, 0x44 not cached, 0x04 device memory nGnRE.
ACCESS = {DATA: 0b00001, CODE: 0b00100, ALL: 0b00000, REGISTERS: 0b00001}
ATTRIBUTE = {WRITE_BACK: 0xFF, WRITE_THROUGH: 0xAA, NONE: 0x44}
DEVICE = 0x04
ENABLE = 1

Memory = tuple[int, int, int, int]


@pytest.fixture(scope="module")
def program(repo, tmp_path_factory) -> Path:
    """Compile firmware/cortex_m/mpu.c for this machine, with variables as registers."""
    program = tmp_path_factory.mktemp("mpu") / "mpu"
    cmsis = sharing.micropython("--cmsis")
    folders = ("firmware/include", "firmware/common", "modules/ethosu/driver/include")
    sharing.run([
        *("gcc", "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror"),
        *("-fsanitize=undefined,address", "-fno-sanitize-recover=all"),
        *(f"-I{repo / folder}" for folder in folders),
        *("-isystem", cmsis, "-o", program, repo / "host_tests/firmware/memory/mpu.c"),
    ])  # fmt: skip
    return program


def _run(
    program: Path, regions: int, *memories: Memory, address: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    numbers = [regions, *(number for memory in memories for number in memory)]
    command = [program, *(str(int(number)) for number in (*numbers, *address))]
    return subprocess.run(command, capture_output=True, text=True, timeout=10)


def _memories(count: int) -> list[Memory]:
    return [(0x20000000 + 64 * i, 0x20000040 + 64 * i, NONE, DATA) for i in range(count)]


@pytest.mark.parametrize("cpu", ACCESS)
@pytest.mark.parametrize("cache", ATTRIBUTE)
def test_a_memory_is_one_region(program, cache, cpu):
    done = _run(program, 8, (0x21000000, 0x21400000, cache, cpu))
    assert done.returncode == 0, done.stdout + done.stderr
    base, limit, attribute = (int(word, 16) for word in done.stdout.split())
    assert base == 0x21000000 | ACCESS[cpu]
    assert (limit & ~0b11110, limit & ENABLE) == (0x213FFFE0 | ENABLE, ENABLE)
    assert attribute == (DEVICE if cpu == REGISTERS else ATTRIBUTE[cache])


@pytest.mark.parametrize(
    ("registers", "use", "attribute"),
    [([], ALL, NONE), ([True], REGISTERS, DEVICE), ([False], CODE, NONE)],
    ids=["written", "registers", "again"],
)
def test_a_memory_may_be_written_or_be_registers_for_a_while(program, registers, use, attribute):
    """A temporary change keeps code executable, and does not affect the memory after it."""
    memories = (0x20000000, 0x20001000, NONE, CODE), (0x20001000, 0x20002000, NONE, CODE)
    done = _run(program, 8, *memories, address=[0x20000FF0, *registers])
    rows = [[int(word, 16) for word in line.split()] for line in done.stdout.splitlines()]
    assert rows[0][::2] == [0x20000000 | ACCESS[use], ATTRIBUTE.get(attribute, attribute)]
    assert rows[1][::2] == [0x20001000 | ACCESS[CODE], ATTRIBUTE[NONE]]


def test_as_many_memories_as_regions(program):
    done = _run(program, 16, *_memories(16))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 16


def _refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, "refused, and the unit is off"
    return done.stdout.strip()


def test_more_memories_than_regions_are_refused(program):
    message = "the board has 9 memories, the MPU has 8 regions"
    assert _refused(_run(program, 8, *_memories(9))) == message


@pytest.mark.parametrize(
    ("begin", "end"),
    [(0x20000010, 0x20000040), (0x20000000, 0x20000050), (0x20000040, 0x20000040), (0x40, 0x20)],
)
def test_bounds_that_no_region_has_are_refused(program, begin, end):
    """Bounds must be multiples of 32; otherwise the unit would protect a different range."""
    said = _refused(_run(program, 8, (begin, end, NONE, DATA)))
    assert said == f"memory m0 goes from {begin:#010x} to {end:#010x}, expected multiples of 32"


@pytest.mark.parametrize("begin", [0x20000000, 0x20000FE0, 0x1FFFF020])
def test_overlapping_memories_are_refused(program, begin):
    """An address in two regions would fault, even while the board reports the error."""
    memories = (0x20000000, 0x20001000, NONE, DATA), (begin, begin + 0x1000, NONE, ALL)
    assert _refused(_run(program, 8, *memories)) == "memories m0 and m1 overlap"


HEAP = "Python's heap, 0x60000000 to 0x60800000 (_gc_heap_start in memory.ld), is "


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        (1, 0x60800000, HEAP + "not in the board's memory table"),
        (2, 0x60400000, HEAP + "not in the board's memory table"),
        (6, 5 | 2 << 24, HEAP + "in DDR, which the NPU can't access"),
        (2, 0x62800000, "/rom, 0x62000000 to 0x63000000 (_romfs_start in memory.ld), is not in th"),
    ],
)
def test_the_table_has_the_memories_of_python_and_files(firmware, tmp_path, word, value, message):
    """At start-up, the board reports a memory that is missing or inaccessible to the NPU."""
    copy, image = tmp_path / "firmware.elf", Image(firmware)
    board = image.symbol("ethosu_board")
    row = (image.word(board + 4) - board) // 4  # DDR, where heap, RAM disk and ROM are
    patched(firmware, copy, "ethosu_board", row + word, value)
    with start(copy) as uart, uart.terminal() as terminal:
        said = terminal.read_until(b"skipped once.\r\n")
    assert f"*** Fatal: {message}" in said.decode(), said


def test_too_many_memories_are_reported_over_the_uart(firmware, tmp_path):
    """A table of 17 memories is reported over the UART, as QEMU's Cortex-M55 has 16 regions."""
    copy = tmp_path / "firmware.elf"
    old = patched(firmware, copy, "ethosu_board", 2, 17)
    assert 5 <= old <= 16, "the board's own count: `memory_count` is the table's third word"
    with start(copy) as uart, uart.terminal() as terminal:
        said = terminal.read_until(b"skipped once.\r\n")
        again = terminal.read_until(b"skipped once.\r\n")
    message = b"*** Fatal: the board has 17 memories, the MPU has 16 regions\r\n"
    assert message in said, said
    assert message in again, "after the reset, too"
