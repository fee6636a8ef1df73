# SPDX-License-Identifier: MIT
"""Kinds of model files, as in the table of modules/ethosu/runtime/file/file_kind.c."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of file: its identifier at byte 4, and the suffixes of such files and their data."""

    mark: bytes
    suffix: str
    data_suffix: str = ""  # "" without a data file


TFLITE = Kind(b"TFL3", ".tflite")
PROGRAM = Kind(b"ET12", ".pte", ".ptd")
BUNDLE = Kind(b"BP08", ".bpte", ".ptd")
DATA = Kind(b"FT01", ".ptd")
MODELS = (TFLITE, PROGRAM, BUNDLE)

# Custom operators that compilers for other accelerators write, with the accelerator's name and the
# file to use instead.
OTHER_ACCELERATORS = (
    (
        r"edgetpu-custom-op",
        "Google's Edge TPU",
        "use the file before edgetpu_compiler, without _edgetpu in its name",
    ),
    (
        r"DISPATCH_OP",
        "the NPU of another chip, by LiteRT (MediaTek, Qualcomm, Google Tensor)",
        "use the file before it was compiled ahead of time",
    ),
    (r"MTKEXT_.*|NeuronOp", "MediaTek's APU", "use the file before MediaTek's converter"),
    (r"tflite-neural-art", "ST's Neural-ART", "use the file before ST's compiler"),
)


def other_accelerator(operators: Iterable[str]) -> tuple[str, str] | None:
    """Find the accelerator, other than Ethos-U, for which a model was compiled.

    Returns the accelerator's name and which file to use instead, or None.
    """
    names = list(operators)
    for pattern, whose, remedy in OTHER_ACCELERATORS:
        if any(re.fullmatch(pattern, name) for name in names):
            return whose, remedy
    return None


# Help texts call model files by this name.
PROGRAMS = f"an ExecuTorch program ({PROGRAM.suffix}, {BUNDLE.suffix})"
ANY = f"a {TFLITE.suffix} file, compiled or not, or {PROGRAMS}"
RUNNABLE = f"a model compiled by `ethosu compile`, or {PROGRAMS}"


def kind_of(data: bytes) -> Kind | None:
    """Return the kind of a file's contents; None if unknown."""
    return next((each for each in (*MODELS, DATA) if data[4:8] == each.mark), None)


def data_path(model: Path, data: bytes) -> Path | None:
    """Return the path of a model's data file; None if its kind has none."""
    kind = kind_of(data)
    return model.with_suffix(kind.data_suffix) if kind and kind.data_suffix else None
