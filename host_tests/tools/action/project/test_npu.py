# SPDX-License-Identifier: MIT
import pytest


@pytest.mark.parametrize("value", [1, 21])
def test_the_board_computes(board, value):
    assert board.eval(f"2 * {value}") == 2 * value


def test_the_npu_is_there(board, board_npu):
    assert board.eval("__import__('ethosu').npus()") == [board_npu]
