# SPDX-License-Identifier: MIT
"""Registers close by a reset, and open by another core."""

import subprocess
import time

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import CONTROL_TIMEOUT_S, Machine

# A board, a register that enables a device's answers, and the device's first register.
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
    """Return the value that the CPU would read; None if nothing answers."""
    value = monitor(machine, f"xp /1wx {address:#x}").partition(":")[2]
    return int(value, 16) if value.strip().startswith("0x") else None


@pytest.mark.parametrize(("name", "register", "device"), GATES)
def test_a_reset_closes_the_gates(name, register, device, each_qemu):
    """A reset closes the gates; the CPU is halted, so nothing opens them again."""
    with QemuBoard(Machine(emulated(name))) as board:
        machine = board.machine
        assert word(machine, register) and word(machine, device)
        monitor(machine, "stop")
        machine.reset()
        assert word(machine, register) == 0
        assert not word(machine, device)
        monitor(machine, "cont")
        board.reconnect()
        assert board.eval("__import__('ethosu').npus()") == list(machine.board.npus)


# Writes the SysTick's reload value and reads it back, forever; counts all and wrong passes.
HAMMER = """
    .syntax unified
    .word 0x26001000, start + 1
    .thumb
start:
    ldr r4, =0xE000E014
    ldr r5, =0x26000000
    mov r1, #0x100000
again:
    movs r3, #0
    .rept 24
    add r1, #2
    bfc r1, #22, #10
    str r1, [r4]
    ldr r0, [r4]
    eors r0, r1
    orrs r3, r0
    .endr
    ldr r0, [r5]
    cbz r3, right
    adds r0, #1
    str r0, [r5]
right:
    ldr r0, [r5, #4]
    adds r0, #1
    str r0, [r5, #4]
    b again
"""
WRONG, PASSES = 0x26000000, 0x26000004


def test_no_access_is_lost_when_another_core_opens_registers(emulator_only, tmp_path, each_qemu):
    """No access is lost when another core opens registers, 50 ms after a reset."""
    source, image = tmp_path / "hammer.s", tmp_path / "hammer.elf"
    source.write_text(HAMMER)
    options = ["-mcpu=cortex-m55", "-nostdlib", "-Wl,-Ttext=0x60500000,--entry=0x60500009"]
    subprocess.run(["arm-none-eabi-gcc", *options, source, "-o", image], check=True)
    with Machine(emulated("KIT_PSE84_AI", firmware=image)) as machine:
        for _ in range(20):
            machine.reset()
            passes, end = word(machine, PASSES), word(machine, PASSES) + 10_000
            deadline = machine._deadline(CONTROL_TIMEOUT_S)
            while passes < end:
                assert not deadline.expired(), f"{passes} of {end} passes"
                time.sleep(0.01)
                passes = word(machine, PASSES)
        assert word(machine, WRONG) == 0
