# SPDX-License-Identifier: MIT
"""Python features on the board."""

import re

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import RemoteError

EXPRESSIONS = {
    "1 / 3": 1 / 3,  # double precision
    "2 ** 100": 2**100,
    "__import__('struct').pack('<d', 2 ** 0.5)": b"\xcd;\x7ff\x9e\xa0\xf6?",
    "__import__('math').exp(1)": 2.718281828459045,
    "__import__('json').loads('[1, 2.5]')": [1, 2.5],
    "__import__('re').match('a(.*)c', 'abc').group(1)": "b",
    "__import__('binascii').hexlify(__import__('hashlib').sha256(b'').digest())[:8]": b"e3b0c442",
    "__import__('time').gmtime(0)[:6]": (1970, 1, 1, 0, 0, 0),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_evaluated(board, expression):
    assert board.eval(expression) == EXPRESSIONS[expression]


def test_it_identifies_its_board(board, emulator_only):
    facts = boards.chosen()
    folder, _, core = facts.name.partition("-")
    board.exec("import machine, os, sys")
    assert board.eval("sys.platform") == folder.lower().replace("_", "-")
    assert board.eval("machine.freq()") == facts.clock_mhz * 1_000_000
    assert re.fullmatch(rf".+{core}.* with .+", board.eval("os.uname().machine"))


def test_the_unique_id_is_constant(board):
    before, after = (board.ask("import machine; _answer = machine.unique_id()") for _ in range(2))
    assert isinstance(before, bytes) and len(before) >= 3 and before == after


def test_the_heap_is_free(board):
    """The whole heap except this program's memory is free, and half of that is contiguous."""
    board.exec("import gc; gc.collect(); free = gc.mem_free(); big = bytearray(free // 2)")
    free, size = board.eval("(free, free + gc.mem_alloc() - len(big))")
    assert free > size * 9 // 10


def test_objects_held_only_by_registers_and_stack_survive_collection(board):
    board.exec("""
import gc
def churn(depth):
    keep = [bytearray(b"%d" % depth) for _ in range(20)]
    if depth:
        churn(depth - 1)
    gc.collect()
    assert all(each == b"%d" % depth for each in keep)
churn(20)
""")


def test_asyncio_runs_tasks_side_by_side(board):
    printed = board.exec("""
import asyncio
async def say(word, pause):
    for _ in range(3):
        await asyncio.sleep_ms(pause)
        print(word, end="")
async def main():
    await asyncio.gather(say("a", 20), say("b", 30))
asyncio.run(main())
""")
    assert sorted(printed) == list("aaabbb") and printed != "aaabbb"


def test_a_task_whose_result_was_lost_to_ctrl_c_raises(board):
    """Ctrl-C between two lines of asyncio's loop, when a task is done without a result, raises."""
    with pytest.raises(RemoteError, match="RuntimeError: Ctrl-C lost the result of this task"):
        board.exec("""
import asyncio
async def work(): pass
task = asyncio.Task(work())
task.state = False
next(iter(task))
""")
    assert board.eval("6 * 7") == 42


def test_timer_and_schedule(steady_board):
    assert (
        steady_board.exec("""
import machine, micropython, time
seen = []
timer = machine.Timer(-1, period=5, callback=lambda t: seen.append("t"))
while len(seen) < 3:
    time.sleep_ms(1)
timer.deinit()
micropython.schedule(lambda x: seen.append(x), "s")
time.sleep_ms(20)
print("".join(seen), end="")
""")
        == "ttts"
    )


def test_time_is_monotonic(steady_board):
    steady_board.exec("""
import time
before = time.ticks_us()
for _ in range(20000):
    now = time.ticks_us()
    assert time.ticks_diff(now, before) >= 0, (before, now)
    before = now
start = time.ticks_ms()
time.sleep_ms(50)
assert 50 <= time.ticks_diff(time.ticks_ms(), start) < 1000
""")


def test_ticks_skipped_by_a_sleep_are_counted(steady_board):
    """Both clocks include the time of a sleep, in which only soft timers wake the CPU."""
    steady_board.exec("""
import machine, time
for ms in range(1, 60):
    us, start = time.ticks_us(), time.ticks_ms()
    time.sleep_ms(ms)
    us, passed = time.ticks_diff(time.ticks_us(), us), time.ticks_diff(time.ticks_ms(), start)
    assert 0 <= us - 1000 * ms < 1000 and abs(us - 1000 * passed) <= 1000, (ms, us, passed)
fired = []
timer = machine.Timer(-1, period=10, callback=lambda t: fired.append(time.ticks_ms()))
time.sleep_ms(105)
timer.deinit()
assert [after - before for before, after in zip(fired, fired[1:])] == [10] * 9, fired
""")


@pytest.mark.parametrize("timeout_ms", [-1, 5000])
def test_streams_written_in_python_are_polled_each_millisecond(steady_board, timeout_ms):
    """Streams without an interrupt are polled each millisecond, as in ports with a tick."""
    steady_board.exec(f"""
import io, select, time
class Stream(io.IOBase):
    polled = 0
    def ioctl(self, request, flags):
        self.polled += 1
        return flags if self.polled > 30 else 0
stream, poll = Stream(), select.poll()
poll.register(stream, select.POLLIN)
start = time.ticks_ms()
assert len(poll.poll({timeout_ms})) == 1
assert time.ticks_diff(time.ticks_ms(), start) <= 40, time.ticks_diff(time.ticks_ms(), start)
""")


def test_wall_clock_can_be_set(board):
    board.exec("""
import machine, time
machine.RTC().datetime((2031, 2, 3, 0, 4, 5, 6, 0))
assert time.localtime()[:5] == (2031, 2, 3, 4, 5)
assert machine.RTC().datetime()[:4] == (2031, 2, 3, 0)  # a Monday
assert time.time_ns() // 10**9 == time.time() == time.mktime(time.localtime())
""")


def test_select_reports_input_only_when_available(board):
    heard = b""

    def on_output(byte: bytes) -> None:
        nonlocal heard
        heard += byte
        if heard == b"0":
            board.inject(b"xy")

    board.exec(
        """
import select, sys
poll = select.poll()
poll.register(sys.stdin, select.POLLIN)
print(len(poll.poll(20)), end="")
sys.stdin.read(1)
print(len(poll.poll()), sys.stdin.read(1), end="")
""",
        on_output=on_output,
    )
    assert heard.startswith(b"01 y")


def test_an_object_that_cannot_be_registered_is_not_polled(board):
    """A failed register() leaves no entry, which would crash poll() and modify()."""
    board.exec("""
import select, sys
poll = select.poll()
wrong = [5]
for _ in range(2):
    try: poll.register(wrong)
    except OSError: pass
    else: raise AssertionError
poll.register(sys.stdin, select.POLLIN)
assert poll.poll(0) == []
try: poll.modify(wrong, select.POLLIN)
except OSError as error: assert error.errno == 2
else: raise AssertionError
poll.unregister(wrong)
assert poll.poll(0) == []
""")


@pytest.mark.parametrize("emitter", ["native", "viper"])
def test_machine_code_emitters(board, emitter):
    board.exec(f"""
@micropython.{emitter}
def total(n: int) -> int:
    s = 0
    for i in range(n):
        s += i
    return s
assert total(1000) == 499500
""")


def test_vector_extension_keeps_its_registers_over_interrupts(board):
    """Frequent interrupts must not change floats in FPU registers."""
    board.exec("""
x = 0.0
for i in range(100000):
    x += 0.5
assert x == 50000.0
""")


def test_a_soft_reset_clears_the_state(board):
    board.exec("leftover = 1")
    board.soft_reset()
    assert board.eval("'leftover' in globals()") is False


def test_help_lists_the_modules(board):
    listed = board.exec("help('modules')").split()
    for module in ("asyncio/__init__", "emulator", "machine", "select", "time", "vfs"):
        assert module in listed
