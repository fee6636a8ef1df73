# SPDX-License-Identifier: MIT
"""Mixed graphs on a board are exact and do not use the heap."""

import pytest

from host_tests.kit import board_models
from host_tests.kit.models.mixed_models import MODELS

from . import board_cases, runner  # noqa: F401  (its import registers the generators)
from .maker import GENERATORS

CASES = 4


def test_exact_with_operators_while_the_npu_works(board, board_npu, compile_mixed):
    mixed = MODELS["two_branches"]
    model = compile_mixed(
        f"overlap_{board_npu}", mixed.make(), mixed.options, npu=board_npu, overlap=True
    )
    board_cases.check_graph(board, model.source, model.planned)
    board_models.load(board, model.planned)
    assert board.eval("m.info()['cpu_steps_overlapped']") == 2


@pytest.mark.parametrize("name", GENERATORS)
def test_every_kernel_is_exact_and_allocates_nothing(board, name):
    """Every kernel is exact with vector instructions; an allocation would raise MemoryError."""
    board_cases.check_cases(board, name, CASES)


def test_a_mixed_graph_allocates_nothing(board, board_npu, compile_mixed):
    mixed = MODELS["mixed_cnn"]
    model = compile_mixed("heap", mixed.make(), mixed.options, npu=board_npu)
    board_models.load(board, model.planned)
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
