# SPDX-License-Identifier: MIT
"""Fixtures that run the firmware with its UART, on stock QEMU if that has the machine."""

import contextlib
import os
import re
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.emulator.qemu import Machine, find_qemu
from ethosu_tools.link.port import Port
from ethosu_tools.sim import selftest

from host_tests.kit import sharing
from host_tests.kit.lines import uart

START_TIMEOUT_S = 10


class Uart:
    """A running firmware and the host end of its UART."""

    def __init__(self, process: subprocess.Popen, port: str) -> None:
        self.process = process
        self.port = port

    def terminal(self) -> contextlib.AbstractContextManager[Port]:
        return uart.terminal(self.port, self.process)

    def board(self) -> contextlib.AbstractContextManager[Board]:
        return contextlib.closing(Board(self.port, process=self.process))


@contextlib.contextmanager
def start(firmware: Path, *options: str) -> Iterator[Uart]:
    """Run a firmware on QEMU with additional options."""
    command = [find_qemu(), "-machine", "mps3-an547", "-kernel", str(firmware), *options]
    command += ["-serial", "pty", "-monitor", "none", "-display", "none"]
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        )
        stack.callback(process.kill)
        port = _find_port(process)
        # QEMU checks only once a second whether the port is open, so keep it open.
        stack.callback(os.close, os.open(port, os.O_RDWR | os.O_NOCTTY))
        yield Uart(process, port)


def _find_port(process: subprocess.Popen) -> str:
    text = ""
    deadline = Deadline(START_TIMEOUT_S, process)
    while not deadline.expired():
        if select.select([process.stdout], [], [], 0.1)[0]:
            text += process.stdout.read1().decode()
        match = re.search(r"redirected to (\S+)", text)
        if match:
            return match[1]
    raise AssertionError(f"QEMU named no serial port: {text}")


@pytest.fixture
def steady_board(request, board_npu) -> Iterator[Board]:
    """A board whose clock does not lose ticks.

    With host time, an emulated board loses SysTick ticks if the host runs other
    programs for longer than a tick; here time is based on instructions.
    """
    if request.config.getoption("--ethosu-port"):
        yield request.getfixturevalue("board")
        return
    with QemuBoard(Machine(emulated(npu=board_npu), repeatable=True)) as board:
        yield board


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the firmware's makefile."""
    return sharing.try_make("firmware", *arguments)


def build(variant: str, *options: str) -> Path:
    """Build a firmware variant with these options; its image is in build/firmware/."""
    done = make(*options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return paths.firmware(variant)


@pytest.fixture(scope="session")
def proven(compiled, small_models, tmp_path_factory) -> Callable[[str], bytes]:
    """Compile the small model with its self-test: `proven("ethos-u55-64")`."""

    def make(npu: str) -> bytes:
        path = tmp_path_factory.mktemp("proven") / "small_cnn.tflite"
        path.write_bytes(compiled(small_models["small_cnn"], npu).read_bytes())
        selftest.add(small_models["small_cnn"], path)
        return path.read_bytes()

    return make


@pytest.fixture(scope="session")
def firmware() -> Path:
    """Return the image of the board under test."""
    return paths.firmware(boards.chosen().name)


@pytest.fixture(scope="module")
def stock(board_npu: str, firmware: Path) -> Iterator[Uart]:
    """Start a firmware per test module, without our plugin unless the machine needs it."""
    if boards.chosen().qemu.machine == "none":
        with Machine(emulated(npu=board_npu, console="uart")) as machine:
            held = os.open(machine.port, os.O_RDWR | os.O_NOCTTY)
            yield Uart(machine.process, machine.port)
            os.close(held)
        return
    with start(firmware) as uart:
        yield uart


@pytest.fixture
def uart_board(stock) -> Iterator[Board]:
    """Return `stock` at its raw REPL, right after a soft reset."""
    with stock.board() as board:
        board.soft_reset()
        yield board
