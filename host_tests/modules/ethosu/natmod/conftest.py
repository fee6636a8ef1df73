# SPDX-License-Identifier: MIT
"""Fixtures: a board with the native module, and the built-in module's for comparison."""

import pytest
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from host_tests.kit import firmware_image, sharing
from host_tests.modules.ethosu.binding.conftest import api, example  # noqa: F401  # fixtures

CALLBACK = """
import emulator, machine, struct, time
payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)
late = ethosu.Model('/m.tflite', timeout_ms=3000)
def later(*functions):
    def call(timer):
        for function in functions: function()
    emulator.fault('hang')
    machine.Timer(-1).init(mode=machine.Timer.ONE_SHOT, period=5, callback=call)
"""


def address() -> int:
    """Register base of the NPU under test."""
    return firmware_image.of().npu_base


def status() -> str:
    """Expression for the board's Python, which has imported machine: is the NPU running?"""
    return f"machine.mem32[{address() + 4:#x}] & 1"


def imports() -> str:
    """Code that starts with the native module."""
    return f"import asyncio, gc, native as ethosu\nethosu.init({address()})"


@pytest.fixture(scope="module")
def native(build_dir):
    """Folder with ethosu.mpy and its package.json, built for the firmware's MicroPython."""
    folder = build_dir / "natmod/tested"
    sharing.make("modules/ethosu/natmod", f"BUILD={folder}")
    return folder


def not_on_a_port(request):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("the address of the NPU is the emulated board's")


@pytest.fixture(scope="module")
def loaded(request, native, board_npu):
    """A board on which `ethosu` is the native module, under a name not used by the built-in one."""
    not_on_a_port(request)
    with QemuBoard(Machine(board_npu)) as board:
        board.write_file("/native.mpy", (native / "ethosu.mpy").read_bytes())
        board.exec(imports())
        yield board


@pytest.fixture
def fresh(loaded, compiled, small_models, example):  # noqa: F811  # a fixture
    """The same, with model `m`, its input `x` and the output `golden`."""
    _, x, y = example
    model = compiled(small_models["small_cnn"], loaded.machine.npu)
    loaded.write_file("/m.tflite", model.read_bytes())
    loaded.exec(
        f"x, golden = bytearray({x.tobytes()!r}), {y.tobytes()!r}\nm = ethosu.Model('/m.tflite')\n"
    )
    return loaded
