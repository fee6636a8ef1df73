# SPDX-License-Identifier: MIT
"""Mixed graphs and single operators on a board, against the reference."""

from __future__ import annotations

from pathlib import Path

from ethosu_tools.board import Board

from host_tests.kit.reference_cases import check, make_case

from . import plan_writer, runner

STEPS = 5

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


def check_graph(board: Board, source: Path, planned: Path) -> None:
    """A planned model gives the same results as its source on the reference."""
    check(make_case(source, STEPS, extremes=False), planned, board)


def check_cases(board: Board, name: str, count: int, *, cmsis_nn: bool = False) -> None:
    """Generated cases of an operator match the reference with the heap locked."""
    board.exec(_RUN_LOCKED)
    for item in runner.generate(name, count):
        board.write_file("/model.tflite", plan_writer.add_plan(item.case.model, cmsis_nn=cmsis_nn))
        data = b"".join(array.tobytes() for row in item.case.inputs for array in row)
        board.write_file("/in.bin", data)
        board.exec(f"run({len(item.case.inputs)})")
        expected = b"".join(array.tobytes() for row in item.expected for array in row)
        assert board.read_file("/out.bin") == expected, f"case {item.seed}"
