# SPDX-License-Identifier: MIT
"""Short ways to what a model file says, for one question each; `ModelFile` answers several.

Every failure to read one ends in one InputError.
"""

from pathlib import Path

from . import boards
from .model import Case, Description, ModelFile, is_model, name_of, reading

__all__ = [
    "BOARD",
    "LATENCY",
    "SOURCE",
    "Description",
    "ModelFile",
    "board_of",
    "cases",
    "describe",
    "describe_compiled",
    "find_data",
    "is_model",
    "is_program",
    "is_quantised",
    "name_of",
    "read",
    "reading",
    "suffix",
]

# Metadata that `ethosu compile` writes: the latency, the board, of what a quantised model was made.
LATENCY, BOARD, SOURCE = "ethosu_latency", "ethosu_board", "ethosu_source"
_QUANTISED = ("int8", "uint8", "int16")
# On which NPU a model is loaded that has nothing for one.
ANY_NPU = "ethos-u55-128"

Model = Path | bytes | ModelFile


def read(model: Model) -> bytes:
    """The contents of a model file, which may be given as they are."""
    return ModelFile.of(model).data


def is_program(data: bytes) -> bool:
    """Is it an ExecuTorch program, bundled with cases or not?"""
    return is_model(data) and ModelFile(data).is_program


def cases(model: Model) -> tuple[Case, ...]:
    """The cases of a bundled program; other files have none."""
    return ModelFile.of(model).cases


def is_quantised(data: bytes) -> bool:
    """Does a TensorFlow Lite model compute with quantised numbers, at least in a part of it?"""
    tensors = (tensor for graph in ModelFile(data).graphs for tensor in graph.tensors)
    return any(each.dtype in _QUANTISED and not each.constant for each in tensors)


def suffix(data: bytes) -> str:
    """How the name of such a file ends."""
    return ModelFile(data).suffix


def board_of(model: Model) -> str | None:
    """The board that `ethosu compile --board` compiled a model for; None if that is not known."""
    file = ModelFile.of(model)
    if file.is_program:
        return None
    name = bytes(file.entries.get(BOARD, b"")).decode(errors="replace")
    return name if name in boards.names() else None


def find_data(model: Model, given: Path | None = None) -> bytes | None:
    """The data file (.ptd) of a program: `given`, else NAME.ptd in its folder; None: none there."""
    return ModelFile.of(model, given).named


def describe(model: Model, *, named: bytes | None = None, method: str = "forward") -> Description:
    """Read and describe a model; `named`: the data file of a program."""
    file = ModelFile.of(model, named)
    return file.description if method == "forward" else file.describe(method)


def describe_compiled(model: Model, *, named: bytes | None = None) -> Description:
    """Describe a model that Vela or ExecuTorch made, for an NPU or for the CPU alone."""
    return ModelFile.of(model, named).compiled
