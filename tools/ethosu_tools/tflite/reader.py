# SPDX-License-Identifier: MIT
"""The part of reading `.tflite` files that is specific to them: see ethosu_tools/model."""

from pathlib import Path

from ..errors import InputError
from ..files import read_whole
from ..model import TFLITE, Description, Graph, ModelFile, name_of
from ..model.reader import Reader

IDENTIFIER = TFLITE.mark
# Metadata with the arena offset of each tensor: three header words, then an int32 per tensor.
OFFSETS_NAME = "OfflineMemoryAllocation"


def read(model: Path | bytes) -> bytes:
    """The contents of a `.tflite`, which may be passed directly."""
    data = model if isinstance(model, bytes) else read_whole(model)
    if data[4:8] != IDENTIFIER:
        raise InputError(
            f"{name_of(model)} is not a TensorFlow Lite model: expected {IDENTIFIER!r} at byte 4, "
            f"found {data[4:8]!r}"
        )
    return data


def _open(model: Path | bytes) -> ModelFile:
    file = ModelFile(model)
    if file.is_program:
        raise InputError(f"{file} is not a TensorFlow Lite model, but an ExecuTorch program")
    return file


def parse(data: bytes) -> list[Graph]:
    """Read all graphs of a file, the main one first."""
    return Reader(data).graphs


def describe(model: Path | bytes) -> Description:
    """Read and describe a model."""
    return _open(model).description


def describe_compiled(model: Path | bytes) -> Description:
    """Describe a model compiled by Vela, which may have left all of it to the CPU."""
    return _open(model).compiled


def vela_version(model: Path | bytes) -> str | None:
    """Version of Vela that wrote this file; None if unknown, as for Ethos-U85."""
    return _open(model).vela_version
