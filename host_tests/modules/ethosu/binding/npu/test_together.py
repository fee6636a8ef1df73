# SPDX-License-Identifier: MIT
"""A handle, its models and callbacks share an NPU, and each gets its own result."""

import pytest

from host_tests.kit.board_models import raised

# `later(f)` schedules a call of f while the code below waits for an NPU whose interrupt is
# masked; exceptions are kept in `seen`.
_SETUP = """
import asyncio, struct, time
payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)
seen = []
def later(*functions):
    def call(timer):
        for function in functions:
            try: function()
            except Exception as error: seen.append((type(error).__name__, error.args[0]))
        unmask()
    mask()
    machine.Timer(-1).init(mode=machine.Timer.ONE_SHOT, period=5, callback=call)
n = ethosu.reserve(npu=m.npu)
k, l = (ethosu.Model('/model.tflite', npu=n, timeout_ms=5000) for _ in range(2))
y = bytearray(10)
"""
CANCELLED = "OSError 125 the inference was cancelled"
BUSY = ("OSError", 16)


@pytest.fixture
def shared(emulated):
    """Return a board with a reserved NPU `n` and two models on it, `k` and `l`."""
    emulated.exec(_SETUP)
    return emulated


def all_is_well(board):
    """Check that a handle and its models work, and after its release, other handles."""
    board.exec("time.sleep_ms(2)\nn.cancel()\nn.invoke(payload, [])")
    assert board.eval("[bytes(one.predict([x])[0]) == golden for one in (k, l)]") == [True] * 2
    board.exec("n.release()")
    assert board.eval("bytes(m.predict([x])[0]) == golden")


WAITS = {
    "invoke": "n.invoke(payload, [])",
    "wait": "n.invoke_async(payload, []); n.wait()",
    "wait for ever": "n.invoke_async(payload, [], timeout_ms=-1); n.wait()",
    "run_into": "k.run_into([x], [y])",
    "predict": "k.predict([x])",
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("stop", ["n.cancel", "n.cancel, n.cancel"])
def test_a_callback_may_cancel_what_is_waited_for(shared, wait, stop):
    begun = "t = time.ticks_ms()\n"
    assert raised(shared, f"{begun}later({stop})\n{WAITS[wait]}") == CANCELLED
    assert shared.eval("time.ticks_diff(time.ticks_ms(), t) < 2000 and seen == []")
    all_is_well(shared)


@pytest.mark.parametrize("wait", WAITS)
def test_a_callback_may_release_what_is_waited_for(shared, wait):
    """If a callback releases the NPU during a wait, it stays busy until the waiter has left."""
    shared.exec(
        "def take():\n    global o\n    o = ethosu.reserve(npu=m.npu)\n    o.invoke(payload, [])"
    )
    assert raised(shared, f"later(n.release, take)\n{WAITS[wait]}") == CANCELLED
    assert shared.eval("seen") == [BUSY]
    shared.exec("with ethosu.reserve(npu=m.npu) as o: o.invoke(payload, [])")
    assert shared.eval("bytes(m.predict([x])[0]) == golden")


def test_a_model_is_cancelled_by_a_callback(shared):
    shared.exec("n.release()\nn = None")
    assert raised(shared, "later(m.cancel, m.cancel)\nm.run_into([x])") == CANCELLED
    assert shared.eval("seen == [] and bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize("wait", WAITS)
def test_a_callback_can_start_nothing_on_an_npu_that_is_waited_for(shared, wait):
    shared.exec(
        "later(lambda: n.invoke(payload, []), lambda: n.invoke_async(payload, []), n.wait,\n"
        f"    l.run_into, lambda: l.predict([x]), lambda: m.predict([x]), l._start)\n{WAITS[wait]}"
    )
    assert shared.eval("seen") == [BUSY] * 7
    assert shared.eval("y == golden") or wait != "run_into"
    all_is_well(shared)


def test_a_callback_after_a_cancel_starts_nothing_either(shared):
    """After a cancel, a callback starts nothing, as the waiter would take that for its own job."""
    again = "later(n.cancel, lambda: n.invoke_async(payload, []))"
    assert raised(shared, f"{again}\nn.invoke(payload, [])") == CANCELLED
    assert shared.eval("seen") == [BUSY]
    all_is_well(shared)


TASK = """
async def main():
    global result
    mask()
    task = asyncio.create_task(k.run([x]))
    await asyncio.sleep_ms(5)
    for function in {functions}:
        try: function()
        except Exception as error: seen.append((type(error).__name__, error.args[0]))
    unmask()
    try: result = bytes((await task)[0]) == golden
    except OSError as error: result = error.errno
asyncio.run(main())
"""


def test_other_calls_on_the_handle_are_rejected_while_a_task_waits(shared):
    others = "(lambda: n.invoke(payload, []), n.wait, l.run_into, lambda: m.predict([x]), l._start)"
    shared.exec(TASK.format(functions=others))
    assert shared.eval("result") is True
    assert shared.eval("seen") == [BUSY] * 5
    all_is_well(shared)


def test_cancel_of_the_handle_ends_the_task_on_it(shared):
    """The end of that task must not stop an inference that the callback has started since."""
    shared.exec(TASK.format(functions="(n.cancel, lambda: n.invoke_async(payload, []))"))
    assert shared.eval("(result, seen)") == (125, [])
    assert shared.eval("n.wait()") is True
    all_is_well(shared)


def test_release_of_the_handle_ends_the_task_on_it(shared):
    shared.exec(TASK.format(functions="(n.release,)"))
    assert shared.eval("(result, seen)") == (125, [])
    assert raised(shared, "k.run_into()").startswith("OSError 1 this NPU was released")
    assert shared.eval("bytes(m.predict([x])[0]) == golden")


def test_a_lost_model_leaves_the_handle_to_others(shared):
    shared.exec(
        "def begin(): ethosu.Model('/model.tflite', npu=n)._start([x])\n"
        "begin()\ntime.sleep_ms(2)\ngc.collect()"
    )
    all_is_well(shared)


def test_callbacks_that_start_the_next_inference_leave_time_for_others(shared):
    """Else they would follow each other without end, and the main program would never go on."""
    shared.exec(
        "count = 0\n"
        "def again(npu):\n"
        "    global count\n"
        "    count += 1\n"
        "    npu.invoke_async(payload, [], callback=again)\n"
        "    npu.wait()\n"
        "n.invoke_async(payload, [], callback=again)\n"
        "while count < 2: time.sleep_ms(1)\n"
        "n.release()\nlast = count\ntime.sleep_ms(5)\n"
    )
    assert shared.eval("last == count > 1")
    assert shared.eval("bytes(m.predict([x])[0]) == golden")


def test_a_callback_during_the_last_wait_of_a_task_starts_nothing(shared):
    """During run()'s last wait, a callback must not start a job whose end would wake run()."""
    shared.exec(
        "import micropython\nlate = ethosu.Model('/model.tflite', npu=n, timeout_ms=1)\n"
        "def call(_):\n"
        "    n.cancel()\n"
        "    try: n.invoke_async(payload, [])\n"
        "    except OSError as error: seen.append(('OSError', error.errno))\n"
        "mask()\nlate._start([x])\ntime.sleep_ms(2)"
    )
    # No jump is between the two calls, so the scheduler runs inside the wait.
    assert raised(shared, "micropython.schedule(call, None); late._step()") == CANCELLED
    assert shared.eval("seen") == [BUSY]
    shared.exec("unmask()")
    all_is_well(shared)
