# SPDX-License-Identifier: MIT
"""Pytest plugin: `board` is a real board (`--port`) or an emulated one.

A test that takes `board` runs unchanged on both:

    def test_answer(board):
        assert board.eval("6 * 7") == 42
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .board import Board


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose the board."""
    group = parser.getgroup("ethosu", "boards with an Ethos-U NPU")
    group.addoption("--port", help="serial port or pyserial URL of a board; default: emulate one")
    group.addoption(
        "--npu", default="ethos-u55-128", help="NPU of the board (default: %(default)s)"
    )


@pytest.fixture(scope="session")
def board_npu(request: pytest.FixtureRequest) -> str:
    """NPU of the board under test, in Vela's spelling."""
    return str(request.config.getoption("--npu"))


@pytest.fixture(scope="session")
def board_session(request: pytest.FixtureRequest, board_npu: str) -> "Iterator[Board]":
    """One board for the whole session, in whatever state the last test left it."""
    from .board import open_board

    with open_board(request.config.getoption("--port") or "qemu", npu=board_npu) as board:
        yield board


@pytest.fixture
def board(board_session: "Board") -> "Board":
    """A board just after a soft reset, at its raw REPL."""
    board_session.soft_reset()
    return board_session
