# SPDX-License-Identifier: MIT
"""CPU seconds of tests, including all processes they start, to find slow files and tests.

Unlike wall-clock time, this hardly depends on the machine's load.
`--cpu` prints the slowest files, and tests above LIMIT_S without the mark `slow`.
"""

from __future__ import annotations

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

LIMIT_S = 5.0
FILES = 10
_TICKS = os.sysconf("SC_CLK_TCK")
# utime, stime, cutime, cstime: fields of /proc/PID/stat after the name of the program
_TIMES = slice(11, 15)


def _children(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        yield from map(int, path.read_text().split())


def _running(pid: int) -> float:
    """CPU seconds of a process's descendants, including those already waited for."""
    total = 0.0
    for child in _children(pid):
        try:
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[_TIMES])) / _TICKS + _running(child)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended; its seconds will be in its parent's times
    return total


def used() -> float:
    """CPU seconds of this process, its living children, and those that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _running(os.getpid())


class Meter:
    """Adds to each report the cost of its phase; fixtures count for their first user."""

    def __init__(self) -> None:
        self._last = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add `cpu_s`, which pytest-xdist passes on with the report."""
        report = yield
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
        """Print the slowest."""
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
    """Workers measure and their master prints; without workers one process does both."""
    if not config.getoption("--cpu"):
        return
    config.pluginmanager.register(Meter(), "cpu-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(), "cpu-table")
