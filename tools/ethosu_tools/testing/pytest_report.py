# SPDX-License-Identifier: MIT
"""Reports output of the boards of a failed test, and boards that failed.

The output becomes part of the failure's text, which the terminal, JUnit XML and the workers of
pytest-xdist all pass on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

from ..base.errors import BoardLinkError, BoardResetError, BoardTimeoutError, ToolError
from ..base.ui import visible

if TYPE_CHECKING:
    from .pool import Taken

_TAKEN: pytest.StashKey[Sequence[Taken]] = pytest.StashKey()
_PROPERTIES: pytest.StashKey[list[tuple[str, object]]] = pytest.StashKey()
_EXCLUDED: pytest.StashKey[dict[str, str]] = pytest.StashKey()
_PACKAGE = Path(__file__).parents[1]
_CONTEXTS = Path(contextlib.__file__)
_KEY = "ethosu_excluded_boards"
# The property of a test that names the kind of failure of a board.
FAILURE = "board_failure"


def begin(item: pytest.Item, taken: Sequence[Taken]) -> None:
    """Start the logs of the boards of a test, so that its report contains only its own output."""
    for board in taken:
        board.board.begin_log()
    # A repeated test may run on another board.
    before = item.stash.get(_PROPERTIES, [])
    properties: list[tuple[str, object]] = [
        (name, value)
        for board in taken
        for name, value in (
            ("board", board.place.title),
            ("machine", board.machine),
            ("npu", " ".join(board.npus)),
            ("firmware", board.firmware),
        )
    ]
    item.user_properties[:] = [pair for pair in item.user_properties if pair not in before]
    item.user_properties += properties
    item.stash[_TAKEN], item.stash[_PROPERTIES] = taken, properties


def record_excluded(config: pytest.Config, excluded: Mapping[str, str]) -> None:
    """Record boards that were excluded from the pool, for the summary at the end of the run."""
    config.stash.setdefault(_EXCLUDED, {}).update(excluded)
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_KEY] = dict(excluded)


class Reporter:
    """Pytest's hooks for the report."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[object]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the output of the boards to a failure, and remove the frames of these tools."""
        raised, full = call.excinfo, item.config.getoption("fulltrace", False)
        if raised and isinstance(raised.value, ToolError) and not full:
            raised.traceback = type(raised.traceback)(_without_ours(raised.tb) or raised.tb)
        if raised and (kind := _failure(raised.value, item.stash.get(_TAKEN, ()))):
            pair: tuple[str, object] = (FAILURE, kind)
            item.user_properties.append(pair)
            item.stash.setdefault(_PROPERTIES, []).append(pair)  # a repetition begins anew
        report = yield
        if report.failed:
            for taken in item.stash.get(_TAKEN, ()):
                text = visible(taken.board.output()).rstrip()
                _add(report, f"board {taken.place.title}", text or "no output")
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the report of a worker of pytest-xdist."""
        record_excluded(node.config, getattr(node, "workeroutput", {}).get(_KEY, {}))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """List the boards that were excluded from the pool."""
        excluded = config.stash.get(_EXCLUDED, {})
        if excluded:
            terminalreporter.section("boards excluded from the pool", yellow=True)
            for name, reason in excluded.items():
                terminalreporter.line(visible(f"{name}: {reason}"))


def _failure(error: BaseException, taken: Sequence[Taken]) -> str:
    """Name the error of a board that faulted, restarted, vanished or is silent; "" for others.

    A program that was stopped by Ctrl-C took too long, but its board answers.
    """
    if kind := getattr(error, FAILURE, ""):
        return str(kind)
    silent = isinstance(error, BoardTimeoutError) and any(each.board.is_lost for each in taken)
    failed = silent or isinstance(error, BoardResetError | BoardLinkError)
    return type(error).__name__ if failed else ""


def _without_ours(trace: TracebackType) -> TracebackType | None:
    """Remove the frames of these tools, because the message is sufficient."""
    kept: TracebackType | None = None
    for entry in reversed([*_entries(trace)]):
        file = Path(entry.tb_frame.f_code.co_filename)
        if _PACKAGE not in file.parents and file != _CONTEXTS:
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace:
        yield trace
        trace = trace.tb_next


def _add(report: pytest.TestReport, title: str, text: str) -> None:
    add = getattr(report.longrepr, "addsection", None)
    if add:
        add(title, text)
    else:
        report.longrepr = f"{report.longreprtext}\n--- {title} ---\n{text}"
