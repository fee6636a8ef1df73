# SPDX-License-Identifier: MIT
"""The output of a board during a test, for the report of a failed test."""

import re

# Limits the memory for a program that prints endlessly.
_LARGEST = 64 * 1024
# MicroPython's name, in a traceback, for code sent by `exec` or `ask`.
_FRAME = re.compile(r'  File "<(?:stdin|string)>", line (\d+), in <module>')
# Maximum length of a board's output in an error message.
_LINES, _CHARACTERS = 12, 800
# Additions of the raw REPL to the output of programs.
_PROTOCOL = re.compile(r"raw REPL; CTRL-B to exit\r?\n>?|[\x00-\x08\x0e-\x1f]")


def last_lines(data: bytes) -> str:
    """The last lines from a board, joined and without duplicates; "" if it sent none.

    Duplicates come from boards that reset repeatedly.
    """
    text = _PROTOCOL.sub("", data.decode(errors="replace"))
    sent = [line.strip() for line in text.splitlines() if line.strip()]
    # The first and the last line may be incomplete.
    sent[:1] = [
        next((line for line in sent[1:] if line.endswith(start)), start) for start in sent[:1]
    ]
    lines = dict.fromkeys(sent)
    end = next(reversed(lines), "")
    if any(line.startswith(end) for line in lines if line != end):
        del lines[end]
    return " | ".join([*lines][-_LINES:])[-_CHARACTERS:]


class BoardLog:
    """The events on a board since `begin`, as text."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Clear the log."""
        self._text, self._code = "", ""

    def add_code(self, code: str | bytes) -> None:
        """Add code that was sent, so that a following traceback can quote its lines."""
        self._code = code if isinstance(code, str) else code.decode(errors="replace")

    def add_output(self, text: str) -> None:
        """Add output of a program."""
        self._text = (self._text + text.replace("\r\n", "\n"))[-_LARGEST:]

    def add_traceback(self, traceback: str) -> None:
        """Add the traceback of a program."""
        code = self._code.splitlines()
        for line in traceback.replace("\r\n", "\n").strip().splitlines():
            self.add_output(f"{line}\n")
            frame = _FRAME.match(line)
            if frame and int(frame[1]) <= len(code):
                self.add_output(f"    {code[int(frame[1]) - 1].strip()}\n")

    def add_received(self, data: bytes) -> None:
        """Add data received during a failed step, such as a fault report."""
        text = _PROTOCOL.sub("", data.decode(errors="replace"))
        if text.strip():
            self.add_output(text.rstrip() + "\n")

    def text(self) -> str:
        """The whole log."""
        return self._text


class NewLogLines:
    """The lines of QEMU's log since `begin`, except repetitions of lines before the first test.

    The firmware probes all addresses where a board may have an NPU, and QEMU logs each address
    without a device at every start.
    """

    def __init__(self) -> None:
        self._at, self._known = 0, frozenset[str]()

    def begin(self, log: str) -> None:
        """Mark the start of a test."""
        if not self._at:
            self._known = frozenset(log.splitlines())
        self._at = len(log)

    def of(self, log: str) -> list[str]:
        """The new lines."""
        new = log[self._at :].splitlines()
        return [line for line in new if line.strip() and line not in self._known]
