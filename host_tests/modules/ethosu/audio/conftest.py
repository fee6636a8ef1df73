# SPDX-License-Identifier: MIT
"""Compiles the front ends in C for this machine with ASan and UBSan."""

import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def run(repo):
    """Run frontend.c: `run(data, kind, ...)` returns its output bytes."""
    source = repo / "modules/ethosu/audio"
    command = [
        *("gcc", "-std=gnu11", "-g1", "-O1", "-Wall", "-Wextra", "-Werror", "-Wshadow"),
        *("-Wconversion", "-Wdouble-promotion", "-ffp-contract=off"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{source}"),
        f"-I{HERE.parent / 'driver/c'}",
        *(*sorted(source.glob("*.c")), HERE / "frontend.c", "-lm", "-o"),
    ]
    program = sharing.program("frontend", command)

    def call(data: bytes, *arguments: object) -> bytes:
        words = [str(program), *map(str, arguments)]
        done = subprocess.run(words, input=data, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout

    return call
