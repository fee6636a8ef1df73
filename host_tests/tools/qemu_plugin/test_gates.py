# SPDX-License-Identifier: MIT
"""A machine reset undoes what the firmware has enabled: clocks, enables, released resets."""

import pytest
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import CONTROL_TIMEOUT_S, Machine

# A board, a register without which a device does not answer, and the device's first register.
GATES = [
    ("ALIF_ENSEMBLE_E7-M55_HP", 0x400F0010, 0x400E1000),
    ("GROVE_VISION_AI_V2", 0x56100214, 0x53020000),
    ("KIT_PSE84_AI", 0x44004090, 0x44600000),
    ("KIT_PSE84_AI", 0x44602000, 0x44600000),
    ("KIT_PSE84_AI", 0x42004050, 0x429A0000),
    ("NUMAKER_M55M1", 0x4000128C, 0x40003000),
]


def monitor(machine: Machine, line: str) -> str:
    deadline = machine._deadline(CONTROL_TIMEOUT_S)
    command = "human-monitor-command"
    answer: str = machine._control.command(command, deadline, **{"command-line": line})
    return answer


def word(machine: Machine, address: int) -> int | None:
    """The value the CPU would read; None if nothing answers."""
    value = monitor(machine, f"xp /1wx {address:#x}").partition(":")[2]
    return int(value, 16) if value.strip().startswith("0x") else None


@pytest.mark.parametrize(("name", "register", "device"), GATES)
def test_a_reset_closes_the_gates(name, register, device, each_qemu):
    """The CPU is halted, so nothing enables them again."""
    with QemuBoard(Machine(board=name)) as board:
        machine = board.machine
        assert word(machine, register) and word(machine, device)
        monitor(machine, "stop")
        machine.reset()
        assert word(machine, register) == 0
        assert not word(machine, device)
        monitor(machine, "cont")
        board._reconnect()
        assert board.eval("__import__('ethosu').npus()") == list(machine.board.npus)
