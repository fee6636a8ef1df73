# SPDX-License-Identifier: MIT
"""Has TensorFlow, or onnx2tf, convert a model to int8 TFLite, in the Python that has it."""

import sys
from pathlib import Path

from .. import other_python
from ..errors import InputError, UsageError
from ..files import read_whole
from .formats import Format

_CONVERTER = Path(__file__).with_name("converter.py")


def convert(
    model: Path, kind: Format, samples: Path | None, output: Path, python: str | None = None
) -> None:
    """Convert and quantise `model` to the file `output`; its inputs and outputs are int8.

    `samples`: an .npz whose arrays are the inputs, under the inputs' names (else in the order of
    their keys, "0" first), or an .npy; the first dimension counts samples, of real values as the
    model takes them.
    UsageError: no samples, or a format that nothing converts. SetupError: that Python has not what
    converts it. InputError: it refuses the model.
    """
    if kind.by is None or samples is None:
        raise UsageError(kind.sentence(model))
    read_whole(samples)
    interpreter = python or sys.executable
    look = f"import importlib.util as u, sys; sys.exit(u.find_spec({kind.by!r}) is None)"
    other_python.require(interpreter, look, kind.by, "convert")
    asked = {
        "model": str(model.resolve()),
        "samples": str(samples.resolve()),
        "output": str(output.resolve()),
        "by": kind.by,
    }
    done = other_python.run(interpreter, _CONVERTER, asked, output.parent)
    if done.returncode or not output.is_file():
        raise InputError(f"{kind.by} does not convert {model}: {other_python.reason(done)}")
