# SPDX-License-Identifier: MIT
"""Mixed graphs and single operators on a board, against the reference."""

from __future__ import annotations

from pathlib import Path

from ethosu_tools.board import Board

from host_tests.modules.ethosu.runtime import board_models
from host_tests.modules.ethosu.runtime.reference_cases import Case, make_case

from . import plan_writer, runner

STEPS = 5


def check_graph(board: Board, source: Path, planned: Path) -> None:
    """A planned model gives the same results as its source on the reference."""
    board_models.check(board, make_case(source, STEPS, extremes=False), planned)


def check_cases(board: Board, name: str, count: int, *, cmsis_nn: bool = False) -> None:
    """Generated cases of an operator match the reference."""
    for item in runner.generate(name, count):
        model = plan_writer.add_plan(item.case.model, cmsis_nn=cmsis_nn)
        case = Case(Path(f"{name} {item.seed}"), item.case.inputs, item.expected)
        board_models.check(board, case, model)
