# SPDX-License-Identifier: MIT
"""Tests QEMU's machine for Linux: NPU window, SRAM, RAM, and the interrupt by the GIC."""

import subprocess
from pathlib import Path

import pytest
from ethosu_tools.base import deadline

from host_tests.tools.qemu_plugin.guest import SOURCES, TIMEOUT_S, outcome

GOOD = 0xFFFF0022  # history, end reached, interrupt raised
SOURCE = Path(__file__).with_name("virt_guest.c")


@pytest.fixture(scope="module")
def virt_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bare-metal test program of this machine."""
    path = tmp_path_factory.mktemp("virt") / "guest.elf"
    flags = "-mcpu=cortex-a15 -marm -mfloat-abi=soft -O2 -Wall -Wextra -Werror -ffreestanding"
    link = "-nostdlib -Wl,-Ttext=0x40010000 -Wl,-estart"
    words = ["arm-none-eabi-gcc", *flags.split(), *link.split(), f"-I{SOURCES}"]
    subprocess.run([*words, "-o", path, SOURCE], check=True)
    return path


@pytest.mark.parametrize("gic", [2, 3])
@pytest.mark.parametrize(
    ("npu", "config"), [("ethos-u65-256", 0x10002008), ("ethos-u85-256", 0x20000018)]
)
def test_a_program_on_virt_runs_the_npu(
    qemu: Path, plugin: Path, virt_program: Path, gic: int, npu: str, config: int
) -> None:
    machine = ["-machine", f"virt,gic-version={gic}", "-cpu", "cortex-a15", "-nic", "none"]
    quiet = ["-display", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    board = f"{plugin},board=VIRT,npu={npu}"
    done = deadline.run(
        [qemu, *machine, *quiet, *semihosting, "-kernel", virt_program, "-plugin", board], TIMEOUT_S
    )
    said = outcome(done.stdout + done.stderr, done.returncode)
    assert said.messages == []
    assert said.values.pop("id") >> 28 == (2 if "u85" in npu else 1)
    assert said.values.pop("config") & 0xF000000F == config & 0xF000000F
    expected = {"before": 0, "ram": GOOD, "ram_irq": 1, "sram": GOOD, "sram_irq": 1, "after": 0}
    assert said.values == expected


def test_another_machine_is_named(qemu: Path, plugin: Path, program: Path) -> None:
    words = [qemu, "-machine", "mps3-an547", "-display", "none", "-kernel", program]
    done = deadline.run([*words, "-plugin", f"{plugin},board=VIRT"], TIMEOUT_S)
    assert done.returncode != 0
    assert "this machine is not VIRT: start QEMU with -machine virt" in done.stderr
