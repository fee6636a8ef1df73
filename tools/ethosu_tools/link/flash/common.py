# SPDX-License-Identifier: MIT
"""Common parts of all flashing methods: a request, its steps, and running a vendor's tool."""

import codecs
import contextlib
import io
import os
import queue
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ...base import helper_process
from ...base.errors import BoardError, InputError, SetupError, UsageError
from ...base.files import read_whole
from ...base.ui import Ui
from ...boards.facts import BoardFacts

# All tools report their progress, but one that waits for a device, such as dfu-util, is silent.
SILENCE_S = 120.0
# Characters kept of a failed tool's output, and lines quoted in the error.
_KEPT, _LINES = 4000, 5
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Otherwise Python programs buffer their output. The user's own setting has priority.
_ENVIRONMENT = {"PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Request:
    """One image for one board; `tools`, `python`, `disk` and `port` are the user's options.

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
    python: str | None = None

    def image(self, suffix: str) -> Path:
        """Return the firmware with another suffix, which the build puts next to the ELF file."""
        return (
            self.firmware.with_suffix(suffix) if self.firmware.suffix == ".elf" else self.firmware
        )

    def needs_port(self) -> str:
        """Return the serial port; raises UsageError if it was not given."""
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
class Tool:
    """A program or file that a flashing method needs.

    `locate` takes a board's settings, and returns version and place; raises SetupError if the tool
    is missing.
    """

    name: str
    locate: Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Way:
    """One flashing method; `steps` takes the request and the board's settings, and has no effects.

    `settings` are the required settings of a board, `optional` the optional ones.
    rom: how the ROM file system gets to the board, too: sent apart, joined to firmware.bin, or not.
    options: those that a user has to pass.
    """

    name: str
    summary: str
    steps: Callable[[Request, Mapping[str, Any]], list[Step]]
    settings: frozenset[str]
    optional: frozenset[str] = frozenset()
    rom: Literal["sent", "joined", ""] = "joined"
    tools: tuple[Tool, ...] = ()
    options: str = ""

    def check(self, board: BoardFacts, changes: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the settings of a board, with the user's changes.

        Raises SetupError if a setting is missing or unknown, UsageError for an invalid change.
        """
        given = dict(board.flash[self.name])
        for problem, names in (
            ("lacks", self.settings - given.keys()),
            ("has unknown settings:", given.keys() - self.settings - self.optional),
        ):
            if names:
                raise SetupError(
                    f"{board.name}: [flash.{self.name}] {problem} {', '.join(sorted(names))}"
                )
        for name, text in changes.items():
            if name not in given:
                known = ", ".join(sorted(given))
                raise UsageError(f"{board.name} by {self.name} has no setting {name}, only {known}")
            given[name] = _changed(name, given[name], text)
        return given


def _changed(name: str, old: Any, text: str) -> Any:
    """Convert the new value of a setting to the type of the old one."""
    try:
        return int(text, 0) if isinstance(old, int) else text
    except ValueError:
        raise UsageError(
            f"expected a number for {name}, such as {old:#x}, found {text!r}"
        ) from None


def read_image(path: Path, largest: int | None = None) -> bytes:
    """Read an image; raises InputError if it is missing, empty or too large."""
    data = read_whole(path)
    if not data:
        raise InputError(f"{path} is empty, expected a firmware image")
    if largest is not None and len(data) > largest:
        raise InputError(f"{path} has {len(data):,} bytes, but the board holds at most {largest:,}")
    return data


def named_folder(named: Path | None, variable: str) -> Path | None:
    """Return the folder of a vendor's tool, from --tools or an environment variable."""
    folder = named or (Path(os.environ[variable]) if os.environ.get(variable) else None)
    return folder and folder.expanduser().resolve()


def tool_folder(named: Path | None, variable: str, file: str, missing: str) -> Path:
    """Return the named folder; raises SetupError with text `missing` unless `file` is in it."""
    folder = named_folder(named, variable)
    if not folder:
        raise SetupError(missing)
    if not (folder / file).is_file():
        raise SetupError(f"{folder} has no {file}: {missing}")
    return folder


def on_path(program: str, missing: str) -> str:
    """Find a program on PATH; raises SetupError with the text `missing` if it is not there."""
    path = shutil.which(program)
    if path is None:
        raise SetupError(missing)
    return path


def ask(words: Sequence[str]) -> tuple[int, str]:
    """Run a program that ends at once; returns exit code and output, else raises SetupError."""
    try:
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SILENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{words[0]} cannot be run: {error}") from None
    return done.returncode, done.stdout.decode(errors="replace")


def with_version(path: str, option: str) -> str:
    """Return the line in which a program names its version, and its path."""
    lines = [line for line in ask([path, option])[1].splitlines() if re.search(r"\d\.\d", line)]
    return f"{lines[0].strip()}, {path}" if lines else path


def run_tool(
    command: Sequence[str | Path], ui: Ui, folder: Path | None = None, answer: str = ""
) -> None:
    """Run a vendor's tool; raises BoardError with its last lines if it fails or falls silent.

    Its output is shown on a terminal as it arrives. `answer` is typed if the tool asks the user.
    """
    words = [str(word) for word in command]
    name = Path(next((word for word in words[:2] if word.endswith(".py")), words[0])).name
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=_ENVIRONMENT | os.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be started: {error.strerror}") from None
    text, problem = "", f"printed nothing for {SILENCE_S:g} s"
    try:
        _answer(process, answer)
        for part in _output(process):
            ui.show_output(part)
            text = (text + part)[-_KEPT:]
        problem = f"failed (exit code {process.wait()})" if process.wait() else ""
    except queue.Empty:
        pass
    finally:
        helper_process.end(process)
    if problem:
        raise BoardError(f"{name} {problem}: {_last_lines(text) or 'no output'}")


def _answer(process: subprocess.Popen[bytes], answer: str) -> None:
    """Type the answer, then close the standard input of the tool."""
    assert process.stdin
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(answer.encode())


def _output(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the tool's output as it arrives; raises queue.Empty if it is silent for too long."""
    arrived: queue.Queue[bytes] = queue.Queue()
    stdout = cast(io.BufferedReader, process.stdout)

    def read() -> None:
        with stdout:  # closed here: another process may keep the other end open
            while data := stdout.read1():
                arrived.put(data)
        arrived.put(b"")

    threading.Thread(target=read, daemon=True).start()
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while data := arrived.get(timeout=SILENCE_S):
        yield _COLOUR.sub("", decode(data))


def _last_lines(text: str) -> str:
    """Return the last lines with text; overwritten lines as they looked last."""
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
    return " | ".join(lines[-_LINES:])
