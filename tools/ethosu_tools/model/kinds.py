# SPDX-License-Identifier: MIT
"""Kinds of model files: as the table of modules/ethosu/runtime/file_kind.c has them."""

from pathlib import Path
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of file: its mark at byte 4, and how names of such files and of their data end."""

    mark: bytes
    suffix: str
    data_suffix: str = ""  # "": there is no data file


TFLITE = Kind(b"TFL3", ".tflite")
PROGRAM = Kind(b"ET12", ".pte", ".ptd")
BUNDLE = Kind(b"BP08", ".bpte", ".ptd")
DATA = Kind(b"FT01", ".ptd")
MODELS = (TFLITE, PROGRAM, BUNDLE)

# What help texts call the files.
PROGRAMS = f"an ExecuTorch program ({PROGRAM.suffix}, {BUNDLE.suffix})"
ANY = f"a {TFLITE.suffix} file, compiled or not, or {PROGRAMS}"
RUNNABLE = f"what `ethosu compile` made, or {PROGRAMS}"


def kind_of(data: bytes) -> Kind | None:
    """The kind of a file's contents; None: none of these."""
    return next((each for each in (*MODELS, DATA) if data[4:8] == each.mark), None)


def data_path(model: Path, data: bytes) -> Path | None:
    """The place of the data file that belongs to a model; None: such a model has none."""
    kind = kind_of(data)
    return model.with_suffix(kind.data_suffix) if kind and kind.data_suffix else None
