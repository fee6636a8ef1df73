# SPDX-License-Identifier: MIT
"""Kinds of model files, as in the table of modules/ethosu/runtime/file_kind.c."""

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

# Name of these files in help texts.
PROGRAMS = f"an ExecuTorch program ({PROGRAM.suffix}, {BUNDLE.suffix})"
ANY = f"a {TFLITE.suffix} file, compiled or not, or {PROGRAMS}"
RUNNABLE = f"a model compiled by `ethosu compile`, or {PROGRAMS}"


def kind_of(data: bytes) -> Kind | None:
    """The kind of a file's contents; None if unknown."""
    return next((each for each in (*MODELS, DATA) if data[4:8] == each.mark), None)


def data_path(model: Path, data: bytes) -> Path | None:
    """The path of a model's data file; None if its kind has none."""
    kind = kind_of(data)
    return model.with_suffix(kind.data_suffix) if kind and kind.data_suffix else None
