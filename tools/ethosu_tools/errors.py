# SPDX-License-Identifier: MIT
"""All errors that the tools raise on purpose, and the exit codes of `ethosu`.

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | a defect of the tool itself (with a traceback) |
| 2 | the command line is wrong |
| 3 | a file given to the command is wrong |
| 4 | something that the command needs is not installed or not built |
| 5 | the board (or emulator) refused, failed or fell silent |
| 6 | results differ from the reference |
| 130 | stopped with Ctrl-C |
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .ui import visible


class ToolError(Exception):
    """Root of the tools' errors; its text is one sentence for the user, safe to print."""

    exit_code = 1
    several_lines = False  # else a new line in it is printed as \\n

    def __str__(self) -> str:
        return visible(super().__str__())


class UsageError(ToolError):
    """Options that contradict each other."""

    exit_code = 2


class InputError(ToolError):
    """A file is missing, damaged, or not what the command can work on."""

    exit_code = 3


class CannotRunError(InputError):
    """A model that cannot run: a line for each reason, and what to do about it below."""

    several_lines = True


class SetupError(ToolError):
    """A program, library or build product is missing; the text says how to get it."""

    exit_code = 4


class BoardError(ToolError):
    """The board did not do what it was asked."""

    exit_code = 5


class BoardTimeoutError(BoardError):
    """The board gave no answer in time."""


class BoardLinkError(BoardError):
    """The link to the board broke or could not be opened."""


class RemoteError(BoardError):
    """Code on the board raised.

    `traceback` holds the board's own words, `kind` the exception, `output` what the code had
    printed before.
    """

    def __init__(self, traceback: str, output: str = "") -> None:
        """Keep the board's traceback and show its last line."""
        self.traceback = traceback.strip()
        self.output = output
        last_line = (self.traceback.splitlines() or ["?"])[-1]
        self.kind, _, text = last_line.partition(":")
        self.text = text.strip()
        super().__init__(f"on the board: {last_line}")


class MismatchError(ToolError):
    """A result differs from the reference."""

    exit_code = 6


@contextmanager
def named_as(name: Path | str, path: Path) -> Iterator[None]:
    """In errors about `path`, which a command has made, name the file that its user knows."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(path), str(name))) from error
