# SPDX-License-Identifier: MIT
"""The instruction count, and virtual time with a modelled NPU clock, are repeatable."""

import re
import subprocess

import pytest
from ethosu_tools.answers.timeline import elf

from host_tests.tools.qemu_plugin.guest import Guest

BOARD_MHZ = 32
REPEATABLE = ["-icount", "shift=3,sleep=off"]


@pytest.mark.parametrize("more", [[], REPEATABLE], ids=["free", "icount"])
def test_instructions_are_counted_exactly_each_time(guest: Guest, more: list[str]) -> None:
    runs = [guest.run("count_instructions", more=more).values for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0]["total"] > 0 and runs[0]["again"] == 0
    assert runs[0]["thousand_turns_more"] == 2 * 1000, "the loop has two instructions"


def test_host_reads_the_counter(guest: Guest) -> None:
    command = guest.command("deaf", "", ["-monitor", "stdio"])
    dialogue = "xp /1wx 0xe000efd4\nxp /1wx 0x4f000010\nquit\n"
    done = subprocess.run(command, input=dialogue, capture_output=True, text=True)
    assert re.search("^(0{8})?e000efd4: 0x45485531", done.stdout, re.MULTILINE)
    assert re.search("^(0{8})?4f000010: 0x", done.stdout, re.MULTILINE)


def test_modelled_time_repeats_and_its_default_clock_is_the_board_s(guest: Guest) -> None:
    values = guest.run("timed_run", "timing=model", REPEATABLE).values
    assert values == guest.run("timed_run", f"timing=model:{BOARD_MHZ}", REPEATABLE).values
    assert values["idle"] == 1, "the CPU sleeps through the modelled time"


def test_modelled_time_follows_the_clock(guest: Guest) -> None:
    cycles = {
        mhz: guest.run("timed_run", f"timing=model:{mhz}", REPEATABLE).values["board_cycles"]
        for mhz in (1, 2, 4)
    }
    # The NPU takes a time of N / MHZ; all other times are equal.
    assert cycles[1] - cycles[2] == pytest.approx(2 * (cycles[2] - cycles[4]), abs=4)
    assert cycles[2] - cycles[4] > 100


def test_modelled_time_follows_the_memory(guest: Guest) -> None:
    """Modelled time follows the memory: the first one that holds an address counts."""
    slow, fast = "0:0x100000000:100:50:50:8", "0:0x100000000:8000:0:0:8"
    cycles = [
        guest.run("timed_run", f"timing=model:1,{more}", REPEATABLE).values["board_cycles"]
        for more in (
            f"npu_memory={fast}",
            f"npu_memory={fast},npu_memory={slow}",
            f"npu_memory={slow}",
        )
    ]
    assert cycles[0] == cycles[1] < cycles[2] - 1000


@pytest.mark.parametrize("more", [[], REPEATABLE], ids=["free", "icount"])
def test_watched_code_and_the_npu_are_reported_with_the_count(
    guest: Guest, more: list[str]
) -> None:
    """The log has three NPU runs, each between calls of the watched function, with counts."""
    address = elf.symbols(guest.program)["npu_run"]
    done = guest.run("timed_run", f"timing=model:100,watch={address:x}", more)
    lines = [line.split() for line in done.messages if line.startswith("watch: ")]
    assert [" ".join(line[2:]) for line in lines] == [
        f"0x{address & ~1:08x}",
        "npu starts",
        "npu ends",
    ] * 3
    counts = [int(line[1]) for line in lines]
    assert counts == sorted(counts) and counts[-1] < done.values["total_instructions"]
    calls = [later - earlier for earlier, later in zip(counts[::3], counts[3::3], strict=False)]
    assert calls[0] > counts[1] - counts[0] > 0, "each call starts the NPU"


def test_without_watched_code_nothing_is_reported(guest: Guest) -> None:
    assert guest.run("timed_run", "timing=model:100").messages == []
