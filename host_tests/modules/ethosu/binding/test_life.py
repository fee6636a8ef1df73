# SPDX-License-Identifier: MIT
"""However a program ends, the NPU is stopped before the next one, which works correctly."""

import random
import time

import pytest
from ethosu_tools.errors import RemoteError

from host_tests.kit.board_models import MODEL
from host_tests.kit.firmware_image import places

_SETUP = """
import asyncio, ethosu, gc, random
m, n = ethosu.Model({model!r}), ethosu.Model({model!r})
x, golden = bytearray({x!r}), {golden!r}
total = 0
async def some(model, times):
    for _ in range(times):
        assert bytes((await model.run([x]))[0]) == golden
async def cancelled():
    tasks = [asyncio.create_task(some(m, 3)), asyncio.create_task(some(n, 3))]
    for _ in range(random.randrange(4)):
        await asyncio.sleep_ms(0)
    for task in tasks:
        if random.randrange(2): task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
def in_place():
    m.inputs[0].data[:] = x
    m.run_into()
    assert bytes(m.outputs[0].data) == golden
def forgotten():
    k = ethosu.Model({model!r})
    k._start([x])
    del k
    ethosu.reserve().release()
def handle():
    with ethosu.reserve() as npu:
        assert bytes(ethosu.Model({model!r}, npu=npu).predict([x])[0]) == golden
def work(times):
    global total
    kinds = [in_place, handle, gc.collect, forgotten,
             lambda: asyncio.run(some(n, 2)), lambda: asyncio.run(cancelled())]
    for _ in range(times):
        random.choice(kinds)()
        assert bytes(m.predict([x])[0]) == golden
        total += 3
def recover():
    asyncio.new_event_loop()
    for model in (m, n): model.cancel()
    ethosu.reserve(timeout_ms=2000).release()
    asyncio.run(some(n, 1))
    gc.collect()
"""


@pytest.fixture
def program(board, board_npu, compiled, small_models, example):
    """Restarts the program after a soft reset."""
    _, x, y = example
    board.write_file(MODEL, compiled(small_models["small_cnn"], board_npu).read_bytes())
    text = _SETUP.format(model=MODEL, x=x.tobytes(), golden=y.tobytes())

    def start():
        board.exec(text)
        return board

    return start


def disturb(board, moments):
    """Run until Ctrl-C at a random moment."""
    board.start("print('begun')\nwork(1 << 30)")
    begun = []

    def on_output(data):
        begun.append(data)
        if len(begun) == 1:
            time.sleep(moments.uniform(0, 0.05))
            board.inject(b"\x03")

    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        board.finish(timeout=10, on_output=on_output)


def soak(program, inferences, seed):
    moments = random.Random(seed)
    board = program()
    board.exec("work(20)\nrecover()\nfree = gc.mem_free()")
    free = board.eval("free")
    done = 0
    while done < inferences:
        disturb(board, moments)
        board.exec("recover()")
        assert board.eval("bytes(m.predict([x])[0]) == golden")
        done += board.eval("total")
        board.exec("total = 0")
        if moments.random() < 0.3:
            board.soft_reset()
            program()
    board.exec("recover()\nwork(20)\nrecover()")
    assert free - board.eval("gc.mem_free()") < 8192  # no leak; the start may leave garbage


def test_random_actions_at_random_times(program):
    soak(program, 300, seed=1)


@pytest.mark.parametrize("how", ["machine.soft_reset()", "raise SystemExit"])
def test_reset_by_the_program_while_the_npu_works(emulated, how):
    emulated.exec("import machine")
    emulated.start(f"mask()\nm._start([x])\n{how}")
    time.sleep(0.3)
    emulated.interrupt()
    emulated.soft_reset()
    emulated.exec(f"import ethosu\n{places()}unmask()\nm = ethosu.Model({MODEL!r})")
    assert emulated.eval("len(m.predict([bytearray(768)])[0])") == 10


def test_hard_reset_while_the_npu_works(emulated, example, board_npu, compiled, small_models):
    _, x, y = example
    emulated.start("mask()\nm._start([x])\nmachine.reset()")
    time.sleep(0.3)
    emulated.interrupt()
    emulated.write_file(MODEL, compiled(small_models["small_cnn"], board_npu).read_bytes())
    emulated.exec(f"import ethosu\nm = ethosu.Model({MODEL!r})")
    assert emulated.eval(f"bytes(m.predict([bytearray({x.tobytes()!r})])[0])") == y.tobytes()


def test_job_keeps_its_buffers_through_collection(emulated):
    emulated.exec(
        "import asyncio\n"
        "async def main():\n"
        "    k = ethosu.Model('/model.tflite')\n"
        "    task = asyncio.create_task(k.run([x]))\n"
        "    del k\n"
        "    await asyncio.sleep_ms(0)\n"
        "    gc.collect()\n"
        "    garbage = [bytearray(b'\\xA5' * 4096) for _ in range(50)]\n"
        "    return bytes((await task)[0])\n"
        "result = asyncio.run(main())"
    )
    assert emulated.eval("result == golden")


def test_reentry_from_a_callback(emulated):
    emulated.exec(
        "seen = []\n"
        "def again(timer):\n"
        "    for work in (lambda: m.predict([x]), m.run_into, lambda: m._start(), m.reset):\n"
        "        try: work()\n"
        "        except OSError as error: seen.append(error.errno)\n"
        "n = ethosu.Model('/model.tflite')\n"
        "mask()\nm._start([x])\nagain(None)\nm.cancel()\nunmask()\n"
    )
    assert emulated.eval("seen") == [16] * 4
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")
