# SPDX-License-Identifier: MIT
"""With asyncio, completion wakes the loop, models queue for the NPU, cancellation stops it."""

import random

import pytest

from host_tests.kit.board_models import interrupt, raised


@pytest.fixture
def loop(api):
    api.exec("import asyncio\nhalf = ethosu.Model('/model.tflite')")
    return api


def test_run_returns_arrays_or_fills_buffers(loop):
    loop.exec(
        "y = bytearray(len(golden))\n"
        "async def main():\n"
        "    new, = await m.run([x])\n"
        "    assert await m.run([x], [y]) is None\n"
        "    m.inputs[0].data[:] = x\n"
        "    await m.run()\n"
        "    return bytes(new)\n"
        "new = asyncio.run(main())"
    )
    assert loop.eval("new == bytes(y) == bytes(m.outputs[0].data) == golden")


def test_other_tasks_run_meanwhile(emulated):
    emulated.exec(
        "import asyncio\nticks = 0\nn = ethosu.Model('/model.tflite', timeout_ms=300)\n"
        "async def tick():\n"
        "    global ticks\n"
        "    while True:\n"
        "        ticks += 1\n"
        "        await asyncio.sleep_ms(1)\n"
        "async def main():\n"
        "    asyncio.create_task(tick())\n"
        "    mask()\n"
        "    try: await n.run([x])\n"
        "    except OSError as error: return error.args\n"
        "    finally: unmask()\n"
        "failure = asyncio.run(main())"
    )
    number, text = emulated.eval("failure")
    assert number == 110
    assert "300 ms" in text
    assert emulated.eval("ticks") > 10  # one comes each millisecond, fewer on a busy host
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_models_are_served_in_the_order_of_their_requests(loop):
    loop.exec(
        "order = []\n"
        "async def go(name, model, times):\n"
        "    for _ in range(times):\n"
        "        assert bytes((await model.run([x]))[0]) == golden\n"
        "        order.append(name)\n"
        "async def main(): await asyncio.gather(go('a', m, 4), go('b', half, 4), "
        "go('c', ethosu.Model('/model.tflite'), 4))\n"
        "asyncio.run(main())"
    )
    assert loop.eval("''.join(order)") == "abc" * 4


def test_cancelling_stops_the_npu(emulated):
    emulated.exec(
        "import asyncio\n"
        "async def main():\n"
        "    mask()\n"
        "    task = asyncio.create_task(m.run([x]))\n"
        "    waiting = asyncio.create_task(ethosu.Model('/model.tflite').run([x]))\n"
        "    await asyncio.sleep_ms(5)\n"
        "    task.cancel()\n"
        "    try: await task\n"
        "    except asyncio.CancelledError: pass\n"
        "    unmask()\n"
        "    return bytes((await waiting)[0]), bytes((await m.run([x]))[0])\n"
        "results = asyncio.run(main())"
    )
    assert emulated.eval("results == (golden, golden)")


def test_cancelling_a_waiting_task_lets_the_others_continue(emulated):
    emulated.exec(
        "import asyncio\n"
        "async def main():\n"
        "    mask()\n"
        "    models = [ethosu.Model('/model.tflite', timeout_ms=40) for _ in range(3)]\n"
        "    tasks = [asyncio.create_task(model.run([x])) for model in models]\n"
        "    await asyncio.sleep_ms(5)\n"
        "    tasks[1].cancel()\n"
        "    await asyncio.sleep_ms(5)\n"
        "    unmask()\n"
        "    return await asyncio.gather(*tasks, return_exceptions=True)\n"
        "a, b, c = asyncio.run(main())"
    )
    assert emulated.eval("type(b).__name__") == "CancelledError"
    assert emulated.eval("bytes(c[0]) == golden")


def test_time_out_of_asyncio(emulated):
    emulated.exec(
        "import asyncio\n"
        "async def main():\n"
        "    mask()\n"
        "    try: await asyncio.wait_for_ms(m.run([x]), 5)\n"
        "    except asyncio.TimeoutError: return 'late'\n"
        "    finally: unmask()\n"
        "result = asyncio.run(main())"
    )
    assert emulated.eval("result") == "late"
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_an_abandoned_loop_does_not_block_others(emulated):
    emulated.exec(
        "import asyncio\n"
        "async def main():\n"
        "    asyncio.create_task(m.run([x]))\n"
        "    await asyncio.sleep_ms(5)\n"
        "    raise ValueError('stops')\n"
        "mask()\n"
        "try: asyncio.run(main())\n"
        "except ValueError: pass\n"
        "unmask()\n"
        "asyncio.new_event_loop()\n"
        "n = ethosu.Model('/model.tflite')\n"
        "result = asyncio.run(n.run([x]))"
    )
    assert emulated.eval("bytes(result[0]) == golden")
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_busy_model_refuses_and_can_be_cancelled(emulated):
    emulated.exec("mask()\nm._start([x])")
    for call in ("predict([x])", "run_into()", "_start()", "reset()", "inputs[0].quantize(x)"):
        assert raised(emulated, f"m.{call}").startswith("OSError 16 this model is running"), call
    emulated.exec("m.cancel()\nm.cancel()\nunmask()")
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_run_allocates_a_small_constant(loop):
    loop.exec(
        "y = bytearray(len(golden))\nins, outs = [x], [y]\nused = []\n"
        "async def main():\n"
        "    for _ in range(12):\n"
        "        gc.collect()\n"
        "        before = gc.mem_alloc()\n"
        "        await m.run(ins, outs)\n"
        "        used.append(gc.mem_alloc() - before)\n"
        "asyncio.run(main())"
    )
    used = loop.eval("used[2:]")
    assert max(used) <= 512, used


def test_a_model_lost_while_running_releases_its_npu(emulated):
    emulated.exec(
        "import select\n"
        "def lose():\n"
        "    n = ethosu.Model('/model.tflite')\n"
        "    n._start([x])\n"
        "    poll = select.poll()\n"
        "    poll.register(n, select.POLLIN)\n"
        "    poll.poll(5000)\n"
        # Later collections scan the stack above this call's frames. The collector is conservative:
        # a stale pointer in unused memory of a live frame would keep the model alive.
        "def deep(depth): deep(depth - 1) if depth else lose()\n"
        "deep(30)"
    )
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


# Abandons an event loop with a job in progress, as Ctrl-C does.
_LEFT = """
import asyncio
n, other = ethosu.Model('/model.tflite'), ethosu.Model('/model.tflite')
async def leave(work):
    asyncio.create_task(work)
    await asyncio.sleep_ms(5)
    raise KeyboardInterrupt
def left(work):
    mask()
    try: asyncio.run(leave(work))
    except KeyboardInterrupt: pass
    unmask()
payload = __import__('struct').pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)
"""


@pytest.mark.parametrize(
    "call",
    [
        "bytes(m.predict([x])[0]) == golden",
        "bytes(other.predict([x])[0]) == golden",
        "m.run_into([x], [y])",
        "m.reset()",
        "m.deinit()",
        "m.inputs[0].quantize([0] * 768)",
        "ethosu.reserve(npu=m.npu, timeout_ms=0).release()",
        "asyncio.run(m.run([x]))",
        "asyncio.run(other.run([x]))",
        "asyncio.new_event_loop()\nasyncio.run(other.run([x]))",
        "import vfs\ntry: vfs.rom_ioctl(3, 0, 1 << 30)\n"
        "except OSError as error: assert error.errno in (22, 30)",
    ],
)
def test_after_an_event_loop_was_left_the_next_call_works(emulated, call):
    emulated.exec(f"{_LEFT}\ny = array('b', bytes(10))\nleft(m.run([x]))")
    assert raised(emulated, call) == "nothing"
    assert emulated.eval("bytes(other.predict([x])[0]) == golden")


@pytest.mark.parametrize(
    "call",
    [
        "n.invoke(payload, [])",
        "asyncio.run(n.run(payload, []))",
        "n.release()\nm.predict([x])",
        "n.release()\nasyncio.new_event_loop()\nasyncio.run(m.run([x]))",
    ],
)
def test_after_a_loop_with_a_payload_was_left_the_next_call_works(emulated, call):
    emulated.exec(f"{_LEFT}\nn = ethosu.reserve(npu=m.npu)\nleft(n.run(payload, []))")
    assert raised(emulated, call) == "nothing"
    emulated.exec("n.release()")


@pytest.mark.parametrize(
    "call",
    ["m.predict([x])", "ethosu.reserve(npu=m.npu, timeout_ms=0).release()", "asyncio.run(work())"],
)
def test_a_reservation_ends_with_the_event_loop_of_its_task(emulated, call):
    """After Ctrl-C in its sleep the task never leaves its `with`: the NPU would stay reserved."""
    emulated.exec(
        _LEFT + "async def work():\n"
        "    with ethosu.reserve(npu=m.npu, timeout_ms=0) as h: await h.run(payload, [])\n"
        "mask()\nemulator.fault('console.interrupt', 1, 50_000_000)\n"
        "try: asyncio.run(work())\n"
        "except KeyboardInterrupt: stopped = True\n"
        "unmask()\nasyncio.new_event_loop()"
    )
    assert emulated.eval("stopped")
    assert raised(emulated, call) == "nothing"
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_a_task_whose_handle_was_released_hands_the_npu_over(emulated):
    emulated.exec(
        f"{_LEFT}\nh = ethosu.reserve(npu=m.npu)\nasync def main():\n"
        "    mask()\n"
        "    first = asyncio.create_task(h.run(payload, []))\n"
        "    await asyncio.sleep_ms(5)\n"
        "    second = asyncio.create_task(other.run([x]))\n"
        "    await asyncio.sleep_ms(5)\n"
        "    h.release()\n"
        "    unmask()\n"
        "    try: await first\n"
        "    except OSError as error: failure = error.errno\n"
        "    return failure, bytes((await asyncio.wait_for(second, 2))[0]) == golden\n"
        "ended = asyncio.run(main())"
    )
    assert emulated.eval("ended") == (1, True)


def test_a_job_that_was_stopped_for_another_call_is_cancelled(emulated):
    emulated.exec(
        _LEFT + "seen = []\n"
        "async def work():\n"
        "    try: await m.run([x])\n"
        "    except OSError as error: seen.append(error.errno)\n"
        "left(work())\nm.predict([x])\nasyncio.run(other.run([x]))"
    )
    assert emulated.eval("seen") == [125]


@pytest.mark.parametrize("caller", ["task", "callback"])
def test_no_call_stops_a_job_whose_event_loop_runs(emulated, caller):
    """A blocking call of another task or a callback gets EBUSY; the job's task gets its result."""
    emulated.exec(
        _LEFT + "import micropython\nseen = []\n"
        "def block(_):\n"
        "    for call in (lambda: m.predict([x]), lambda: other.predict([x]), m.reset):\n"
        "        try: call()\n"
        "        except OSError as error: seen.append(error.errno)\n"
        "async def task():\n"
        f"    {'block(0)' if caller == 'task' else 'micropython.schedule(block, 0)'}\n"
        "    await asyncio.sleep_ms(5)\n"
        "    unmask()\n"
        "async def main():\n"
        "    mask()\n"
        "    first = asyncio.create_task(m.run([x]))\n"
        "    await asyncio.sleep_ms(5)\n"
        "    await asyncio.create_task(task())\n"
        "    return bytes((await first)[0])\n"
        "y = asyncio.run(main())"
    )
    assert emulated.eval("(seen, y == golden)") == ([16] * 3, True)


def test_ctrl_c_at_any_moment_of_a_loop(emulated):
    """After Ctrl-C, the next call works, blocking or not, in the same or a new event loop.

    asyncio.gather() is not used: after a Ctrl-C in it, it raises NameError in the next loop.
    """
    moments = random.Random(4)
    emulated.exec(
        "import asyncio\nn = ethosu.Model('/model.tflite')\n"
        "async def go(model):\n"
        "    for _ in range(20): assert bytes((await model.run([x]))[0]) == golden\n"
        "async def main():\n"
        "    for task in [asyncio.create_task(go(model)) for model in (m, n, m)]: await task"
    )
    for number in range(30):
        interrupt(emulated, "while True: asyncio.run(main())", after=moments.uniform(0, 0.02))
        if number % 2:
            assert emulated.eval("bytes(m.predict([x])[0]) == bytes(n.predict([x])[0]) == golden")
        if number % 3 == 0:
            emulated.exec("asyncio.new_event_loop()")
        emulated.exec("asyncio.run(go(n))")


def test_ctrl_c_at_each_moment_of_a_cancelled_inference(emulated):
    """Also in the handler that stops the NPU for that task: no lock and no job stays behind."""
    emulated.exec(
        "import asyncio, time\nlost = []\n"
        "async def main():\n"
        "    task = asyncio.create_task(m.run([x]))\n"
        "    await asyncio.sleep_ms(0)\n"
        "    task.cancel()\n"
        "    try: await task\n"
        "    except asyncio.CancelledError: pass\n"
        "def attempt(moment):\n"
        "    try:\n"
        "        emulator.fault('console.interrupt', 1, moment)\n"
        "        asyncio.run(main())\n"
        "        time.sleep_ms(2)\n"
        "        emulator.fault('console.interrupt', 0)\n"  # a busy host may be late
        "        for _ in range(9): pass\n"
        "        return True\n"
        "    except KeyboardInterrupt: return False\n"
        "mask()\nended = [attempt(2_000_000)]\n"
    )
    emulated.exec(
        "for moment in range(1000, 800_000, 1500):\n"
        "    mask()\n"
        "    ended.append(attempt(moment))\n"
        "    unmask()\n"
        "    try: lost.extend([moment] * (bytes(m.predict([x])[0]) != golden))\n"
        "    except OSError as error:\n"
        "        lost.append((moment, error.errno))\n"
        "        m.cancel()\n",
        timeout=60,
    )
    assert emulated.eval("lost") == []
    assert False in emulated.eval("ended")
