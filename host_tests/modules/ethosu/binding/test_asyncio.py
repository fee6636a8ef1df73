# SPDX-License-Identifier: MIT
"""asyncio: completion wakes the loop, models queue for their NPU, cancelling stops it."""

import pytest

from .conftest import raised


@pytest.fixture
def loop(face):
    face.exec("import asyncio\nhalf = ethosu.Model('/model.tflite')")
    return face


def test_run_gives_arrays_or_fills_buffers(loop):
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
        "import asyncio\nticks = 0\nn = ethosu.Model('/model.tflite', timeout_ms=30)\n"
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
    assert "30 ms" in text
    assert emulated.eval("ticks") > 10
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_models_queue_in_the_order_of_asking(loop):
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


def test_cancelling_who_waits_lets_the_others_pass(emulated):
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


def test_an_abandoned_loop_blocks_nobody(emulated):
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
    emulated.exec("import asyncio\nmask()\nm._start([x])")
    assert raised(emulated, "m.predict([x])").startswith("OSError 16 this model runs")
    assert raised(emulated, "m.inputs[0].quantize([0] * 768)").startswith("OSError 16 ")
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


def test_model_that_is_forgotten_at_work_gives_its_npu_back(emulated):
    emulated.exec(
        "import select\n"
        "def lose():\n"
        "    n = ethosu.Model('/model.tflite')\n"
        "    n._start([x])\n"
        "    poll = select.poll()\n"
        "    poll.register(n, select.POLLIN)\n"
        "    poll.poll(5000)\n"
        "def work(depth): return work(depth - 1) if depth else depth\n"
        "lose(), work(10)"
    )
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")
