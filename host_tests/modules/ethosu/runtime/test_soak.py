# SPDX-License-Identifier: MIT
"""Ctrl-C and soft reset at random moments: results stay exact, memory does not shrink."""

import random
import time

import pytest
from ethosu_tools.errors import RemoteError

from . import board_models

ROUNDS = 300

_LOAD = f"""
import ethosu, gc
m = ethosu.Model({board_models.MODEL!r})
golden = bytes(m.predict([x])[0])
gc.collect()
"""


def _interrupt_somewhere(board, delay):
    board.start("print('begun')\nwhile True: assert bytes(m.predict([x])[0]) == golden")
    heard = []

    def on_output(data):
        heard.append(data)
        if len(heard) == 1:
            time.sleep(delay)
            board.inject(b"\x03")

    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        board.finish(timeout=10, on_output=on_output)


@pytest.mark.slow
def test_interrupts_and_resets(board, board_npu, case_of, compiled, small_models):
    model = small_models["small_cnn"]
    case = case_of(model, 20)
    x, expected = case.inputs[0][0].tobytes(), case.outputs[0][0].tobytes()
    board.write_file(board_models.MODEL, compiled(model, board_npu).read_bytes())
    board.exec(f"x = {x!r}\n{_LOAD}")
    free = board.eval("gc.mem_free()")
    moments = random.Random(1)
    for _ in range(ROUNDS):
        _interrupt_somewhere(board, moments.uniform(0, 0.02))
        if moments.random() < 0.2:
            board.soft_reset()
            board.exec(f"x = {x!r}\n{_LOAD}")
        assert board.eval("bytes(m.predict([x])[0])") == expected
    board.exec("gc.collect()")
    assert abs(board.eval("gc.mem_free()") - free) < 4096
