# SPDX-License-Identifier: MIT
"""Keeps a board's output during a test, for the report of a failure."""

import re

from ..base.errors import RemoteError
from .expect import Console
from .restart import REPORT

# Maximum size of the log, since a program may print endlessly.
_LARGEST = 64 * 1024
# MicroPython's name, in a traceback, for code sent by `exec` or `ask`.
_FRAME = re.compile(r'  File "<(?:stdin|string)>", line (\d+), in <module>')
# Maximum length of a board's output in an error message; a fault report is longer than others.
_LINES, _REPORT_CHARACTERS, _HEAD, _TAIL = 12, 800, 40, 75
_NOISE_BYTES = 16
# Control sequences of terminals, and the raw REPL's additions to a program's output.
_PROTOCOL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])"
    r"|raw REPL; CTRL-B to exit\r?\n>?|[\x00-\x08\x0e-\x1f]"
)
_RAW = b"raw REPL; CTRL-B to exit"
# Bytes that only an echo can contain: the tools type them at a board without a prompt.
_TYPED, _CTRL_C = frozenset(b"\r\n\x01\x03\x04"), 3
_PRINTABLE = frozenset(b"\t\n\r\x1b") | frozenset(range(0x20, 0x7F))


def _is_noise(data: bytes) -> bool:
    """Whether most of the data is neither ASCII nor UTF-8."""
    readable = sum(byte in _PRINTABLE for byte in data)
    readable += sum(ord(char) > 0x7F for char in data.decode(errors="ignore"))
    return len(data) >= _NOISE_BYTES and readable < 0.6 * len(data.decode(errors="replace"))


def _as_text(data: bytes) -> str:
    """Format what a board sent, without control sequences; noise as hexadecimal numbers."""
    noise = ""
    if _is_noise(data):
        noise = f"noise (wrong baud rate?): {data[:_NOISE_BYTES].hex(' ')} ...\n"
        report = REPORT.search(data)
        data = data[report.start() :] if report else b""
    return noise + _PROTOCOL.sub("", data.decode(errors="replace"))


def sent(data: bytes) -> str:
    """Describe what a board without a prompt sent, for an error message."""
    if _CTRL_C in data and _TYPED.issuperset(data):
        return "only what was typed (a loopback: are TX and RX connected?)"
    reports = [match.start() for match in REPORT.finditer(data)]
    if reports[1:]:  # choose a whole one: the first and the last may be cut off
        return last_lines(data[reports[-2] : reports[-1]])[:_REPORT_CHARACTERS]
    lines = last_lines(data)
    if reports:
        return lines[-_REPORT_CHARACTERS:]
    if len(lines) > _HEAD + _TAIL:
        lines = f"{lines[:_HEAD]} ... {lines[-_TAIL:]}"
    return lines or "nothing"


def last_lines(data: bytes) -> str:
    """Join the last lines from a board, without duplicates; "" if it sent none.

    Duplicates come from boards that reset repeatedly.
    """
    text = _as_text(data)
    sent = [line.strip() for line in text.splitlines() if line.strip()]
    # The first and the last line may be incomplete.
    sent[:1] = [
        next((line for line in sent[1:] if line.endswith(start)), start) for start in sent[:1]
    ]
    lines = dict.fromkeys(sent)
    end = next(reversed(lines), "")
    if any(line.startswith(end) for line in lines if line != end):
        del lines[end]
    return " | ".join([*lines][-_LINES:])


class BoardLog:
    """The events on a board since `begin`, as text."""

    def __init__(self) -> None:
        self.console = Console()
        self.begin()

    def begin(self) -> None:
        """Clear the log."""
        self._text, self._code = "", ""
        self.console.begin()

    def add_code(self, code: str | bytes) -> None:
        """Add code that was sent, so that a following traceback can quote its lines."""
        self._code = code if isinstance(code, str) else code.decode(errors="replace")

    def add_output(self, text: str) -> None:
        """Add output of a program."""
        text = text.replace("\r\n", "\n")
        self._text = (self._text + text)[-_LARGEST:]
        self.console.add(text)

    def add_error(self, error: RemoteError) -> None:
        """Add an exception of the board, and the output before it."""
        self.add_output(error.output)
        self.add_traceback(error.traceback)

    def add_traceback(self, traceback: str) -> None:
        """Add the traceback of a program."""
        code = self._code.splitlines()
        for line in traceback.replace("\r\n", "\n").strip().splitlines():
            self.add_output(f"{line}\n")
            frame = _FRAME.match(line)
            if frame and int(frame[1]) <= len(code):
                self.add_output(f"    {code[int(frame[1]) - 1].strip()}\n")

    def add_boot(self, data: bytes) -> None:
        """Add what a board sent from its reset to the prompt of the raw REPL."""
        self.add_output(_PROTOCOL.sub("", data.rpartition(_RAW)[0].decode(errors="replace")))

    def add_received(self, data: bytes) -> None:
        """Add data received during a failed step, such as a fault report."""
        text = _as_text(data)
        if text.strip():
            self.add_output(text.rstrip() + "\n")

    def text(self) -> str:
        """Return the whole log."""
        return self._text
