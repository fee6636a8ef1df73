# SPDX-License-Identifier: MIT
"""Programs that another Python runs: one with packages that these tools do not require.

The extras of pyproject.toml name the packages and their releases. Those of KITS do not fit into one
environment with the tools' own, so `ethosu setup` makes an environment for each.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from . import paths
from .errors import SetupError

# Written last: the environment is complete, and has these releases.
_MARK = "ethosu-requirements.txt"


@dataclass(frozen=True)
class Kit:
    """An extra with an environment of its own; `look` is a line of Python that needs it."""

    title: str
    look: str


KITS = {
    "convert": Kit("TensorFlow and onnx2tf", "import tensorflow, onnx, onnx2tf"),
    "executorch": Kit("ExecuTorch and PyTorch", "import executorch.exir"),
    "labgrid": Kit("labgrid", "import labgrid.remote.client"),
}


def pins(extra: str) -> list[str]:
    """The packages of an extra, with their releases."""
    found = (line.partition(";") for line in metadata.requires("ethosu-tools") or ())
    asked = re.compile(rf"extra == ['\"]{extra}['\"]")
    return [name.strip() for name, _, marker in found if asked.search(marker)]


def install(extra: str) -> str:
    """The command that installs the packages of an extra here."""
    return shlex.join(["pip", "install", *pins(extra)])


def environment(extra: str) -> str | None:
    """The Python of the environment that `ethosu setup` made; None: none of these releases."""
    folder = paths.environment(extra)
    try:
        ready = (folder / _MARK).read_text().split("\n") == pins(extra)
    except OSError:
        return None
    return str(folder / "bin/python") if ready else None


def mark(extra: str) -> None:
    """Note that the environment of an extra is complete."""
    (paths.environment(extra) / _MARK).write_text("\n".join(pins(extra)))


def find(asked: str | None, look: str, package: str, extra: str) -> str:
    """The Python that runs the line `look`, which needs the package.

    That is `asked`, if given, else the one of `ethosu setup`, else this one. SetupError: it cannot.
    """
    made = None if asked else environment(extra)
    if made:
        return made  # `ethosu setup` has seen it run that line
    require(asked or sys.executable, look, package, extra)
    return asked or sys.executable


def require(interpreter: str, look: str, package: str, extra: str, by: str = "--python") -> None:
    """Raise SetupError unless that Python runs the line `look`, which needs the package.

    `extra` is the one of KITS that has it, `by` the option that names the Python.
    """
    try:
        done = _run(interpreter, ["-c", look])
    except OSError as error:
        raise SetupError(f"{interpreter} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise SetupError(
            f"{interpreter} cannot load {package}: {reason(done)}. `ethosu setup {extra}` makes an "
            f"environment that can; {by} names another Python"
        )


def run(
    interpreter: str, program: Path, asked: Mapping[str, Any], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run a program in `folder`; `asked` is its argument, as JSON. stdout: all it printed."""
    return _run(interpreter, [str(program), json.dumps(asked)], folder)


def _run(
    interpreter: str, words: Sequence[str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    path = os.path.expanduser(interpreter)  # noqa: PTH111  # "python3", too, which PATH finds
    if os.sep in path:
        # Not resolve(): the Python of an environment is a link to one without its packages.
        path = os.path.abspath(path)  # noqa: PTH100
    return subprocess.run(
        [path, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=folder,
    )


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why a program failed: the last line that it printed."""
    if done.returncode < 0:
        return f"it crashed (signal {-done.returncode})"
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit code {done.returncode}, and no reason"
