# SPDX-License-Identifier: MIT
"""Shared by all flashing methods: the request, its steps, running a vendor's tool."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..boards import BoardFacts
from ..errors import BoardError, InputError, SetupError, UsageError
from ..files import read_whole
from ..ui import Ui

# The slowest tool writes a few MB over a serial line.
TOOL_TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Request:
    """One image for one board; `tools`, `disk` and `port` are options of the user.

    rom: an image of the ROM file system, to be sent with the firmware.
    """

    board: BoardFacts
    firmware: Path
    work: Path
    ui: Ui
    port: str | None = None
    disk: Path | None = None
    tools: Path | None = None
    rom: bytes | None = None

    def image(self, suffix: str) -> Path:
        """The firmware with another suffix, next to the ELF file, where the build puts it."""
        return (
            self.firmware.with_suffix(suffix) if self.firmware.suffix == ".elf" else self.firmware
        )

    def needs_port(self) -> str:
        """The serial port; raises UsageError if it was not given."""
        if self.port is None:
            raise UsageError(
                f"flashing {self.board.name} needs its serial port, for example --port /dev/ttyACM0"
            )
        return self.port


@dataclass(frozen=True)
class Step:
    """One step; `text` describes it in words or as a shell command.

    `do` may return data for the result of the command.
    """

    text: str
    do: Callable[[], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Way:
    """One flashing method; `steps` takes the request and the board's settings, and has no effects.

    `settings` are the required settings of a board, `optional` the optional ones.
    sends_rom: it can send the ROM file system, too.
    """

    name: str
    summary: str
    steps: Callable[[Request, Mapping[str, Any]], list[Step]]
    settings: frozenset[str]
    optional: frozenset[str] = frozenset()
    sends_rom: bool = False

    def check(self, board: BoardFacts) -> Mapping[str, Any]:
        """Return the settings of a board; raises SetupError if one is missing or unknown."""
        given = board.flash[self.name]
        for problem, names in (
            ("lacks", self.settings - given.keys()),
            ("has unknown settings:", given.keys() - self.settings - self.optional),
        ):
            if names:
                raise SetupError(
                    f"{board.name}: [flash.{self.name}] {problem} {', '.join(sorted(names))}"
                )
        return given


def read_image(path: Path, largest: int | None = None) -> bytes:
    """Contents of an image; raises InputError if it is missing, empty or too large."""
    data = read_whole(path)
    if not data:
        raise InputError(f"{path} is empty, expected a firmware image")
    if largest is not None and len(data) > largest:
        raise InputError(f"{path} has {len(data):,} bytes, but the board holds at most {largest:,}")
    return data


def tool_folder(request: Request, variable: str, file: str, missing: str) -> Path:
    """Folder of a vendor's tool: --tools, else an environment variable.

    Raises SetupError with the text `missing` if none is given or it does not contain `file`.
    """
    named = request.tools or (os.environ.get(variable) and Path(os.environ[variable]))
    if not named:
        raise SetupError(missing)
    folder = Path(named).expanduser().resolve()
    if not (folder / file).is_file():
        raise SetupError(f"{folder} has no {file}: {missing}")
    return folder


def run_tool(command: Sequence[str | Path], folder: Path | None = None) -> None:
    """Run a vendor's tool; raises BoardError with its last lines if it fails or hangs."""
    name = Path(command[0]).name if len(command) < 2 else f"{Path(command[0]).name} {command[1]}"
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TOOL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BoardError(f"{name} timed out after {TOOL_TIMEOUT_S:g} s") from None
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        raise BoardError(
            f"{name} failed (exit code {done.returncode}): {' | '.join(lines[-3:]) or 'no output'}"
        )
