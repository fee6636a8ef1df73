# SPDX-License-Identifier: MIT
"""Has TensorFlow, or onnx2tf, convert a model to int8 TFLite, in the Python that has it."""

import json
import subprocess
import sys
from pathlib import Path

from ..errors import InputError, SetupError, UsageError
from ..files import read_whole
from .formats import Format

_CONVERTER = Path(__file__).with_name("converter.py")


def convert(
    model: Path, kind: Format, samples: Path | None, output: Path, python: str | None = None
) -> None:
    """Convert and quantise `model` to the file `output`; its inputs and outputs are int8.

    `samples`: an .npz whose arrays are the inputs (in the order of their keys, "0" first), or an
    .npy; the first dimension counts samples, of real values as the model takes them.
    UsageError: no samples, or a format that nothing converts. SetupError: that Python has not what
    converts it. InputError: it refuses the model.
    """
    if kind.by is None or samples is None:
        raise UsageError(kind.sentence(model))
    read_whole(samples)
    interpreter = python or sys.executable
    _check(interpreter, kind.by)
    asked = {
        "model": str(model.resolve()),
        "samples": str(samples.resolve()),
        "output": str(output.resolve()),
        "by": kind.by,
    }
    done = subprocess.run(
        [interpreter, str(_CONVERTER), json.dumps(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=output.parent,
    )
    if done.returncode or not output.is_file():
        last = [line.strip() for line in done.stdout.splitlines() if line.strip()][-1:]
        raise InputError(f"{kind.by} does not convert {model}: {' '.join(last) or 'no reason'}")


def _check(interpreter: str, package: str) -> None:
    """Raise SetupError unless that Python has the package."""
    look = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
    try:
        done = subprocess.run([interpreter, "-c", look], capture_output=True, check=False)
    except OSError as error:
        raise SetupError(f"{interpreter} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise SetupError(
            f"{interpreter} has no {package}; install it there: pip install "
            "'ethosu-tools[convert]', or name another Python with --python"
        )
