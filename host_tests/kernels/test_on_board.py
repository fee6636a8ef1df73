# SPDX-License-Identifier: MIT
"""Mixed graphs on a board: exact, and without a byte of heap."""

import numpy as np
import pytest
from ethosu_tools.make_mixed import MODELS
from ethosu_tools.oracle import Oracle
from runtime import on_board

from . import planner, runner
from .maker import GENERATORS, random_values

STEPS = 5
CASES = 4


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


_RUN_LOCKED = """
import ethosu, micropython
def run(steps):
    with open("/in.bin", "rb") as inputs, open("/out.bin", "wb") as outputs:
        model = ethosu.Model("/model.tflite")
        for _ in range(steps):
            for tensor in model.inputs:
                inputs.readinto(tensor.data)
            micropython.heap_lock()
            try:
                model.run_into()
            finally:
                micropython.heap_unlock()
            for tensor in model.outputs:
                outputs.write(tensor.data)
        model.deinit()
"""


@pytest.mark.parametrize("name", GENERATORS)
def test_every_kernel_is_exact_and_allocates_nothing(board, name):
    """With the instructions of a Cortex-M55, vectors too; a byte of heap would be a MemoryError."""
    board.exec(_RUN_LOCKED)
    for item in runner.generate(name, CASES):
        board.write_file("/model.tflite", planner.add_plan(item.case.model))
        data = b"".join(array.tobytes() for row in item.case.inputs for array in row)
        board.write_file("/in.bin", data)
        board.exec(f"run({len(item.case.inputs)})")
        expected = b"".join(array.tobytes() for row in item.expected for array in row)
        assert board.read_file("/out.bin") == expected, f"case {item.seed}"


def test_a_mixed_graph_allocates_nothing(board, board_npu, compile_mixed):
    mixed = MODELS["mixed_cnn"]
    _, _, planned = compile_mixed("heap", mixed.make(), mixed.options, npu=board_npu)
    on_board.load(board, planned)
    board.exec(
        "import micropython\n"
        "def often():\n"
        "    m.run_into()\n"
        "    micropython.heap_lock()\n"
        "    try:\n"
        "        for _ in range(20): m.run_into()\n"
        "    finally:\n"
        "        micropython.heap_unlock()\n"
        "often()"
    )
    assert board.eval("m.info()['cpu_steps']") > 0
