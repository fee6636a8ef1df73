# SPDX-License-Identifier: MIT
"""Measures CPU seconds of tests and all processes that they start, to find slow ones.

Unlike seconds of the clock, these depend little on other work of the machine. `--cpu` prints the
slowest files, and the tests that need more than LIMIT_S without the mark `slow`.
"""

from __future__ import annotations

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator, Iterator

import pytest

LIMIT_S = 5.0
FILES = 10
# A shorter phase counts for the next one, since measuring a browser's threads takes 50 ms.
SHORT_S = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")
# utime, stime, cutime, cstime: fields of /proc/PID/stat after the name of the program
_TIMES = slice(11, 15)


def _read(path: str) -> str:
    """Read a file of /proc; empty if its process or thread has ended."""
    try:
        with open(path) as file:  # noqa: PTH123  (a test may have replaced methods of Path)
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _children(pid: int) -> Iterator[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  (the same)
    except (FileNotFoundError, ProcessLookupError):
        return
    for task in tasks:
        yield from map(int, _read(f"/proc/{pid}/task/{task}/children").split())


def _running(pid: int) -> float:
    """Add up seconds of the processes below a process, and of those they have waited for."""
    total = 0.0
    for child in _children(pid):
        # An ended process has no files; its seconds are soon in its parent's times.
        fields = _read(f"/proc/{child}/stat").rpartition(")")[2].split()
        total += sum(map(int, fields[_TIMES])) / _TICKS + _running(child)
    return total


def used() -> float:
    """Return CPU seconds of this process, and its living and ended children."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _running(os.getpid())


class Meter:
    """Adds each phase's time to its report; a fixture's time counts for its first user."""

    def __init__(self) -> None:
        self._last = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[object]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add `cpu_s`, which pytest-xdist passes on with the report."""
        report = yield
        if call.duration < SHORT_S:
            return report
        now = used()
        report.cpu_s = max(0.0, now - self._last)  # type: ignore[attr-defined]
        self._last = now
        return report


class Table:
    """Adds up the reports of all workers."""

    def __init__(self) -> None:
        self.files: dict[str, float] = defaultdict(float)
        self.slow: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one phase of one test."""
        seconds = getattr(report, "cpu_s", 0.0)
        self.files[report.nodeid.partition("::")[0]] += seconds
        if report.when == "call" and seconds > LIMIT_S and "slow" not in report.keywords:
            self.slow[report.nodeid] = seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the slowest files and tests."""
        total = sum(self.files.values())
        terminalreporter.section(f"CPU seconds: {total:.0f} in {len(self.files)} files")
        for name, seconds in _most(self.files)[:FILES]:
            terminalreporter.line(f"{seconds:7.1f}  {name}")
        for name, seconds in _most(self.slow):
            terminalreporter.line(f"{seconds:7.1f}  of one test, which lacks the mark slow: {name}")


def _most(seconds: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: -item[1])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--cpu", action="store_true", help="print which tests need most CPU seconds")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in workers and print in their master; without workers, do both."""
    if not config.getoption("--cpu"):
        return
    config.pluginmanager.register(Meter(), "cpu-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(), "cpu-table")
