# SPDX-License-Identifier: MIT
"""Converts a model to int8 TFLite with TensorFlow or onnx2tf, run in a Python that has it."""

import json
from collections import deque
from pathlib import Path

import numpy as np

from ...base import other_python
from ...base.errors import InputError, UsageError
from ...base.files import read_whole, unpack
from ...model import arrays
from ...model.formats import Format

# Importing TensorFlow would take another ten seconds.
_PROBE = (
    "import importlib.util as u, sys; sys.exit(None if u.find_spec({package!r}) else "
    "\"No module named '{package}'\")"
)
# TensorFlow's advice leads to Flex operators, which no board here supports.
_LOOPS = (
    "it has loops, from LSTM or GRU layers. Save the Keras model (.keras), whose loops `ethosu "
    "compile` unrolls, or set unroll=True for these layers and batch_size=1 for the input"
)
_CONVERTER = Path(__file__).with_name("converter.py")


def convert(
    model: Path, kind: Format, samples: Path | None, output: Path, python: str | None = None
) -> None:
    """Convert and quantise `model` to the file `output`, with int8 inputs and outputs.

    `samples`: an .npz with an array per input, keyed by input name (else in the order of its keys,
    "0" first), or an .npy. The first dimension counts samples; values are real, as the model
    takes them.
    UsageError: no samples, or a format that cannot be converted. SetupError: the other Python
    lacks the converter. InputError: the converter rejects the model.
    """
    if kind.by is None or samples is None:
        raise UsageError(kind.message(model))
    _check(model, samples)
    interpreter = other_python.find(python, _PROBE.format(package=kind.by), kind.by, "convert")
    options = {
        "model": str(model.resolve()),
        "samples": str(samples.resolve()),
        "output": str(output.resolve()),
        "by": kind.by,
    }
    done = other_python.run(interpreter, _CONVERTER, options, output.parent)
    shapes = output.with_name("shapes.json")
    if shapes.exists():
        name, found, expected = json.loads(shapes.read_text())
        raise InputError(
            f"samples of input {name} in {samples} must have shape [samples, "
            f"{', '.join(str(size or 'any') for size in expected)}], found {found}"
            f"{arrays.advice(found, expected, lead=1)}"
        )
    if done.returncode or not output.is_file():
        loops = "_experimental_lower_tensor_list_ops" in done.stdout
        reason = _LOOPS if loops else other_python.reason(done)
        raise InputError(f"{kind.by} could not convert {model}: {reason}")


def _check_values(samples: Path) -> None:
    """Reject values that give the quantiser no range."""
    for key, array in arrays.load(samples).items():
        if key in arrays.LABELS or array.size == 0:
            continue
        if array.ndim == 0 or not np.issubdtype(array.dtype, np.number):
            raise InputError(
                f"{key} in {samples} must be numbers, with the samples as the first dimension, "
                f"found {array.dtype} of shape {list(array.shape)}"
            )
        if wrong := int(np.count_nonzero(~np.isfinite(array))):
            raise InputError(
                f"{key} in {samples} has {wrong:,} NaN or infinite values among {array.size:,}: "
                "samples must be finite"
            )
        if array.min() == array.max():
            raise InputError(
                f"all values of {key} in {samples} are {array.min()}: quantisation derives the "
                "input's range from them, so samples must resemble the real inputs"
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
