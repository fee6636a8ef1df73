# SPDX-License-Identifier: MIT
"""Runs one scenario of the bare-metal test program (``guest/``) in QEMU."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ethosu_tools.base import deadline

TIMEOUT_S = 60  # in the emulator's time
SOURCES = Path(__file__).resolve().parent / "guest"
TOOLS = SOURCES.parents[3] / "tools"
FLAGS = (
    "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -O2 -Wall -Wextra -Werror -ffreestanding -nostdlib"
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a scenario."""

    values: dict[str, int]
    """The guest's reports, in order."""
    messages: list[str]
    """The plugin's lines, without their prefix."""
    output: str
    """The whole output on stderr."""
    code: int
    """Exit code of QEMU."""


def build(program: Path, more: Path | None = None, include: Path = SOURCES) -> None:
    """Compile the test program; `more`: another file with scenarios, which includes `include`."""
    paths = [f"-I{path}" for path in (TOOLS.parent / "firmware/emulator", SOURCES, include)]
    sources = [*sorted(SOURCES.glob("*.c")), *([more] if more else [])]
    command = ["arm-none-eabi-gcc", *FLAGS.split(), f"-T{SOURCES / 'guest.ld'}", *paths]
    subprocess.run([*command, "-o", program, *sources], check=True)


@dataclass(frozen=True)
class Guest:
    """A release of QEMU, the plugin and the test program."""

    qemu: Path
    plugin: Path
    program: Path

    def command(self, scenario: str, arguments: str, more: Sequence[str]) -> list[str]:
        """Return QEMU's command line; `arguments` are the plugin's, such as ``npu=none``."""
        quiet = ["-display", "none", "-serial", "none"]
        semihosting = f"enable=on,target=native,arg={scenario}"
        plugin = f"{self.plugin},{arguments}" if arguments else str(self.plugin)
        machine = ["-machine", "mps3-an547", "-kernel", str(self.program)]
        return [
            *(str(self.qemu), *machine, *quiet, "-semihosting-config", semihosting),
            *("-plugin", plugin, *more),
        ]

    def run(self, scenario: str, arguments: str = "", more: Sequence[str] = ()) -> Outcome:
        """Run a scenario to its end."""
        done = deadline.run(self.command(scenario, arguments, more), TIMEOUT_S)
        return outcome(done.stderr, done.returncode)

    @contextmanager
    def start(
        self, scenario: str, arguments: str = "", more: Sequence[str] = ()
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a scenario in the background; it ends with the ``with`` at the latest."""
        process = subprocess.Popen(
            self.command(scenario, arguments, more),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def outcome(output: str, code: int) -> Outcome:
    """Separate the output of QEMU, the plugin and the guest."""
    reports = re.findall(r"^(\w+)=(0x[0-9a-f]{8})$", output, re.MULTILINE)
    values = {name: int(value, 16) for name, value in reports}
    messages = re.findall(r"^ethosu: (?:fatal: )?(.*)$", output, re.MULTILINE)
    return Outcome(values, messages, output, code)
