# SPDX-License-Identifier: MIT
"""Model files of any format that the board loads: `.tflite`, and ExecuTorch's `.pte` and `.bpte`.

Every failure to read one ends in one InputError.
"""

from pathlib import Path

from . import boards, executorch, tflite
from .convert import formats
from .errors import InputError, UsageError
from .executorch import Bundle, bundle, data_file, program
from .files import read_whole
from .tflite import Description, name_of, reading
from .tflite.metadata import get

__all__ = [
    "BOARD",
    "LATENCY",
    "SOURCE",
    "Description",
    "board_of",
    "cases",
    "describe",
    "describe_compiled",
    "find_data",
    "is_model",
    "is_program",
    "is_quantised",
    "name_of",
    "program_of",
    "read",
    "reading",
    "suffix",
]

# Metadata that `ethosu compile` writes: the latency, the board, of what a quantised model was made.
LATENCY, BOARD, SOURCE = "ethosu_latency", "ethosu_board", "ethosu_source"
_QUANTISED = ("int8", "uint8", "int16")
# On which NPU a model is loaded that has nothing for one.
ANY_NPU = "ethos-u55-128"

_SUFFIXES = {
    tflite.IDENTIFIER: ".tflite",
    program.IDENTIFIER: ".pte",
    bundle.IDENTIFIER: ".bpte",
}


def read(model: Path | bytes) -> bytes:
    """The contents of a model file, which may be given as they are."""
    if isinstance(model, Path) and model.is_dir():
        _refuse_format(model, formats.find(model))
    data = model if isinstance(model, bytes) else read_whole(model)
    if data[4:8] == data_file.IDENTIFIER:
        raise InputError(
            f"{name_of(model)} is a data file (.ptd): name the program (.pte), and this with --data"
        )
    if data[4:8] not in _SUFFIXES:
        if isinstance(model, Path):
            _refuse_format(model, formats.of(data, model.suffix.lower()))
        raise InputError(
            f"{name_of(model)} is neither a TensorFlow Lite model nor an ExecuTorch program: "
            f"expected {tflite.IDENTIFIER!r}, {program.IDENTIFIER!r} or {bundle.IDENTIFIER!r} at "
            f"byte 4, found {data[4:8]!r}"
        )
    return data


def _refuse_format(path: Path, kind: formats.Format | None) -> None:
    """Say what to do with a model of another format."""
    if kind:
        raise InputError(kind.sentence(path))


def is_program(data: bytes) -> bool:
    """Is it an ExecuTorch program, bundled with cases or not?"""
    return data[4:8] in (program.IDENTIFIER, bundle.IDENTIFIER)


def is_model(data: bytes) -> bool:
    """Is it a model file of one of these formats, by its identifier?"""
    return data[4:8] in _SUFFIXES


def program_of(data: bytes) -> bytes:
    """The program of a bundle; another file as it is."""
    return Bundle.parse(data).program if data[4:8] == bundle.IDENTIFIER else data


def cases(model: Path | bytes) -> tuple[bundle.Case, ...]:
    """The cases of a bundled program; other files have none."""
    data = read(model)
    with reading(model):
        return Bundle.parse(data).cases if data[4:8] == bundle.IDENTIFIER else ()


def is_quantised(data: bytes) -> bool:
    """Does a TensorFlow Lite model compute with quantised numbers, at least in a part of it?"""
    tensors = (tensor for graph in tflite.parse(data) for tensor in graph.tensors)
    return any(each.dtype in _QUANTISED and not each.constant for each in tensors)


def suffix(data: bytes) -> str:
    """How the name of such a file ends."""
    return _SUFFIXES[data[4:8]]


def board_of(model: Path | bytes) -> str | None:
    """The board that `ethosu compile --board` compiled a model for; None if that is not known."""
    data = read(model)
    if is_program(data):
        return None
    with reading(model):
        name = (get(data, BOARD) or b"").decode(errors="replace")
    return name if name in boards.names() else None


def find_data(model: Path | bytes, given: Path | None = None) -> bytes | None:
    """The data file (.ptd) of a program: `given`, else NAME.ptd in its folder; None: none there."""
    if not is_program(read(model)):
        if given:
            raise UsageError(f"{name_of(model)} is no ExecuTorch program: it has no data file")
        return None
    path = given
    if path is None and isinstance(model, Path):
        path = model.with_suffix(".ptd")
    if path is None or (given is None and not path.is_file()):
        return None
    data = read_whole(path)
    with reading(path):
        executorch.DataFile.parse(data)
    return data


def describe(
    model: Path | bytes, *, named: bytes | None = None, method: str = "forward"
) -> Description:
    """Read and describe a model; `named`: the data file of a program."""
    data = read(model)
    if not is_program(data):
        return tflite.describe(model)
    files = () if named is None else (executorch.DataFile.parse(named),)
    with reading(model):
        return executorch.describe(program_of(data), method, files)


def describe_compiled(model: Path | bytes, *, named: bytes | None = None) -> Description:
    """Describe a model that Vela or ExecuTorch made, for an NPU or for the CPU alone."""
    if not is_program(read(model)):
        return tflite.describe_compiled(model)
    return describe(model, named=named)
