# SPDX-License-Identifier: MIT
"""Mixed graphs on a board: exact, and without a byte of heap."""

import numpy as np
import pytest
from ethosu_tools.make_mixed import MODELS
from ethosu_tools.oracle import Oracle
from runtime import on_board

from .maker import random_values

STEPS = 5


def _check(board, source, planned):
    oracle = Oracle(source)
    random = np.random.default_rng(4)
    rows = [[random_values(random, tensor) for tensor in oracle.inputs] for _ in range(STEPS)]
    expected = [oracle.step(row) for row in rows]
    found = on_board.run_all(board, planned, rows, expected[0])
    for step, (ours, reference) in enumerate(zip(found, expected, strict=True)):
        for index, (a, b) in enumerate(zip(ours, reference, strict=True)):
            assert a.tobytes() == b.tobytes(), f"step {step}, output {index} differs"


@pytest.mark.parametrize("name", MODELS)
def test_exact(board, board_npu, compile_mixed, name):
    mixed = MODELS[name]
    source, _, planned = compile_mixed(
        f"{name}_{board_npu}", mixed.make(), mixed.options, npu=board_npu
    )
    _check(board, source, planned)


def test_exact_with_operators_beside_the_npu(board, board_npu, compile_mixed):
    mixed = MODELS["two_branches"]
    source, _, planned = compile_mixed(
        f"beside_{board_npu}", mixed.make(), mixed.options, npu=board_npu, overlap=True
    )
    _check(board, source, planned)
    on_board.load(board, planned)
    assert board.eval("m.info()['cpu_steps_beside']") == 2


def test_inference_allocates_nothing(board, board_npu, compile_mixed):
    mixed = MODELS["mixed_cnn"]
    _, _, planned = compile_mixed("heap", mixed.make(), mixed.options, npu=board_npu)
    on_board.load(board, planned)
    board.exec(
        "import micropython\nm.run_into()\nmicropython.heap_lock()\n"
        "try:\n    for _ in range(20): m.run_into()\n"
        "finally: micropython.heap_unlock()"
    )
    assert board.eval("m.info()['cpu_steps']") > 0
