# SPDX-License-Identifier: MIT
"""Shortcuts to single properties of a model file; use `ModelFile` for several.

Every failure to read a file becomes one InputError.
"""

from pathlib import Path

from . import boards
from .model import Description, ModelFile

__all__ = [
    "BOARD",
    "LATENCY",
    "SOURCE",
    "Description",
    "ModelFile",
    "board_of",
    "describe",
    "describe_compiled",
    "is_quantised",
    "read",
]

# Metadata by `ethosu compile`: latency, board, and the source of a quantised model.
LATENCY, BOARD, SOURCE = "ethosu_latency", "ethosu_board", "ethosu_source"
_QUANTISED = ("int8", "uint8", "int16")
# NPU on which a model without NPU operators is loaded.
ANY_NPU = "ethos-u55-128"

Model = Path | bytes | ModelFile


def read(model: Model) -> bytes:
    """The contents of a model file, which may be passed directly."""
    return ModelFile.of(model).data


def is_quantised(model: Model) -> bool:
    """Whether a TensorFlow Lite model is quantised, at least in part."""
    tensors = (tensor for graph in ModelFile.of(model).graphs for tensor in graph.tensors)
    return any(each.dtype in _QUANTISED and not each.constant for each in tensors)


def board_of(model: Model) -> str | None:
    """The board that `ethosu compile --board` compiled a model for; None if unknown."""
    file = ModelFile.of(model)
    if file.is_program:
        return None
    name = bytes(file.entries.get(BOARD, b"")).decode(errors="replace")
    return name if name in boards.names() else None


def describe(model: Model, *, named: bytes | None = None, method: str = "forward") -> Description:
    """Read and describe a model; `named`: the data file of a program."""
    file = ModelFile.of(model, named)
    return file.description if method == "forward" else file.describe(method)


def describe_compiled(model: Model, *, named: bytes | None = None) -> Description:
    """Describe a model compiled by Vela or ExecuTorch, for an NPU or for the CPU alone."""
    return ModelFile.of(model, named).compiled
