# SPDX-License-Identifier: MIT
"""The program that damages model files and exercises them."""

import functools
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def damage():
    """Runs the program of damage.c: `damage("cut", path)`; returns what it printed."""

    @functools.cache
    def build(kind: str, *flags: str) -> Path:
        sharing.make("tools/sim_host", "objects", f"SANITIZE={kind}")
        command = [
            *cbuild.sanitized("address", f"-I{HERE / 'describe'}", *flags),
            *(HERE / "damage.c", HERE / "board_none.c", HERE / "exercise.c"),
            HERE / "describe/describe_all.c",
            *sorted((sharing.BUILD / "sim_host" / kind / "modules").rglob("*.o")),
            *("-lm", "-o"),
        ]
        return sharing.program("damage", command)

    def run(how: str, path: Path, width: int = 64) -> str:
        program = build("address") if width == 64 else build("address32", "-m32")
        result = subprocess.run([program, how, path], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[-2000:]
        return result.stdout

    return run
