# SPDX-License-Identifier: MIT
"""While a task awaits the NPU the CPU sleeps, and only the NPU's interrupt wakes the loop."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import firmware_image


@pytest.fixture(scope="module")
def slow(emulator_only, board_npu, compiled, small_models, example):
    """Return a board with instruction-based time; `run()` returns the cost of an inference.

    The NPU runs at 32 MHz on each board, because a faster one finishes before the CPU can sleep.
    """
    _, x, y = example
    slow_npu = Machine(emulated(npu=board_npu), repeatable=True, plugin_options=["timing=model:32"])
    with QemuBoard(slow_npu) as board:
        board.write_file(
            "/model.tflite", compiled(small_models["small_cnn"], board_npu).read_bytes()
        )
        board.exec(
            "import asyncio, ethosu, machine, time\n"
            f"{firmware_image.emulator()}"
            f"x, golden = bytearray({x.tobytes()!r}), {y.tobytes()!r}\n"
            "m = ethosu.Model('/model.tflite')\n"
            "async def run():\n"
            "    (got,) = await m.run([x])\n"
            "    assert bytes(got) == golden\n"
            "    return emulator.npu_slept(), emulator.npu_instructions()\n"
            "asyncio.run(run())"
        )
        yield board


def test_interrupt_alone_wakes_the_loop(slow):
    """Only the NPU's interrupt ends the sleep.

    A polling loop would execute 60,000 instructions in that half millisecond, instead of only
    those between the NPU's start and the sleep.
    """
    slept, instructions = slow.eval("asyncio.run(run())")
    assert slept
    assert instructions < 15_000


def test_the_cpu_sleeps_in_predict_too(slow):
    assert slow.eval("(bytes(m.predict([x])[0]) == golden, emulator.npu_slept())") == (True, True)


@pytest.mark.parametrize("wait", ["m.predict([x])", "asyncio.run(m.run([x]))"])
def test_a_time_out_alone_wakes_the_cpu(slow, wait):
    """If the NPU hangs, the CPU sleeps until the time-out, which is at most a sixteenth late.

    A tick each millisecond would cost 18,000 more instructions in 300 ms. The counter interrupts
    only when it wraps.
    """
    slow.exec(
        "def cost(ms):\n"
        "    global m\n"
        "    m.deinit()\n"
        "    m = ethosu.Model('/model.tflite', timeout_ms=ms)\n"
        "    m.predict([x])\n"
        "    emulator.fault('hang')\n"
        "    start, before = time.ticks_ms(), emulator.instructions()\n"
        f"    try: {wait}\n"
        "    except OSError as e: late = e.errno\n"
        "    after, end = emulator.instructions(), time.ticks_ms()\n"
        "    return late, time.ticks_diff(end, start) - ms, after - before\n"
    )
    slow.eval("cost(20)")
    (late, over, short), (_, far_over, long) = slow.eval("(cost(20), cost(320))")
    assert late == 110
    assert 0 <= over <= 4
    assert 0 <= far_over <= 23
    wraps = 0.3 * slow.eval("__import__('machine').freq()") / 2**24
    assert abs(long - short) < 2_000 + 400 * wraps


def test_other_tasks_run_in_the_meantime(slow):
    """A task due each millisecond runs on time, and the CPU mostly sleeps in between."""
    slow.exec(
        "turns = 0\n"
        "async def tick():\n"
        "    global turns\n"
        "    while True:\n"
        "        turns += 1\n"
        "        await asyncio.sleep_ms(1)\n"
        "async def main():\n"
        "    asyncio.create_task(tick())\n"
        "    slept = 0\n"
        "    for _ in range(20): slept += (await run())[0]\n"
        "    return slept\n"
    )
    assert slow.eval("asyncio.run(main())") > 2
    assert slow.eval("turns > 5")
