# SPDX-License-Identifier: MIT
"""What the pytest plugin reports: of a test that fails what its boards said, and boards that died.

It goes into the text of the failure itself, which the terminal, JUnit's XML and the workers of
pytest-xdist all take along.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

from .errors import ToolError
from .ui import visible

if TYPE_CHECKING:
    from .pool import Taken

_TAKEN: pytest.StashKey[Sequence[Taken]] = pytest.StashKey()
_PROPERTIES: pytest.StashKey[list[tuple[str, object]]] = pytest.StashKey()
_ASIDE: pytest.StashKey[dict[str, str]] = pytest.StashKey()
_PACKAGE = Path(__file__).parent
_CONTEXTS = Path(contextlib.__file__)
_KEY = "ethosu_boards_put_aside"


def begin(item: pytest.Item, taken: Sequence[Taken]) -> None:
    """A test begins on these boards: the report of this test is about it alone."""
    for each in taken:
        each.board.begin_log()
    # A test that is run again may be on another board.
    before = item.stash.get(_PROPERTIES, [])
    found: list[tuple[str, object]] = [
        (name, value)
        for each in taken
        for name, value in (
            ("board", each.place.title),
            ("machine", each.machine),
            ("npu", " ".join(each.npus)),
            ("firmware", each.firmware),
        )
    ]
    item.user_properties[:] = [each for each in item.user_properties if each not in before]
    item.user_properties += found
    item.stash[_TAKEN], item.stash[_PROPERTIES] = taken, found


def tell(config: pytest.Config, aside: Mapping[str, str]) -> None:
    """Have the end of the run name the boards that were taken out of the pool."""
    config.stash.setdefault(_ASIDE, {}).update(aside)
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_KEY] = dict(aside)


class Reporter:
    """Hooks of the report."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[object]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what the boards said to the text of a failure, whose frames are the user's own."""
        found, full = call.excinfo, item.config.getoption("fulltrace", False)
        if found and isinstance(found.value, ToolError) and not full:
            found.traceback = type(found.traceback)(_without_ours(found.tb) or found.tb)
        report = yield
        if report.failed:
            for taken in item.stash.get(_TAKEN, ()):
                text = visible(taken.board.said()).rstrip()
                _add(report, f"board {taken.place.title}", text or "it said nothing")
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist has to tell."""
        tell(node.config, getattr(node, "workeroutput", {}).get(_KEY, {}))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Name the boards that were taken out of the pool."""
        aside = config.stash.get(_ASIDE, {})
        if aside:
            terminalreporter.section("boards taken out of the pool", yellow=True)
            for name, reason in aside.items():
                terminalreporter.line(visible(f"{name}: {reason}"))


def _without_ours(trace: TracebackType) -> TracebackType | None:
    """Leave out the frames of these tools: the sentence says what is wrong."""
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
