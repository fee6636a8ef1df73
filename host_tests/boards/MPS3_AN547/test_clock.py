# SPDX-License-Identifier: MIT
"""The clock without a tick equals QEMU's own: the system counter of the SSE-300, at 32 MHz.

The firmware reloads the SysTick for each alarm, and must not lose the time in between.
"""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import matrix, needs
from host_tests.tools.qemu_plugin import releases

COUNTER = """\
import asyncio, machine, time
CONTROL, LOW, HIGH = 0x58100000, 0x58101000, 0x58101004
machine.mem32[CONTROL] |= 1
def counter():
    while True:
        high, low = machine.mem32[HIGH], machine.mem32[LOW] & 0xffffffff
        if machine.mem32[HIGH] == high: return (high << 32 | low) // 32
def late(wait, times):
    a, begin, b = counter(), time.ticks_us(), counter()
    for _ in range(times): wait()
    c, end, d = counter(), time.ticks_us(), counter()
    passed = time.ticks_diff(end, begin)
    return c - b - passed if passed < c - b else min(d - a - passed, 0)
async def sleeps(n):
    for _ in range(n): await asyncio.sleep_ms(1)
"""
# Waits, and how often each is repeated.
WAITS = {
    "milliseconds": ("lambda: time.sleep_ms(1)", 1000),
    "microseconds": ("lambda: time.sleep_us(300)", 1000),
    "longer_than_the_counter": ("lambda: time.sleep_ms(1300)", 3),
    "asyncio": ("lambda: asyncio.run(sleeps(200))", 1),
    "awake": ("lambda: sum(range(100000))", 3),
}
QUICK = {releases.INSTALLED, releases.NEWEST}


def clock(program):
    """Return -icount's options; with sleep=off, the time of a sleeping CPU is wrong in QEMU 7.2."""
    return "shift=3,sleep=off" if releases.version(program) >= (10,) else "shift=3"


@pytest.fixture(scope="module", params=matrix.cases(releases.ALL, QUICK))
def counted(request):
    """A board whose time is that of its instructions, on each release of QEMU."""
    program = needs.qemu(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETHOSU_QEMU", str(program))
        machine = Machine(
            emulated("MPS3_AN547"), timed=True, more_options=["-icount", clock(program)]
        )
    with QemuBoard(machine) as board:
        board.exec(COUNTER)
        yield board


@pytest.mark.parametrize("wait", WAITS)
def test_the_clock_does_not_drift(counted, wait):
    code, times = WAITS[wait]
    assert abs(counted.eval(f"late({code}, {times})", timeout=120)) < 100  # us, in 0.3 to 4 s


@pytest.mark.parametrize("counted", matrix.cases(list(releases.SUITES), QUICK), indirect=True)
def test_a_timer_that_shares_the_counter_does_not_disturb_it(counted):
    """A timer's interrupt during sleep_ms() runs the callback; the sleep still ends on time."""
    counted.exec(
        "fired = []\n"
        "timer = machine.Timer(-1, period=7, callback=lambda t: fired.append(time.ticks_ms()))\n"
        "lag = late(lambda: time.sleep_ms(50), 8)\n"
        "timer.deinit()\n"
        "steps = {after - before for before, after in zip(fired, fired[1:])}\n"
    )
    assert counted.eval("steps") == {7}
    assert abs(counted.eval("lag")) < 100
