# SPDX-License-Identifier: MIT
"""Compares mixed graphs and single operators on a board with the reference."""

from __future__ import annotations

import io
import struct
from pathlib import Path

from ethosu_tools.link.board import Board

from host_tests.kit.models.reference_cases import check, make_case

from . import plan_writer, runner

STEPS = 5

# One file holds several cases of an operator, because a transfer costs more than a run.
_RUN_LOCKED = """
import ethosu, micropython, struct
def run(cases, outputs):
    while head := cases.read(12):
        seed, size, steps = struct.unpack("<3I", head)
        print("case", seed)
        model = ethosu.Model(cases.read(size))
        for _ in range(steps):
            for tensor in model.inputs:
                cases.readinto(tensor.data)
            micropython.heap_lock()
            try:
                model.run_into()
            finally:
                micropython.heap_unlock()
            for tensor in model.outputs:
                outputs.write(tensor.data)
        model.deinit()
with open("/cases.bin", "rb") as cases, open("/out.bin", "wb") as outputs: run(cases, outputs)
"""


def check_graph(board: Board, source: Path, planned: Path) -> None:
    """Check that a planned model's results equal those of its source on the reference."""
    check(make_case(source, STEPS, extremes=False), planned, board)


def check_cases(board: Board, name: str, count: int, *, cmsis_nn: bool = False) -> None:
    """Check that an operator's cases match the reference with the heap locked."""
    items = list(runner.generate(name, count))
    cases = bytearray()
    for item in items:
        model = plan_writer.add_plan(item.case.model, cmsis_nn=cmsis_nn)
        cases += struct.pack("<3I", item.seed, len(model), len(item.case.inputs)) + model
        cases += b"".join(array.tobytes() for row in item.case.inputs for array in row)
    board.write_file("/cases.bin", bytes(cases))
    board.exec(_RUN_LOCKED)
    found = io.BytesIO(board.read_file("/out.bin"))
    for item in items:
        expected = b"".join(array.tobytes() for row in item.expected for array in row)
        assert found.read(len(expected)) == expected, f"case {item.seed}"
    assert not found.read()
