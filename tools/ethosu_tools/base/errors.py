# SPDX-License-Identifier: MIT
"""All errors that the tools raise on purpose, and the exit codes of `ethosu`.

| code | meaning |
| --- | --- |
| 0 | success |
| 1 | a defect of the tool itself (with a traceback) |
| 2 | the command line is invalid |
| 3 | a file given to the command is invalid |
| 4 | something that the command needs is not installed or not built |
| 5 | the board (or emulator) failed, rejected the request or does not respond |
| 6 | results differ from the reference |
| 130 | stopped with Ctrl-C |
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .ui import visible


class ToolError(Exception):
    """Base class of the tools' errors; its text is one sentence for the user, safe to print."""

    exit_code = 1
    several_lines = False  # if False, a newline in the text is printed as \\n

    def __str__(self) -> str:
        return visible(super().__str__())


class UsageError(ToolError):
    """Options that contradict each other."""

    exit_code = 2


class NoEmulatorError(UsageError):
    """An emulated board that runs as its chip was asked for what only the emulator has."""


class InputError(ToolError):
    """A file is missing, damaged, or not supported by the command."""

    exit_code = 3


class CannotRunError(InputError):
    """A model cannot run; the text gives the reasons, followed by a line for each remedy."""

    several_lines = True


class SetupError(ToolError):
    """A program, library or build product is missing; the text explains how to get it."""

    exit_code = 4


class NotHereError(SetupError):
    """Something works on Linux only, and this is another system."""

    def __init__(self, what: str) -> None:
        """`what` needs Linux."""
        here = {"win32": "Windows", "darwin": "macOS"}.get(sys.platform, sys.platform)
        super().__init__(f"{what} needs Linux, and this is {here}")


class BoardError(ToolError):
    """The board did not do what it was asked to do."""

    exit_code = 5


class BoardTimeoutError(BoardError):
    """The board did not answer in time."""


class BoardLinkError(BoardError):
    """The link to the board broke or could not be opened."""


class ExpectError(BoardError):
    """A board that works did not print what a test expected."""


class BoardResetError(BoardError):
    """The board restarted while a program ran, or since the last one: its variables are lost.

    After a fault, `report` is the firmware's report of it and `address` the address that the CPU
    accessed; `functions` names the code, if the firmware's .elf is known. Otherwise the cause is
    machine.reset(), a watchdog, the reset button or the power, and these are empty.
    """

    def __init__(self, text: str, report: str = "", address: str = "", functions: str = "") -> None:
        """`text` is the sentence for the user."""
        super().__init__(text)
        self.report, self.address, self.functions = report, address, functions


class RemoteError(BoardError):
    """Code on the board raised an exception.

    `traceback` is the traceback as printed by the board, `kind` the name of the exception, `output`
    the code's output before the exception.
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


def checked_by(check: Callable[[str], object]) -> Callable[[str], str]:
    """Type of an option whose text this function accepts; its InputError is argparse's message."""

    def checked(text: str) -> str:
        try:
            check(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return checked


@contextmanager
def named_as(name: Path | str, path: Path) -> Iterator[None]:
    """In errors about the temporary file `path`, name the user's file instead."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(path), str(name))) from error
