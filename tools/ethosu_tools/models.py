# SPDX-License-Identifier: MIT
"""Model files of any format that the board loads: `.tflite`, and ExecuTorch's `.pte`.

Every failure to read one ends in one InputError.
"""

from pathlib import Path

from . import executorch, tflite
from .errors import InputError
from .executorch import program
from .files import read_whole
from .tflite import Description, name_of, reading

__all__ = [
    "Description",
    "describe",
    "describe_compiled",
    "is_program",
    "name_of",
    "read",
    "reading",
    "suffix",
]


def read(model: Path | bytes) -> bytes:
    """The contents of a model file, which may be given as they are."""
    data = model if isinstance(model, bytes) else read_whole(model)
    if data[4:8] not in (tflite.IDENTIFIER, program.IDENTIFIER):
        raise InputError(
            f"{name_of(model)} is neither a TensorFlow Lite model nor an ExecuTorch program: "
            f"expected {tflite.IDENTIFIER!r} or {program.IDENTIFIER!r} at byte 4, "
            f"found {data[4:8]!r}"
        )
    return data


def is_program(data: bytes) -> bool:
    """Is it an ExecuTorch program?"""
    return data[4:8] == program.IDENTIFIER


def suffix(data: bytes) -> str:
    """How the name of such a file ends."""
    return ".pte" if is_program(data) else ".tflite"


def describe(model: Path | bytes) -> Description:
    """Read and describe a model."""
    data = read(model)
    if not is_program(data):
        return tflite.describe(model)
    with reading(model):
        return executorch.describe(data)


def describe_compiled(model: Path | bytes) -> Description:
    """Describe a model that has something for an NPU."""
    if not is_program(read(model)):
        return tflite.describe_compiled(model)
    return describe(model)
