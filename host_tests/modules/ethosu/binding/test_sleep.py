# SPDX-License-Identifier: MIT
"""While a task awaits the NPU the CPU sleeps, and only the NPU's interrupt wakes the loop."""

import pytest
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

# SysTick's control register: 5 disables its interrupt, 7 enables it.
SYSTICK = 0xE000E010


@pytest.fixture(scope="module")
def slow(emulator_only, board_npu, compiled, small_models, example):
    """A board with instruction-based time; `run()` returns the cost of an inference.

    The NPU runs at 32 MHz on each board, because a faster one finishes before the CPU can sleep.
    """
    _, x, y = example
    slow_npu = Machine(board_npu, repeatable=True, plugin_options=["timing=model:32"])
    with QemuBoard(slow_npu) as board:
        board.write_file(
            "/model.tflite", compiled(small_models["small_cnn"], board_npu).read_bytes()
        )
        board.exec(
            "import asyncio, emulator, ethosu, machine, time\n"
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
    """Without the millisecond tick only the NPU can end the sleep, which is not interrupted.

    A polling loop would execute 60,000 instructions in that half millisecond. Only those from the
    NPU's start to the sleep are executed.
    """
    slow.exec(
        "async def main():\n"
        f"    machine.mem32[{SYSTICK}] = 5\n"
        "    try: return await run()\n"
        f"    finally: machine.mem32[{SYSTICK}] = 7\n"
    )
    slept, instructions = slow.eval("asyncio.run(main())")
    assert slept
    assert instructions < 15_000


def test_the_cpu_sleeps_in_predict_too(slow):
    assert slow.eval("(bytes(m.predict([x])[0]) == golden, emulator.npu_slept())") == (True, True)


def test_other_tasks_run_in_the_meantime(slow):
    """A task due each millisecond runs; the CPU sleeps in between most of the time."""
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
