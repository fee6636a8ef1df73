# SPDX-License-Identifier: MIT
"""Tests the NPU in the emulated board: registers, memories, interrupt, resets."""

import re
import threading
from pathlib import Path

import pytest

from host_tests.kit.matrix import others_are_slow
from host_tests.tools.npu_sim.assembler import CONFIGS
from host_tests.tools.qemu_plugin.guest import TOOLS, Guest

RUNNING = 0x1
IRQ_RAISED = 0x2
BUS_ERROR = 0x4
END_REACHED = 0x20
HISTORY = 0xFFFF0000
GOOD = HISTORY | END_REACHED | IRQ_RAISED

CONFIG_WORDS = {npu: word for npu, word in CONFIGS.items() if "u55" in npu}

READ_FAULT = 4
WRITE_FAULT = 9
FAULTS = {
    "read_dtcm": READ_FAULT,
    "write_dtcm": WRITE_FAULT,
    "read_secure_dtcm": READ_FAULT,
    "read_itcm": READ_FAULT,
    "write_qspi": WRITE_FAULT,
    "across_end_of_ssram": WRITE_FAULT,
    "across_end_of_isram": READ_FAULT,
    "across_end_of_ddr": WRITE_FAULT,
    "registers": READ_FAULT,
    "nothing": READ_FAULT,
}


def fault_channel(status: int) -> int:
    """Return STATUS.faulting_channel."""
    return status >> 12 & 0xF


@others_are_slow
@pytest.mark.parametrize("config", CONFIG_WORDS)
def test_registers_answer_at_both_addresses(guest: Guest, config: str) -> None:
    values = guest.run("identify", f"npu={config}").values
    assert values["id"] >> 28 == 1, "an Ethos-U of architecture 1"
    assert values["id_secure"] == values["id"]
    assert values["config"] == CONFIG_WORDS[config]


def test_doubleword_store_is_two_words(guest: Guest) -> None:
    values = guest.run("identify").values
    assert values["basep1"] == 0x11111110
    assert values["basep2"] == 0x33333333


def test_halfword_access_is_a_bus_fault(guest: Guest) -> None:
    assert "fault" in guest.run("halfword_access").values


def test_without_an_npu_the_board_is_unmodified_qemu(guest: Guest) -> None:
    values = guest.run("identify", "npu=none").values
    assert values["id"] == 0
    assert values["page"] == 0x45485531


def test_npu_moves_data_between_all_memories_it_sees(guest: Guest) -> None:
    values = guest.run("moves").values
    assert len(values) == 8
    assert set(values.values()) == {GOOD}, values


@pytest.mark.parametrize("share", ["on", "off"])
def test_ddr_may_be_a_file_of_the_host(guest: Guest, tmp_path: Path, share: str) -> None:
    size = 2 << 30
    source, target, length = 0x100000, 0x200000, 0x10000
    data = bytes(range(256)) * (length // 256)
    ddr = tmp_path / "ddr"
    with ddr.open("wb") as file:
        file.truncate(size)
        file.seek(source)
        file.write(data)
    backend = f"memory-backend-file,id=ram,size={size},mem-path={ddr},share={share}"
    more = ["-object", backend, "-machine", "memory-backend=ram"]
    assert guest.run("move_in_ddr", "", more).values["status"] == GOOD
    with ddr.open("rb") as file:
        file.seek(target)
        moved = file.read(length)
    ddr.unlink()
    assert moved == (data if share == "on" else bytes(length))


def test_other_memories_are_bus_errors(guest: Guest) -> None:
    outcome = guest.run("refused")
    values = outcome.values
    assert values.pop("good_after_all") == GOOD
    assert all(status & BUS_ERROR for status in values.values()), values
    assert {name: fault_channel(status) for name, status in values.items()} == FAULTS
    assert len(outcome.messages) == len(FAULTS), "each is logged"


@pytest.mark.parametrize(
    ("arguments", "good"),
    [
        ("", {"before", "across", "behind", "behind_secure", "last"}),
        ("size=ISRAM:2048", {"before"}),
        ("size=ISRAM:8192", {"before", "across", "behind", "behind_secure", "last", "behind_all"}),
    ],
)
def test_a_memory_of_another_size(guest: Guest, arguments: str, good: set[str]) -> None:
    values = guest.run("half_of_isram", arguments).values
    assert {name for name, status in values.items() if status == GOOD} == good
    others = [status for name, status in values.items() if name not in good]
    assert len(values) == 6 and all(fault_channel(status) == WRITE_FAULT for status in others)


def test_memory_takes_secure_accesses_only(guest: Guest) -> None:
    outcome = guest.run("states")
    values = outcome.values
    assert values.pop("user") == values.pop("privileged") == GOOD
    assert set(values) == {"non_secure_user", "non_secure_privileged"}
    assert all(status & BUS_ERROR for status in values.values()), values
    assert all("non-secure access" in message for message in outcome.messages)
    assert len(outcome.messages) == len(values), "each is logged"


def test_stream_in_tcm_is_a_bus_error_of_the_command_channel(guest: Guest) -> None:
    status = guest.run("stream_in_tcm").values["status"]
    assert status & BUS_ERROR and not status & END_REACHED
    assert fault_channel(status) == 0


# Reports of scenarios with one interrupt, and of runs that a reset ends.
REPORTS = {
    "only_stop": {
        "status_before": 0, "status": GOOD, "status_after": GOOD & ~IRQ_RAISED, "interrupts": 1
    },
    "masked": {
        "pending": 1, "interrupts_masked": 0, "interrupts_unmasked": 1, "good_after": GOOD
    },
    "soft_reset": {"interrupts_of_runs_reset": 0, "good_after": GOOD, "same": 1},
    "timed_reset": {"running": RUNNING, "after_reset": 0, "good_after": GOOD, "interrupts": 1},
    "machine_reset": {"starts": 5, "failures": 0, "good_after": GOOD},
    "timed_machine_reset": {"starts": 5, "failures": 0, "good_after": GOOD},
}  # fmt: skip


@pytest.mark.parametrize("scenario", REPORTS)
def test_interrupts_and_resets(guest: Guest, scenario: str) -> None:
    timing = "timing=model" if scenario.startswith("timed") else "timing=host"
    # The host may be slow.
    more = ["-icount", "shift=3,sleep=off"] if scenario == "timed_reset" else []
    assert guest.run(scenario, timing, more).values == REPORTS[scenario]


def test_cpu_sleeps_while_the_npu_runs(guest: Guest) -> None:
    values = guest.run("sleep_during_run").values
    assert values["status"] == GOOD
    assert values["idle"] == 1
    assert values["instructions"] < 50, "from the start to the WFI, and none after"


def test_a_cpu_that_polls_is_not_asleep(guest: Guest) -> None:
    assert guest.run("poll_during_run").values["idle"] == 0


def test_guest_ends_qemu_during_a_run(guest: Guest) -> None:
    outcome = guest.run("exit_during_run")
    assert outcome.values["status"] & RUNNING
    assert outcome.code == 0


def test_user_ends_qemu_during_a_run(guest: Guest) -> None:
    with guest.start("sleep_for_ever_during_run") as process:
        while not (line := process.stderr.readline()).startswith("status="):
            assert line, "QEMU ended before the run"
        process.terminate()
        assert process.wait() == 0


# Faults, with their scenario, and more arguments of the plugin.
INJECTED = {
    "npu": dict.fromkeys(
        ("irq-lost", "irq-late", "irq-spurious", "hang", "bus-error", "parse-error", "watchdog",
         "ecc-error", "dead"),
        ("move_in_ddr", ""),
    )
    | dict.fromkeys(
        ("power-refused", "power-lost", "reset-stuck", "reset-slow", "prot-stuck"),
        ("power_and_reset", ""),
    )
    | {"branch-error": ("move_in_ddr", "npu=ethos-u85-256")},
    "dma": dict.fromkeys(("bus-error", "abort", "irq-lost", "hang"), ("dma_moves", "")),
    "console": dict.fromkeys(("interrupt", "noise", "lost"), ("move_in_ddr", "")),
    "board": dict.fromkeys(("reset", "power-loss", "call"), ("move_in_ddr", "")),
}  # fmt: skip
# host_tests/boards/test_power_cuts.py and host_tests/firmware/chips/we2/test_flash.py test these.
BY_BOARD = {"nvm": {"cut", "cut-again", "fail", "lost"}, "flash": {"dead", "no-quad"}}


@others_are_slow
@pytest.mark.parametrize(
    ("device", "name"), [(device, name) for device in INJECTED for name in INJECTED[device]]
)
def test_an_injected_fault_is_logged(guest: Guest, device: str, name: str) -> None:
    """A fault is logged before its consequences, some of which stop the guest forever."""
    scenario, more = INJECTED[device][name]
    with guest.start(scenario, f"fault={device}.{name},{more}".rstrip(",")) as process:
        late = threading.Timer(30, process.kill)
        late.start()
        assert process.stderr is not None
        messages = (line for line in process.stderr if line.startswith("ethosu: "))
        assert next(messages, "") == f"ethosu: {device}: injected fault {name}\n"
        late.cancel()


def test_each_fault_of_the_manual_is_in_the_table() -> None:
    """The table has each fault of the manual's table, by name."""
    manual = (TOOLS / "qemu_plugin/README.md").read_text()
    table = manual.split("| device | names |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `?(\w+)`? \| (.*) \|$", table, re.MULTILINE)
    # Names precede a colon, an explanation in brackets, or a comma; quoted code is excluded.
    named = {
        device.lower(): set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", text)) - {"seed"}
        for device, text in rows
    }
    assert named == {device: set(names) for device, names in INJECTED.items()} | BY_BOARD
