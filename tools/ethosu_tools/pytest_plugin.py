# SPDX-License-Identifier: MIT
"""Pytest plugin: `board` is a real board (`--port`) or an emulated one.

A test that takes `board` runs unchanged on both:

    def test_answer(board):
        assert board.eval("6 * 7") == 42
"""

import os
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .board import Board
    from .firmware_run import Ended

DEFAULT_COHERENCE = "strict"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose the board."""
    group = parser.getgroup("ethosu", "boards with an Ethos-U NPU")
    group.addoption("--port", help="serial port or pyserial URL of a board; default: emulate one")
    group.addoption(
        "--board",
        metavar="BOARD",
        help="board to emulate (default: $ETHOSU_BOARD, else MPS3_AN547)",
    )
    group.addoption("--npu", help="NPU of the board (default: the one that the board has)")
    group.addoption(
        "--coherence",
        metavar="off|strict|evict:SEED",
        help="data cache of simulated and emulated CPUs (default: $ETHOSU_COHERENCE, else "
        f"{DEFAULT_COHERENCE})",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set board and mode of coherence for this process and all that it starts."""
    from . import boards, coherence
    from .errors import InputError

    asked = config.getoption("--coherence") or os.environ.get(coherence.VARIABLE)
    try:
        os.environ[boards.VARIABLE] = boards.chosen(config.getoption("--board")).name
        os.environ[coherence.VARIABLE] = coherence.check(asked or DEFAULT_COHERENCE)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Have one worker alone if there is one board: pytest-xdist's options give way to `--port`."""
    if config.getoption("--port") and config.pluginmanager.has_plugin("xdist"):
        config.option.numprocesses, config.option.distload = 0, False
    return (yield)


@pytest.fixture(scope="session")
def board_npu(request: pytest.FixtureRequest) -> str:
    """NPU of the board under test, in Vela's spelling."""
    from . import boards

    return request.config.getoption("--npu") or boards.chosen().npus[0]


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


@pytest.fixture
def firmware_run(board_npu: str) -> "Callable[..., Ended]":
    """Run anyone's firmware to its end: `firmware_run(IMAGE, until=, timeout=, arguments=)`.

    Returns what it printed, and its exit code; BoardError when its time is over.
    """
    from .firmware_run import run

    return partial(run, npu=board_npu)
