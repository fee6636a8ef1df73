# SPDX-License-Identifier: MIT
"""Time-out, Ctrl-C and cancel() stop CPU operators; the next inference is exact."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import board_models
from host_tests.kit.board_models import raised
from host_tests.modules.ethosu.runtime import hostile, long_runs

INPUT = "x = bytearray((7 * i) & 255 for i in range(64 * 64))\n"


@pytest.fixture
def pools(board):
    """Load a pool that takes minutes as `slow`, and one that takes about 100 ms as `m`."""
    board_models.keep_file(board, "/slow.tflite", long_runs.slow_pool(512, 511))
    board_models.keep_file(board, "/pool.tflite", long_runs.slow_pool(64, 63))
    board.exec(
        "import ethosu\nm = ethosu.Model('/pool.tflite')\n"
        f"{INPUT}y = m.predict([x])[0]\n"
        "def slow(ms): return ethosu.Model('/slow.tflite', timeout_ms=ms)\n"
    )
    yield board
    assert board.eval("m.predict([x])[0] == y")


def test_a_time_out_ends_an_operator_of_the_cpu(pools):
    expected = "OSError 110 the inference took longer than 100 ms, on the CPU"
    pools.exec("import asyncio")
    for call in ("slow(100).run_into()", "asyncio.run(slow(100).run())"):
        assert raised(pools, call) == expected
    assert raised(pools, "ethosu.Model('/pool.tflite', timeout_ms=1).run_into()").startswith(
        "OSError 110 the inference took longer than 1 ms"
    )


def test_ctrl_c_ends_an_operator_of_the_cpu(pools):
    board_models.interrupt(pools, "s = slow(100000)\ns.run_into()")
    board_models.interrupt(pools, "while True: m.run_into()")


def test_a_callback_cancels_an_operator_of_the_cpu(pools):
    pools.exec("import micropython\ns = slow(100000)\n")
    code = "micropython.schedule(lambda _: s.cancel(), 0)\ns.run_into()"
    assert raised(pools, code) == "OSError 125 the inference was cancelled"


def test_a_file_that_needs_too_much_work_is_rejected(board):
    """A file that needs too much work, such as 64 KB for 19 minutes, is rejected at once."""
    model = hostile.MUCH_WORK["operators, outputs and tensors"]()
    board.write_file("/much.tflite", model)
    board.exec("import ethosu")
    assert "references its tables so often" in raised(board, "ethosu.Model('/much.tflite')")


def test_ctrl_c_ends_a_load_that_takes_long(board_npu):
    image = romfs.build(
        {
            "much.tflite": hostile.many_outputs(50_000, 50_000, 50_000),
            "pool.tflite": long_runs.slow_pool(16, 15),
        }
    )
    with QemuBoard(Machine(emulated(npu=board_npu), romfs=image)) as board:
        board.exec("import ethosu\nbegun = ended = 0")
        board_models.interrupt(
            board,
            "while True:\n"
            "    begun += 1\n"
            "    try: ethosu.Model('/rom/much.tflite')\n"
            "    except ValueError: ended += 1\n",
        )
        assert board.eval("begun - ended") == 1  # not after the load
        assert (
            board.eval("len(ethosu.Model('/rom/pool.tflite').predict([bytearray(256)])[0])") == 256
        )
