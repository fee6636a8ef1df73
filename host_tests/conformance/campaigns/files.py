# SPDX-License-Identifier: MIT
"""Gives damaged files to the host's readers, which must read or reject them in linear time.

The campaign covers all readers of the tools: descriptions, memory plans, debug tables, payloads,
labels. Any exception except a ToolError is a finding, as are more function calls than
CALLS_PER_BYTE allows. Some files go to a whole command, which must end with one of its exit codes.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

from ethosu_tools import cli
from ethosu_tools.base.errors import InputError, ToolError
from ethosu_tools.compile.plan import plan_file, record
from ethosu_tools.model import debug_table, read_stream, tflite
from ethosu_tools.model.make_model import MODELS
from ethosu_tools.model.romfs import load_image
from ethosu_tools.model.tflite import model_metadata

from host_tests.kit.models.damage import damaged

from .common import Counts, FoundError, repeat

CALLS = 200_000
CALLS_PER_BYTE = 500

_TABLES = {debug_table.NAME: debug_table.parse, record.RECORD_NAME: record.decode}


class TooManyCallsError(Exception):
    """A reader took too long."""


def _describe(path: Path, data: bytes) -> None:
    tflite.describe(path)
    with tflite.reading(path):
        for name, read in _TABLES.items():
            table = tflite.metadata.get(data, name)
            if table is not None:
                read(table)


def _plan(path: Path, _: bytes) -> None:
    plan_file(path)


def _payload(path: Path, data: bytes) -> None:
    with tflite.reading(path):
        read_stream(data)


def _image(path: Path, _: bytes) -> None:
    load_image(path)


def _labels(path: Path, data: bytes) -> None:
    with tflite.reading(path):
        model_metadata.copy(data, data)


def _debug_database(path: Path, _: bytes) -> None:
    if debug_table.make(path, _small_graph()) is None:
        raise InputError("no debug table")


@cache
def _small_graph() -> tflite.Graph:
    return tflite.parse(MODELS["small_cnn"]())[0]


READERS: dict[str, tuple[Callable[[Path, bytes], None], ...]] = {
    "models": (_describe, _plan),
    "kernels": (_describe, _plan),
    "payloads": (_payload, _image),
    "sources": (_describe, _labels),
    "tables": (_debug_database,),
}
# Commands that take a model, with the exit codes of a damaged one; FILE is the model.
COMMANDS = (
    "inspect FILE",
    "inspect FILE --memory",
    "profile FILE",
    "profile FILE FILE",
    "profile FILE --operations",
    "check FILE --board MPS3_AN547 --html OUT",
    "compile FILE --npu ethos-u55-128 -o OUT",
    "run FILE --on sim",
    "compile FILE --strip -o OUT",
)
CODES = (0, 3, 5, 6)  # 2 is wrong, as these command lines are valid
# One file in this many is given to a command.
COMMAND_EVERY = 50


def command(words: str, path: Path) -> None:
    """Run a command on a file; a traceback or an end without a reason is a finding."""
    given = {"FILE": path, "OUT": path.with_suffix(".out")}
    error = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
        code = cli.main([str(given.get(word, word)) for word in words.split()])
    assert code in CODES, f"{words}: exit code {code}: {error.getvalue()}"
    if code:
        raise InputError(error.getvalue())


@dataclass(frozen=True)
class Files:
    """The campaign on one corpus."""

    corpus: Path
    chunk = 5_000

    def run(self, seed: int, first: int, count: int) -> Counts:
        """Pass the files of these numbers to every reader of their kind."""
        counts = {"files": count, "read": 0, "refused": 0}
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            for number in range(first, first + count):
                try:
                    self._one(seed, number, Path(folder) / "file", counts)
                except Exception as error:
                    text = "".join(traceback.format_exception(error))[-2000:]
                    raise FoundError(f"{text}\n{repeat('files', seed, number)}") from error
        return counts

    def _one(self, seed: int, number: int, path: Path, counts: Counts) -> None:
        draw = random.Random(f"{seed} {number}")
        kind = draw.choice(tuple(READERS))
        data = damaged(draw.choice(_files(self.corpus / kind)).read_bytes(), draw)
        path.write_bytes(data)
        for read in READERS[kind]:
            with _counted(counts), _Calls(CALLS + CALLS_PER_BYTE * len(data)):
                read(path, data)
        if kind == "models" and draw.randrange(COMMAND_EVERY) == 0:
            with _counted(counts):
                command(draw.choice(COMMANDS), path)


@contextlib.contextmanager
def _counted(counts: Counts) -> Iterator[None]:
    try:
        yield
        counts["read"] += 1
    except ToolError as error:
        counts["refused"] += 1
        assert str(error).strip(), "a refusal without a reason"
        assert isinstance(error, InputError), repr(error)


@cache
def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


class _Calls:
    """Raise TooManyCallsError if more than `most` functions are called in this context."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __enter__(self) -> None:
        sys.setprofile(self._count)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.left -= event.endswith("call")
        if self.left < 0:
            sys.setprofile(None)
            raise TooManyCallsError
