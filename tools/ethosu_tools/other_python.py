# SPDX-License-Identifier: MIT
"""Programs that another Python runs: one that has packages which these tools do not require."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import SetupError


def require(interpreter: str, look: str, package: str, extra: str, by: str = "--python") -> None:
    """Raise SetupError unless that Python runs the line `look`, which needs the package.

    `extra` is the one of ethosu-tools that installs it, `by` the option that names the Python.
    """
    try:
        done = subprocess.run([interpreter, "-c", look], capture_output=True, check=False)
    except OSError as error:
        raise SetupError(f"{interpreter} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise SetupError(
            f"{interpreter} has no {package}; install it there: pip install "
            f"'ethosu-tools[{extra}]', or name another Python with {by}"
        )


def run(
    interpreter: str, program: Path, asked: Mapping[str, Any], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder`; `asked` is its argument, as JSON. stdout: all it printed."""
    return subprocess.run(
        [interpreter, str(program), json.dumps(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=folder,
    )


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why a program failed: the last line that it printed."""
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason"
