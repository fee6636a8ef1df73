# SPDX-License-Identifier: MIT
"""Ctrl-C, soft reset, collection at any time: the native module leaks neither NPU nor memory."""

import random
import time

import pytest

from host_tests.kit.board_models import interrupt, raised
from host_tests.modules.ethosu.natmod.native_board import address, imports, program, status

# Raises Ctrl-C at call or return number `left` of the module's functions and methods.
_HOOKS = """
OFF = 1 << 29
left = OFF
def moment():
    global left
    left -= 1
    if left == -1: raise KeyboardInterrupt
def hooked(function):
    def call(*args, **kwargs):
        moment()
        result = function(*args, **kwargs)
        moment()
        return result
    return call
# One of each kind of function.
names = '_open', '_is_running', '_measure', '_metadata', '_load', 'buffer'
kinds = [type(getattr(ethosu, name)) for name in names]
count = 0
for owner in (ethosu, ethosu.Model, ethosu.NPU, ethosu.Tensor):
    for name in dir(owner):
        if name != '__getattr__' and type(getattr(owner, name)) in kinds:
            setattr(owner, name, hooked(getattr(owner, name)))
            count += 1
def sweep(work, recover):
    global left, at
    while True:
        left = at
        try: work()
        except KeyboardInterrupt: pass
        ended, left = left >= 0, OFF
        recover()
        with ethosu.reserve(timeout_ms=0) as n: n.invoke(payload, [])
        assert bytes(m.predict([x])[0]) == golden
        if ended: return
        at += 1
"""

_WORK = """
n, y = None, [bytearray(len(golden))]
def nothing(): pass
def predict(): m.predict([x])
def run_into(): m.run_into([x], y)
def begun(): m._start([x]); m.cancel()
def invoke():
    with ethosu.reserve(timeout_ms=0) as n: n.invoke(payload, [])
def steps():
    global n
    n = ethosu.reserve(timeout_ms=0, powered=True)
    n.invoke_async(payload, []); n.wait(); n.release()
def drop():
    if n: n.release()
def task(): asyncio.run(m.run([x]))
def payload_task():
    global n
    n = ethosu.reserve(timeout_ms=0)
    asyncio.run(n.run(payload, []))
    n.release()
"""


@pytest.fixture
def begin(fresh, example):
    """Restart the board: a soft reset, then the setup of `fresh`."""

    def reset():
        fresh.soft_reset()
        fresh.exec(f"{imports()}\n{program(example)}")
        return fresh

    yield reset
    reset()


@pytest.mark.parametrize(
    "work", ["predict, nothing", "run_into, nothing", "begun, m.cancel", "invoke, nothing",
             "steps, drop", "task, nothing", "payload_task, drop"]
)  # fmt: skip
def test_ctrl_c_at_each_call_leaves_the_npu_free(begin, work):
    """Ctrl-C at any call or return of the module does not leak the NPU."""
    board = begin()
    board.exec(_HOOKS + _WORK)
    board.exec(f"at = 0\nsweep({work})", timeout=60)
    assert board.eval("at > 12 and count > 50")


@pytest.mark.parametrize(
    "work", ["m.predict([x])", "asyncio.run(m.run([x]))", "asyncio.run(three())"]
)
def test_storm_of_ctrl_c(begin, work):
    """After any Ctrl-C, the next call works, blocking or not, in the same or a new loop.

    asyncio.gather() is not used: after a Ctrl-C in it, it raises NameError in the next loop.
    """
    board, moments = begin(), random.Random(5)
    board.exec(
        "n = ethosu.Model('/m.tflite')\n"
        "async def go(model):\n"
        "    for _ in range(20): assert bytes((await model.run([x]))[0]) == golden\n"
        "async def three():\n"
        "    for task in [asyncio.create_task(go(model)) for model in (m, n, m)]: await task"
    )
    for number in range(15):
        interrupt(board, f"while True: {work}", after=moments.uniform(0, 0.02))
        if number % 2:
            assert board.eval("bytes(m.predict([x])[0]) == golden")
        if number % 3 == 0:
            board.exec("asyncio.new_event_loop()")
        board.exec("asyncio.run(go(m))")


def test_no_number_of_calls_of_init_makes_a_void_handle_valid(begin):
    """256 calls of init(), which would wrap a number of 8 bits, make no old handle valid."""
    board = begin()
    board.exec("n = ethosu.reserve(timeout_ms=0)")
    again = imports().splitlines()[-1]
    board.exec(f"for _ in range(256): {again}", timeout=60)
    assert raised(board, "n.info()").startswith("OSError 1 this NPU was released")
    board.exec("n.release()\nethosu.reserve(timeout_ms=0).release()")


def test_lost_handle_releases_its_npu(fresh):
    """A lost handle is collected, in separate code, since a stale register may keep it."""
    fresh.exec("ethosu.reserve(powered=True)")
    fresh.exec("n = ethosu.reserve(timeout_ms=0)")
    assert fresh.eval("n.npu") == 0
    fresh.exec("del n")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_a_reservation_ends_with_the_event_loop_of_its_task(begin):
    """The end of a task's event loop ends its reservation, as in the built-in module."""
    board = begin()
    board.exec(
        "async def work():\n    with ethosu.reserve(timeout_ms=0) as h: await h.run(payload, [])\n"
    )
    for call in ("m.predict([x])", "ethosu.reserve(timeout_ms=0).release()", "asyncio.run(work())"):
        board.exec(
            "emulator.fault('hang')\nemulator.fault('console.interrupt', 1, 50_000_000)\n"
            "try: asyncio.run(work())\n"
            "except KeyboardInterrupt: asyncio.new_event_loop()"
        )
        assert raised(board, call) == "nothing", call


# A payload that copies 32 KB many times.
_LONG = """
import machine, struct
def words(*words): return struct.pack('<%dI' % len(words), *words)
source, target = ethosu.buffer(32768), ethosu.buffer(32768)
source[:] = b'U' * 32768
gc.collect()
count = min(200000, gc.mem_free() // 16)
size = 9 + count
payload = bytearray(4 * size + 16)
payload[:48] = words(0x31504F43, 5, 5, 2 | (size & 0xFFFF) << 16 | (size >> 16) << 8,
                     0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 32768)
payload[48:-4] = words(0x10) * count
payload[-4:] = words(0xFFFF0000)
gc.collect()
n = ethosu.reserve()
n.invoke_async(payload, [source, target], timeout_ms=60000)
"""


def test_soft_reset_stops_the_npu(begin):
    """A soft reset stops the NPU, which would otherwise write into the next program's heap."""
    moments = random.Random(6)
    at_work = 0
    while at_work < 2:
        board = begin()
        board.exec(_LONG, timeout=30)
        time.sleep(moments.uniform(0, 0.05))
        at_work += not board.eval("n.done()")  # on a busy host it may already have ended
        board.soft_reset()
        board.exec(
            "import gc, machine, time\n"
            "heap = [bytearray(4096) for _ in range(gc.mem_free() * 3 // 4 // 4096)]"
        )
        assert board.eval(status()) == 0, "it runs"
        board.exec("time.sleep_ms(50)")
        board.exec("empty = bytes(4096)")
        assert board.eval("sum(block != empty for block in heap)") == 0, "blocks it wrote"
    assert begin().eval("bytes(m.predict([x])[0]) == golden")


def test_soft_reset_stops_the_model(begin):
    board = begin()
    board.exec("import machine\nemulator.fault('hang')\nm._start([x])")
    assert board.eval(status()) == 1
    board.soft_reset()
    board.exec("import machine")
    assert board.eval(status()) == 0
    assert begin().eval("bytes(m.predict([x])[0]) == golden")


def test_without_a_finaliser_there_is_no_npu(fresh):
    """Without a finaliser, which stops the NPU at a soft reset, init() fails."""
    fresh.exec(
        "import os\nguard, ilistdir = ethosu._guards.pop(), ethosu.os\n"
        "class Rom: ilistdir = staticmethod(lambda folder: iter(()))\nethosu.os = Rom"
    )
    try:
        assert raised(fresh, f"ethosu.init({address()})").startswith(
            "OSError 95 nothing would stop"
        )
        assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    finally:
        fresh.exec("ethosu.os = ilistdir\nethosu._guards.append(guard)")


def test_steps_alone_end_an_inference(fresh):
    """Calls of _step() alone, without an interrupt, end an inference."""
    fresh.exec(
        "import time\nbegun = time.ticks_ms()\nm._start([x])\nwhile not m._step(): pass\n"
        "y, = m._fetch()\ntook = time.ticks_diff(time.ticks_ms(), begun)",
        timeout=60,
    )
    assert fresh.eval("(bytes(y) == golden, took < 5000)") == (True, True)
