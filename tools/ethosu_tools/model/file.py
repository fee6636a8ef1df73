# SPDX-License-Identifier: MIT
"""A model file, read and described once."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from ..base.errors import InputError, UsageError
from ..base.files import read_whole
from . import c_array, formats
from .case import Case
from .description import VELA_NAME, Description, describe_program, describe_tflite
from .graph import Graph, Method
from .kinds import BUNDLE, DATA, MODELS, PROGRAM, TFLITE, data_path, kind_of, other_accelerator
from .reader import Call, Reader, read_debug_table

# Metadata by `ethosu compile`: latency, board, and the source of a quantised model.
LATENCY, BOARD, SOURCE = "ethosu_latency", "ethosu_board", "ethosu_source"
DEBUG_TABLE = "ethosu_debug"  # see debug_table.py
_QUANTISED = ("int8", "uint8", "int16")
# RSQRT and LOG reject values that are not positive; the others divide by the value.
_POSITIVE = frozenset({"RSQRT", "LOG", "DIV", "FLOOR_DIV", "FLOOR_MOD"})
# Exceptions that the generated readers of Vela and LiteRT raise or cause on damaged files.
_DAMAGE = (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError)


@contextmanager
def reading(model: Model) -> Iterator[None]:
    """Convert any exception while reading a file's contents to one InputError."""
    name = "the model" if isinstance(model, bytes) else str(model)
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except (*_DAMAGE, MemoryError) as error:
        raise InputError(f"{name} is damaged or truncated: {_damage(error)}") from error


def _damage(error: BaseException) -> str:
    """Describe the problem; most often a table is past the end of the file."""
    match = re.search(r"at least (\d+) bytes.*actual buffer size is (\d+)", str(error))
    if match:
        return f"it has {int(match[2]):,} bytes, but its tables extend to byte {int(match[1]):,}"
    return " ".join(str(error).split())


class ModelFile:
    """The contents of a model file; parts are parsed on first use, and kept.

    source: the path or the bytes it was made from; data: its contents. str() is its name in
    messages. If the file has several signatures (tflite/signatures.py), data may have the model of
    one `signature` in front; whole then has the contents of the file.
    """

    signature: str | None

    def __init__(
        self, source: Path | bytes, given: Path | bytes | None = None, *, name: str = ""
    ) -> None:
        """Read a file; `given`: the data file of a program, or its bytes (None: search for it).

        `name` is the file that the user knows, if the source is bytes.
        """
        self.source = source
        self._given = given
        self._name = name or ("the model" if isinstance(source, bytes) else str(source))
        if isinstance(source, Path) and source.is_dir():
            _reject_format(source, formats.find(source))
        self.data = source if isinstance(source, bytes) else read_whole(source)
        kind = kind_of(self.data)
        if kind is None and (array := c_array.find(self.data)):
            self.data, kind = array, kind_of(array)
        self.whole, self.signature = self.data, None
        if kind is DATA:
            raise InputError(
                f"{self} is a data file ({DATA.suffix}): pass the program ({PROGRAM.suffix}), and "
                "this file with --data"
            )
        if kind is None:
            path = Path(self._name)
            _reject_format(path, formats.of(self.data, path.suffix.lower()))
            raise InputError(
                f"{self} is neither a TensorFlow Lite model nor an ExecuTorch program, nor C "
                f"source with one as an array: expected {TFLITE.mark!r}, {PROGRAM.mark!r} or "
                f"{BUNDLE.mark!r} at byte 4, found {self.data[4:8]!r}"
            )
        self.kind = kind
        if given is not None and not self.is_program:
            raise UsageError(f"{self} is not an ExecuTorch program: it has no data file")

    @classmethod
    def of(cls, model: Model, given: Path | bytes | None = None) -> ModelFile:
        """Return the argument if it is a ModelFile, else read it."""
        return model if isinstance(model, ModelFile) else cls(model, given)

    def __str__(self) -> str:
        return self._name

    def with_data(self, data: bytes) -> ModelFile:
        """A file of the same name with other contents."""
        return ModelFile(data, self.named, name=self._name)

    def with_signature(self, name: str, data: bytes) -> ModelFile:
        """Return the model of a signature; `data` is the file with the signature's graph first."""
        file = self.with_data(data)
        file.whole, file.signature = self.whole, name
        return file

    @property
    def undivided(self) -> ModelFile:
        """The file with all its signatures."""
        return self if self.signature is None else ModelFile(self.whole, name=self._name)

    @property
    def signatures(self) -> dict[str, int]:
        """The graph number of each signature of a `.tflite`, by name."""
        with reading(self):
            return self._reader.signatures

    @property
    def is_program(self) -> bool:
        """Whether the file is an ExecuTorch program, bundled with cases or not."""
        return self.kind is not TFLITE

    @property
    def needs_positive(self) -> bool:
        """Whether an operator makes TensorFlow Lite fail or crash for values that are not positive.

        For a compiled model, the debug table names the operators that became commands.
        """
        if self.is_program:
            return False
        names = {operator.name for graph in self.graphs for operator in graph.operators}
        with suppress(InputError):  # a damaged table only loses names
            rows = read_debug_table(bytes(self.entries.get(DEBUG_TABLE, b""))) or []
            names |= {word for *_, name in rows for word in name.split()[1:2]}
        return bool(names & _POSITIVE)

    @property
    def is_quantised(self) -> bool:
        """Whether a TensorFlow Lite model is quantised, at least in part."""
        tensors = (tensor for graph in self.graphs for tensor in graph.tensors)
        return any(each.dtype in _QUANTISED and not each.constant for each in tensors)

    @cached_property
    def named(self) -> bytes | None:
        """The data file of a program; None if not found."""
        if not self.is_program:
            return None
        if isinstance(self._given, bytes):
            return self._given
        path = self._given
        if path is None and isinstance(self.source, Path):
            path = data_path(self.source, self.data)
        if path is None or (self._given is None and not path.is_file()):
            return None
        return read_data(path)

    def named_files(self, name: str) -> dict[str, bytes]:
        """Return the model, under this name, and its data file, as they are stored in a ROM."""
        files = {name + self.kind.suffix: self.whole}
        return files if self.named is None else files | {name + self.kind.data_suffix: self.named}

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.data)

    @property
    def program(self) -> bytes:
        """The program of a bundle; other files are returned unchanged."""
        with reading(self):
            return self._reader.program if self.kind is BUNDLE else self.data

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases of a bundled program; empty for other files."""
        with reading(self):
            return self._reader.cases if self.kind is BUNDLE else ()

    @property
    def entries(self) -> dict[str, memoryview]:
        """Metadata by name; for a program, its named data."""
        with reading(self):
            return self._reader.entries

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of a `.tflite`, the main one first."""
        with reading(self):
            return self._reader.graphs

    @property
    def graph(self) -> Graph:
        """The main graph of a `.tflite`."""
        return self.graphs[0]

    @property
    def methods(self) -> dict[str, Method]:
        """The methods of a program."""
        with reading(self):
            return self._reader.methods

    def calls(self, method: int = 0) -> list[Call]:
        """The NPU calls in the main graph, or in a method given by number."""
        with reading(self):
            return self._reader.calls(method, self.named)

    @cached_property
    def description(self) -> Description:
        """Requirements and interface of the model, or of method `forward` of a program."""
        return self.describe()

    def describe(self, method: str = "forward") -> Description:
        """Describe a method of a program; a `.tflite` has only one."""
        with reading(self):
            if self.is_program:
                return describe_program(self._reader, method, self.named)
            return describe_tflite(self._reader)

    @property
    def compiled(self) -> Description:
        """Description of a model compiled by Vela or ExecuTorch, possibly for the CPU alone."""
        if not self.description.compiled:
            self.reject_other_accelerator()
            file = "MODEL.tflite" if self._name == "the model" else self._name
            raise InputError(
                f"{self} was never compiled for an NPU; "
                f"run: ethosu compile {file} --board BOARD (`ethosu boards` lists them)"
            )
        return self.description

    def reject_other_accelerator(self) -> None:
        """Raise InputError if the model was compiled for another accelerator than Ethos-U."""
        if other := other_accelerator(self.description.cpu_operators):
            raise InputError(f"{self} is compiled for {other[0]}: {other[1]}")

    @property
    def vela_version(self) -> str | None:
        """Version of Vela that wrote this file; None if unknown, as for Ethos-U85."""
        if self.is_program or VELA_NAME not in self.entries:
            return None
        return bytes(self.entries[VELA_NAME]).rstrip(b"\0").decode(errors="replace")

    @property
    def board(self) -> str | None:
        """The board named by `ethosu compile --board`; None if compiled without --board."""
        if self.is_program:
            return None
        return bytes(self.entries.get(BOARD, b"")).decode(errors="replace") or None


Model = Path | bytes | ModelFile


def describe(model: Model) -> Description:
    """Read and describe a model."""
    return ModelFile.of(model).description


def read_data(path: Path) -> bytes:
    """Read a data file."""
    data = read_whole(path)
    with reading(path):
        if kind_of(data) is not DATA:
            raise InputError(
                f"not a {DATA.suffix} file: expected {DATA.mark!r} at byte 4, found {data[4:8]!r}"
            )
        _ = Reader(data).entries
    return data


def is_model(data: bytes) -> bool:
    """Whether the contents have the identifier of a supported model format."""
    return kind_of(data) in MODELS


def _reject_format(path: Path, kind: formats.Format | None) -> None:
    """Report how to convert a model of another format."""
    if kind:
        raise InputError(kind.message(path))
