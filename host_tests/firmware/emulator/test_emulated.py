# SPDX-License-Identifier: MIT
"""Counts the firmware's instructions, and tests its use of the emulator's registers."""

import time

import pytest
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.base.errors import BoardResetError, RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import board_models, firmware_image

pytestmark = pytest.mark.usefixtures("emulator_registers")


def wait_for_log(machine: Machine, words: str) -> str:
    """Return the machine's log as soon as it contains these words."""
    deadline = Deadline(10, machine.process)
    while words not in machine.log():
        assert not deadline.expired(), machine.log()
        time.sleep(0.05)
    return machine.log()


@pytest.fixture(scope="module")
def fresh(board_npu):
    """Return a machine that was just switched on."""
    with QemuBoard(Machine(emulated(npu=board_npu))) as board:
        yield board


def test_boot_to_prompt_takes_few_instructions(fresh):
    """Booting takes less than 0.1 s, which is 5 million instructions at QEMU's least 50 MIPS."""
    fresh.exec("import emulator")
    assert fresh.eval("emulator.instructions()") < 5_000_000


def test_nothing_wakes_a_cpu_that_waits(board_npu):
    """Waiting for a second costs no more than 10 ms, except for interrupts of the wrapping counter.

    A tick each millisecond would take 60,000 instructions more, a busy-wait 100 million.
    """
    with QemuBoard(Machine(emulated(npu=board_npu), repeatable=True)) as board:
        check_waits(board)


def check_waits(board):
    board.exec("""
import emulator, gc, time, machine, asyncio, select, sys
poll = select.poll()
poll.register(sys.stdin, select.POLLIN)
async def asleep(ms): await asyncio.sleep_ms(ms)
waits = {
    "sleep_ms": time.sleep_ms, "sleep_us": lambda ms: time.sleep_us(1000 * ms),
    "lightsleep": machine.lightsleep, "poll": poll.poll,
    "asyncio": lambda ms: asyncio.run(asleep(ms)),
}
def cost(wait, ms):
    gc.collect()
    start, before = time.ticks_us(), emulator.instructions()
    wait(ms)
    after, end = emulator.instructions(), time.ticks_us()
    assert time.ticks_diff(end, start) > 1000 * (ms - 1)
    return after - before
def per_second(wait):
    wait(1)
    return min(cost(wait, 1010) - cost(wait, 10) for _ in range(3))
""")
    wraps = board.eval("machine.freq()") / 2**24
    for name, cost in board.eval(
        "{name: per_second(wait) for name, wait in waits.items()}"
    ).items():
        assert cost < 300 + 250 * wraps, (name, cost, wraps)


def test_idle_waits_one_millisecond(steady_board):
    """idle() returns after a millisecond, since a program may poll what has no interrupt."""
    steady_board.exec("""
import machine, time
start, times = time.ticks_ms(), 0
while time.ticks_diff(time.ticks_ms(), start) < 200:
    machine.idle()
    times += 1
""")
    assert steady_board.eval("190 <= times <= 210")


def test_ctrl_c_ends_a_long_sleep(fresh):
    """Ctrl-C's own interrupt must end a sleep: the next other one comes when the counter wraps."""
    board_models.interrupt(fresh, "import time\ntime.sleep(1_000_000)")


def test_the_cpu_sleeps_while_waiting_for_input(fresh):
    """Few instructions run while waiting; the bound is wide, as a busy host delays SysTick."""
    fresh.exec("import emulator, time, sys")
    fresh.start("""
before = emulator.instructions()
sys.stdin.read(1)
print(emulator.instructions() - before, end="")
""")
    waited = Deadline(1, fresh.machine.process)
    while not waited.expired():
        time.sleep(0.05)
    fresh.inject(b"x")
    assert int(fresh.finish()) < 4_000_000


def test_counts_are_exact(fresh):
    """A loop of three instructions counts three per iteration, also for a thousand times more."""
    fresh.exec("""
import emulator, gc, machine
@micropython.asm_thumb
def spin(r0):
    label(again)
    sub(r0, r0, 1)
    cmp(r0, 0)
    bne(again)
def count(n):
    gc.collect()  # numbers are then found room for in as many steps
    state = machine.disable_irq()
    before = emulator.instructions()
    spin(n)
    after = emulator.instructions()
    machine.enable_irq(state)
    return after - before
""")
    short, long = fresh.eval("[min(count(n) for _ in range(20)) for n in (1, 1001)]")
    assert long - short == 3000


def test_deepsleep_ends_in_a_reset(fresh):
    fresh.start("print('sleep'); import machine; machine.deepsleep(50)")
    with pytest.raises(BoardResetError):
        fresh.finish()
    fresh.exec("import machine")
    assert fresh.eval("machine.reset_cause() == machine.DEEPSLEEP_RESET")


def test_the_npu_works_after_an_interrupted_deepsleep(fresh):
    fresh.exec("import emulator, ethosu, machine")
    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        fresh.exec("emulator.fault('console.interrupt', 1, 50000000)\nmachine.deepsleep(100000)")
    assert fresh.machine.npu in fresh.eval("ethosu.npus()")


def test_lightsleep_without_a_time_ends_with_input(fresh):
    fresh.start("import machine, sys; machine.lightsleep(); print(sys.stdin.read(1), end='')")
    fresh.inject(b"x")
    assert fresh.finish() == "x"


def test_flood_of_the_fast_console(fresh):
    """Nothing is lost when far more than the ring holds arrives while no program reads."""
    fresh.start("""
import emulator, micropython, sys, time
micropython.kbd_intr(-1)
emulator.log("ready for the flood\\n")
time.sleep_ms(200)
total = 0
for _ in range(200):
    total += sum(sys.stdin.buffer.read(1000))
micropython.kbd_intr(3)
print(total, end="")
""")
    data = bytes(i % 251 for i in range(200_000))
    wait_for_log(fresh.machine, "ready for the flood")
    fresh.inject(data)
    assert int(fresh.finish(timeout=20)) == sum(data)


def test_bad_log_argument_is_an_error(fresh):
    with pytest.raises(RemoteError, match="TypeError"):
        fresh.exec("import emulator; emulator.log(1)")


def test_output_waits_for_a_slow_reader(board_npu):
    """No output is lost if far more than the FIFO holds is read only after a delay."""
    with QemuBoard(Machine(emulated(npu=board_npu))) as board:
        board.start("for i in range(20000):\n print(i)")
        time.sleep(0.5)
        assert board.finish().split() == [str(i) for i in range(20000)]


def test_a_fault_does_not_wait_for_a_reader_that_sleeps(board_npu):
    with QemuBoard(Machine(emulated(npu=board_npu))) as board:
        board.start(f"""
import machine
EMULATOR_CONSOLE_SPACE = {board.machine.board.qemu.page + 0x120}
while machine.mem32[EMULATOR_CONSOLE_SPACE] > 200:
    print("x" * 100)
machine.mem32[0]
""")
        wait_for_log(board.machine, "skipped once")


@pytest.fixture
def repeatable(board_npu):
    """Return a machine with instruction-based time; `go(name)` triggers a fault in a loop."""
    with QemuBoard(Machine(emulated(npu=board_npu), repeatable=True)) as board:
        board.exec("""
import emulator, machine, time, uctypes
called = []
def emulator_call(): called.append(emulator.instructions())
def go(name, count=1, after=400_000):
    called.clear()
    time.sleep_ms(1)
    begin = emulator.instructions()
    emulator.fault(name, count, after)
    try:
        for _ in range(30_000): pass
    except KeyboardInterrupt: called.append(emulator.instructions())
    return [count - begin for count in called]
go("console.lost", 0)
""")
        yield board


@pytest.mark.parametrize("name", ["board.call", "console.interrupt"])
def test_a_delayed_fault_occurs_on_time(repeatable, name):
    """A fault occurs after its delay, 50,000 instructions in 400,000 ns, within a line of Python.

    The clock tick and the heap may cause small differences.
    """
    counts = [repeatable.eval(f"go({name!r})") for _ in range(3)]
    assert all(len(found) == 1 for found in counts), counts
    assert all(50_000 < found[0] < 60_000 for found in counts), counts


def test_a_withdrawn_fault_does_not_occur(repeatable):
    waits = "emulator.fault('board.call', 1, 5_000_000)"
    assert repeatable.eval(f"({waits}, go('board.call', 0, 0))[1]") == []


def test_a_fault_replaces_a_pending_one(repeatable):
    waits = "emulator.fault('board.call', 1, 5_000_000)"
    assert len(repeatable.eval(f"({waits}, go('board.call'))[1]")) == 1


def test_a_call_without_a_handler_does_nothing(repeatable):
    repeatable.exec("del emulator_call")
    assert repeatable.eval("go('board.call')") == []


@pytest.mark.parametrize(("fault", "kept"), [("reset", True), ("power-loss", False)])
def test_memory_is_kept_by_a_reset_and_lost_without_power(repeatable, fault, kept):
    """A reset keeps the end of the RAM disk, where few files are; a power cut clears it.

    The disk cleans the cache after writes; a reset may lose cached data of other memory.
    """
    place = f"uctypes.bytearray_at({firmware_image.of().symbol('_ramdisk_end') - 64}, 64)"
    mark = bytes(range(64))
    repeatable.exec(
        "import machine\ndisk = machine.RAMDisk()\n"
        f"disk.writeblocks(disk.ioctl(4, 0) - 1, {mark!r}, disk.ioctl(5, 0) - 64)"
    )
    repeatable.start(f"go('board.{fault}')\nprint('no restart')")
    with pytest.raises(BoardResetError, match=r" restarted: machine\.reset"):
        repeatable.finish()
    repeatable.exec("import uctypes")
    assert (repeatable.eval(f"bytes({place})") == mark) is kept


def test_bytes_are_lost_in_transit(repeatable):
    repeatable.start(
        "import sys\nemulator.fault('console.lost', 3)\nemulator.log('loses now\\n')\n"
        "print(sys.stdin.read(2))"
    )
    wait_for_log(repeatable.machine, "loses now")
    repeatable.inject(b"abcde")
    assert repeatable.finish().strip() == "de"


def test_noise_on_the_line_is_the_same_each_time(repeatable):
    repeatable.exec(
        "import micropython, sys\n"
        "def noise(n):\n"
        "    micropython.kbd_intr(-1)\n"
        "    emulator.fault('console.noise', n)\n"
        "    found = sys.stdin.buffer.read(n)\n"
        "    micropython.kbd_intr(3)\n"
        "    return found"
    )
    first, again, other = repeatable.eval("[noise(9), noise(9), noise(10)]")
    assert first == again != other[:9] and len(set(first)) > 5
