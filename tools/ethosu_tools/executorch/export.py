# SPDX-License-Identifier: MIT
"""Drives ExecuTorch's exporter, in a process of its own.

ExecuTorch and PyTorch are no requirement of these tools, and may be installed elsewhere: each
Python that has them will do.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import InputError, SetupError

SUFFIXES = (".pt2", ".py")
_EXPORTER = Path(__file__).with_name("exporter.py")


@dataclass(frozen=True)
class Options:
    """How to export; vela: more options for Vela."""

    npu: str
    channels_last: bool = True
    integer_ends: bool = True
    system_config: str | None = None
    memory_mode: str | None = None
    vela: Sequence[str] = ()


def export(model: Path, output: Path, options: Options, python: str | None = None) -> str:
    """Export a model (.pt2, or .py) to a program; returns what the exporter printed.

    A .py defines `model` and `inputs` (a tuple of example tensors); and it may define `calibration`
    (tuples of tensors) and `constants` (values of constant methods, by name). SetupError: that
    Python has no ExecuTorch. InputError: the exporter refuses the model.
    """
    interpreter = python or sys.executable
    asked = {"model": str(model.resolve()), "output": str(output.resolve())} | asdict(options)
    try:
        found = subprocess.run(
            [interpreter, "-c", "import executorch.exir"], capture_output=True, text=True
        )
    except OSError as error:
        raise SetupError(f"{interpreter} cannot be run: {error.strerror}") from error
    if found.returncode != 0:
        raise SetupError(
            f"{interpreter} has no ExecuTorch; install it there: pip install "
            "'ethosu-tools[executorch]', or name another Python with --python"
        )
    done = subprocess.run(
        [interpreter, str(_EXPORTER), json.dumps(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=model.resolve().parent,
    )
    if done.returncode != 0:
        last = [line for line in done.stdout.splitlines() if line.strip()][-1:]
        raise InputError(f"ExecuTorch does not export {model}: {' '.join(last) or 'no reason'}")
    return done.stdout
