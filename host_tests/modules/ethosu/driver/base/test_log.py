# SPDX-License-Identifier: MIT
"""Tests the driver's log at each level; test_builds.py checks that it is free by default."""

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

ERRORS = [
    "0 NPU stopped at byte 0 of the command stream: "
    "bus error at command on port M1 (STATUS 0xffff0804)",
    "0 no inference was started",
]
ALL = [
    "3 reset",
    "2 ethos-u55-128",
    *["3 start", "3 end", "3 start"],
    ERRORS[0],
    *["3 reset", "3 end"],
    ERRORS[1],
]


# Nothing is logged as a warning.
@pytest.mark.parametrize(
    "level", ["ERR", pytest.param("WARN", marks=pytest.mark.slow), "INFO", "DEBUG"]
)
def test_each_level_logs_what_it_promises(level) -> None:
    """Events are logged in order, up to the compiled-in level."""
    flags = [*cbuild.STRICT, "-O0", *cbuild.INCLUDES, f"-DETHOSU_LOG_SEVERITY=ETHOSU_LOG_{level}"]
    sources = [*(cbuild.HERE / name for name in ("base/log.c", *cbuild.FRAME)), *cbuild.SOURCES]
    host = cbuild.group(*cbuild.archives("", *cbuild.HOST))
    program = sharing.program("log", ["gcc", *flags, *sources, *host, "-lm", "-o"])
    most = ["ERR", "WARN", "INFO", "DEBUG"].index(level)
    expected = [line for line in ALL if int(line[0]) <= most]
    assert cbuild.run([program, "all"]).splitlines() == expected
