# SPDX-License-Identifier: MIT
"""Opens an emulated board's UART, with time-outs in the emulator's time."""

import contextlib
import subprocess
from collections.abc import Iterator

import serial
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.link.port import Port


def terminal(port: str, process: subprocess.Popen) -> contextlib.AbstractContextManager[Port]:
    """Open the port of a board that this process emulates."""
    line = Port(serial.Serial(port), lambda seconds: Deadline(seconds, process))
    return contextlib.closing(line)


@contextlib.contextmanager
def at_prompt(machine: Machine) -> Iterator[Port]:
    """Open the port of a machine with console "uart", and wait for its prompt."""
    with terminal(machine.port, machine.process) as line:
        line.write(b"\r")  # opening the port drops a prompt that was already sent
        assert line.read_until(b">>> ").endswith(b">>> ")
        yield line
