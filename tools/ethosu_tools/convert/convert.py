# SPDX-License-Identifier: MIT
"""Converts a model to int8 TFLite with TensorFlow or onnx2tf, run in a Python that has it."""

import json
from collections import deque
from pathlib import Path

import numpy as np

from .. import arrays, other_python
from ..errors import InputError, UsageError
from ..files import read_whole, unpack
from .formats import Format

# Importing TensorFlow would take another ten seconds.
_LOOK = (
    "import importlib.util as u, sys; sys.exit(None if u.find_spec({package!r}) else "
    "\"No module named '{package}'\")"
)
# TensorFlow's advice leads to Flex operators, which no board here supports.
_LOOPS = (
    "it has loops, of LSTM or GRU layers. Save the Keras model (.keras), whose loops `ethosu "
    "compile` unrolls, or give these layers unroll=True and the input batch_size=1"
)
_CONVERTER = Path(__file__).with_name("converter.py")


def convert(
    model: Path, kind: Format, samples: Path | None, output: Path, python: str | None = None
) -> None:
    """Convert and quantise `model` to the file `output`, with int8 inputs and outputs.

    `samples`: an .npz with an array per input, keyed by input name (else in the order of its keys,
    "0" first), or an .npy. The first dimension counts samples; values are real, as the model
    takes them.
    UsageError: no samples, or a format that cannot be converted. SetupError: that Python lacks the
    converter. InputError: the converter rejects the model.
    """
    if kind.by is None or samples is None:
        raise UsageError(kind.sentence(model))
    _check(model, samples)
    interpreter = other_python.find(python, _LOOK.format(package=kind.by), kind.by, "convert")
    asked = {
        "model": str(model.resolve()),
        "samples": str(samples.resolve()),
        "output": str(output.resolve()),
        "by": kind.by,
    }
    done = other_python.run(interpreter, _CONVERTER, asked, output.parent)
    shapes = output.with_name("shapes.json")
    if shapes.exists():
        name, found, wanted = json.loads(shapes.read_text())
        raise InputError(
            f"samples of input {name} in {samples} must have shape [samples, "
            f"{', '.join(str(size or 'any') for size in wanted)}], found {found}"
            f"{arrays.advice(found, wanted, lead=1)}"
        )
    if done.returncode or not output.is_file():
        loops = "_experimental_lower_tensor_list_ops" in done.stdout
        reason = _LOOPS if loops else other_python.reason(done)
        raise InputError(f"{kind.by} does not convert {model}: {reason}")


def _check_values(samples: Path) -> None:
    """Reject values that give the quantiser no range."""
    for key, array in arrays.load(samples).items():
        if key in arrays.LABELS or array.size == 0:
            continue
        if array.ndim == 0 or not np.issubdtype(array.dtype, np.number):
            raise InputError(
                f"{key} of {samples} must have numbers, and a first dimension that counts samples, "
                f"found {array.dtype} of shape {list(array.shape)}"
            )
        if wrong := int(np.count_nonzero(~np.isfinite(array))):
            raise InputError(
                f"{key} of {samples} has {wrong:,} values that are NaN or infinite, of "
                f"{array.size:,}: samples must be finite"
            )
        if array.min() == array.max():
            raise InputError(
                f"all values of {key} of {samples} are {array.min()}: quantisation takes the "
                "input's range from them, so samples must be like what the model will see"
            )


def _check(model: Path, samples: Path) -> None:
    """Reject archives that are damaged or expand to gigabytes, before others unpack them."""
    _check_values(samples)
    if model.is_dir():
        return
    data = read_whole(model)
    try:
        if data.startswith(b"PK"):
            deque(unpack(data), maxlen=0)
    except InputError as error:
        raise InputError(f"{model} is damaged: {error}") from None
