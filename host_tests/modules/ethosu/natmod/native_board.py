# SPDX-License-Identifier: MIT
"""Starts emulated boards with the native module."""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path

from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model.arrays import Array
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import firmware_image, sharing

CALLBACK = """
import emulator as required, machine, time
late = ethosu.Model('/m.tflite', timeout_ms=3000)
def later(*functions):
    def call(timer):
        if not ethosu._is_running(0): return  # it has not started yet
        timer.deinit()
        for function in functions: function()
    emulator.fault('hang')
    machine.Timer(-1).init(mode=machine.Timer.PERIODIC, period=20, callback=call)
"""


def address() -> int:
    """Return the register base of the NPU under test."""
    return firmware_image.of().npu_base


def status() -> str:
    """Return an expression in the board's Python that tells if the NPU is running."""
    return f"machine.mem32[{address() + 4:#x}] & 1"


def imports() -> str:
    """Return code that imports and initialises the native module.

    The address of the NPU is enough unless the heap is behind a certain port of it.
    """
    image = firmware_image.of()
    secure, privileged = map(bool, image.npu_security)
    start = image.symbol("_gc_heap_start")
    fixed = any(memory.port for memory in image.memories if memory.start <= start < memory.end)
    board = f"board={boards.chosen().name!r}, " if fixed else ""
    return (
        firmware_image.emulator() + "import asyncio, gc, sys, native as ethosu\n"
        f"ethosu.init({address()}, {board}secure={secure}, privileged={privileged})"
    )


def program(example: tuple[Oracle, Array, Array]) -> str:
    """Return code that defines a payload, model `m`, its input `x` and the output `golden`."""
    _, x, y = example
    return (
        "import struct\n"
        "payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)\n"
        f"x, golden = bytearray({x.tobytes()!r}), {y.tobytes()!r}\nm = ethosu.Model('/m.tflite')\n"
    )


@functools.cache
def build() -> Path:
    """Build ethosu.mpy for the firmware's MicroPython; returns the folder with package.json."""
    folder = sharing.BUILD / "natmod/tested"
    sharing.make("modules/ethosu/natmod", f"BUILD={folder}")
    return folder


@contextlib.contextmanager
def start(npu: str) -> Iterator[QemuBoard]:
    """Start a board on which `ethosu` is the native module, in a file of another name."""
    with QemuBoard(Machine(emulated(npu=npu))) as board:
        board.write_file("/native.mpy", (build() / "ethosu.mpy").read_bytes())
        board.exec(imports())
        yield board
