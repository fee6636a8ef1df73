# SPDX-License-Identifier: MIT
"""However a program ends, the NPU is stopped before the next one, which works correctly."""

import time

import pytest

from host_tests.kit.board_models import MODEL
from host_tests.kit.firmware_image import places


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


def test_soft_reset_frees_a_reserved_npu(emulated, board_npu):
    """The next program can reserve it; its import resets the NPU, once."""
    emulated.exec("n = ethosu.reserve(npu=m.npu, powered=True)")
    emulated.soft_reset()
    emulated.exec(f"import ethosu\nn = ethosu.reserve(npu={board_npu!r}, timeout_ms=0)")
    assert emulated.eval("n.info()['resets']") == 1
    emulated.exec("n.release()")


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
