# SPDX-License-Identifier: MIT
"""Each fault the emulator can inject gives its own error; the next inference is exact."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import board_models

from .conftest import NPUS

EIO, ETIMEDOUT = 5, 110

# Injected faults, the errno, words of the message. A reset takes place at recovery, or if the
# NPU's state has changed unexpectedly.
FAULTS = {
    "irq-lost": (["irq-lost"], ETIMEDOUT, "no interrupt came within 500 ms: end reached"),
    "irq-late": (["irq-late"], ETIMEDOUT, "no interrupt came within 500 ms: end reached"),
    "hang": (["hang"], ETIMEDOUT, "inference took longer than 500 ms: running"),
    "bus-error": (["bus-error"], EIO, "bus error at command"),
    "parse-error": (["parse-error"], EIO, "stopped at byte 4 of the command stream: command pa"),
    "watchdog": (["watchdog"], EIO, "watchdog"),
    "ecc-error": (["ecc-error"], EIO, "memory error (ECC)"),
    "power-refused": (["power-refused"], EIO, "protection state 0x0, 0x1 requested"),
    "reset-stuck": (["hang", "reset-stuck"], EIO, "NPU reset did not complete: in reset"),
    "prot-stuck": (["prot-stuck:2"], EIO, "protection state 0x0, 0x1 requested"),
}
HARMLESS = ["irq-spurious", "irq-spurious:3", "power-lost:3", "reset-slow", "dead"]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(each, load, fault):
    names, errno, words = FAULTS[fault]
    load(each)
    assert each.eval("right()")
    for name in names:
        each.exec(f"emulator.fault({name.partition(':')[0]!r}, {name.partition(':')[2] or 1})")
    error = board_models.raised(each, "m.predict([x])")
    assert error.startswith(f"OSError {errno} "), error
    assert words in error
    assert each.eval("[right() for _ in range(3)]") == [True] * 3


@pytest.mark.parametrize("fault", HARMLESS)
def test_tolerated_fault_changes_no_result(two_npus, load, fault):
    load(two_npus)
    name, _, count = fault.partition(":")
    two_npus.exec(f"emulator.fault({name!r}, {count or 1})")
    assert two_npus.eval("[right() for _ in range(4)]") == [True] * 4


def test_withdrawn_fault_does_not_happen(two_npus, load):
    load(two_npus)
    two_npus.exec("emulator.fault('hang', 5)\nemulator.fault('hang', 0)")
    assert two_npus.eval("right()")


def test_inference_continues_when_a_hang_is_withdrawn(two_npus, load):
    load(two_npus)
    two_npus.exec(
        "import asyncio\nemulator.fault('hang')\n"
        "async def withdraw():\n"
        "    task = asyncio.create_task(m.run([x]))\n"
        "    await asyncio.sleep_ms(50)\n"
        "    hung = not task.done()\n"
        "    emulator.fault('hang', 0)\n"
        "    return hung, bytes((await task)[0]) == golden\n"
    )
    assert two_npus.eval("asyncio.run(withdraw())") == (True, True)
    assert two_npus.eval("right()")


@pytest.mark.parametrize("name", ["", "slow", "npu2.hang", "hang.npu", "dma.watchdog", "h" * 100])
def test_unknown_fault_is_refused(two_npus, name):
    error = board_models.raised(two_npus, f"emulator.fault({name!r})")
    assert error == f"ValueError unknown fault {name}".strip()


def test_fault_from_the_command_line(load):
    with QemuBoard(
        Machine(emulated(npu=NPUS[0]), plugin_options=["fault=npu.bus-error:2"])
    ) as board:
        board.exec("import ethosu")
        load(board)
        for _ in range(2):
            assert board_models.raised(board, "m.predict([x])").startswith(f"OSError {EIO} ")
        assert board.eval("right()")
