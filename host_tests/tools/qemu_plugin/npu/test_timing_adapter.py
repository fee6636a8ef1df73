# SPDX-License-Identifier: MIT
"""Tests the timing adapters of Corstone-300: their registers, and longer runs behind them.

Numbers and meanings of the registers are those of Arm's timing_adapter.h.
"""

import configparser
import re
from importlib.resources import files

import pytest

from host_tests.tools.qemu_plugin.guest import Guest

CLOCK = ["-icount", "shift=3,sleep=off"]
SIZE, BEAT = 0x10000, 8  # bytes of the copy, and of a beat of an Ethos-U55's bus
TIMED = "timing=model:20"  # the clock of BOARD_CYCLES


def test_bandwidth_and_latency_are_those_of_the_registers(guest: Guest) -> None:
    values = guest.run("adapters", TIMED, CLOCK).values
    plain = values["plain"]
    assert values["quarter"] - plain == pytest.approx(SIZE / 2 - SIZE / BEAT, abs=64)
    assert values["eighth"] - plain == pytest.approx(SIZE - SIZE / BEAT, abs=64)
    assert values["late"] - plain == pytest.approx(4000, abs=64)
    assert values["other_port"] - plain < 52 * 500 + 64, "M1 has the commands only, 52 bytes"
    # Otherwise, ta_init() of timing_adapter.c gives up.
    assert values["version"] == values["version_1_secure"] == 0x1117


def test_without_modelled_time_no_limit_is_looked_at(guest: Guest) -> None:
    """Without modelled time, only values that a register cannot hold are reported."""
    messages = guest.run("adapter_errors").messages
    assert len(messages) == 4 and not any("estimate" in message for message in messages)


def test_registers_keep_what_they_can(guest: Guest) -> None:
    values = guest.run("adapter_keeps").values
    written = {f"register_{number:x}": number + 1 for number in range(14)}
    fixed = {"register_a": 1, "register_b": 0x3F, "register_e": 0x1117}
    expected = written | fixed | {"register_d": 14}
    assert {name: values[name] for name in expected} == expected
    assert values["other"] == values["other_bin"] == 0


def test_bad_values_are_answered(guest: Guest) -> None:
    outcome = guest.run("adapter_errors", TIMED, CLOCK)
    first, second = (f"npu: its timing adapter at 0x48103{end}: " for end in ("000", "200"))
    assert outcome.messages == [
        first + "RLATENCY is 0x1004, expected at most 0xfff; it keeps 0x4",
        second + "MODE is always 0x1, 0x3 is ignored",
        second + "event 14 of PERFCTRL is not counted",
        first + "it has no register at offset 0x50",
        first + "PULSE_ON is 0 and PULSE_OFF is not, so it lets no access through, and the NPU "
        "would wait forever; the estimate ignores PULSE_ON, PULSE_OFF and BWCAP",
        first + "BWCAP is a number of words in PULSE_ON and PULSE_OFF cycles, which are both 0; "
        "the estimate ignores PULSE_ON, PULSE_OFF and BWCAP",
    ]
    values = outcome.values
    assert values["latency"] == 4
    for name in ("no_pulse_on", "again", "no_period"):
        assert values[name] == pytest.approx(values["plain"], abs=8), name


def test_a_reset_of_the_machine_ends_all_limits(guest: Guest) -> None:
    assert guest.run("adapter_reset").values == {"latency": 0, "words": 0, "mode": 1}


def test_an_ethos_u85_on_corstone_300_has_its_own_registers_there(guest: Guest) -> None:
    """An Ethos-U85 on Corstone-300, which no chip has, has its 8 KB of registers there."""
    values = guest.run("adapters", f"npu=ethos-u85-256,{TIMED}", CLOCK).values
    assert values["version"] == values["version_1_secure"] == 0
    assert values["quarter"] == pytest.approx(values["plain"], abs=8)


def test_executorchs_values_have_the_bandwidths_of_velas_systems(repo) -> None:
    """The page's table has ExecuTorch's values, with the bandwidths of Vela's systems."""
    vela = configparser.ConfigParser()
    vela.read_string((files("ethosu") / "config_files/Arm/vela.ini").read_text())
    table = (repo / "docs/fvp.md").read_text().partition("### ExecuTorch's values")[2]
    rows = re.findall(
        r"^\| `(\w+)` \| (\w+) \| [\d, ]+ \| (\d+), (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$",
        table,
        re.MULTILINE,
    )
    assert len(rows) == 7
    for system, memory, on, off, words, size, shown in rows:
        beat = 8 if "U55" in system else 16
        rate = int(words) * int(size) / (int(on) + int(off))
        scale = float(vela[f"System_Config.{system}"][f"{memory}_clock_scale"])
        assert int(size) == beat
        assert rate == pytest.approx(float(shown), rel=0.001)
        assert rate == pytest.approx(beat * scale, rel=0.001), (system, memory)
