# SPDX-License-Identifier: MIT
"""What a board said in a test: for the report of one that fails."""

import re

# A program that prints without end fills no memory.
_LARGEST = 64 * 1024
# Of code that was sent by `exec` or `ask`: MicroPython calls it so in a traceback.
_FRAME = re.compile(r'  File "<(?:stdin|string)>", line (\d+), in <module>')
# What is left of a board's output in a sentence.
_LINES, _CHARACTERS = 12, 800
# What the raw REPL adds to what programs print.
_PROTOCOL = re.compile(r"raw REPL; CTRL-B to exit\r?\n>?|[\x00-\x08\x0e-\x1f]")


def last_lines(data: bytes) -> str:
    """The last lines that a board sent, in one, each of them once; "" if it sent none.

    A board that resets again and again repeats what it says.
    """
    text = _PROTOCOL.sub("", data.decode(errors="replace"))
    said = [line.strip() for line in text.splitlines() if line.strip()]
    # The first and the last may have been cut.
    said[:1] = [
        next((line for line in said[1:] if line.endswith(start)), start) for start in said[:1]
    ]
    lines = dict.fromkeys(said)
    end = next(reversed(lines), "")
    if any(line.startswith(end) for line in lines if line != end):
        del lines[end]
    return " | ".join([*lines][-_LINES:])[-_CHARACTERS:]


class BoardLog:
    """Text of what happened on a board, since `begin`."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget what was there."""
        self._text, self._code = "", ""

    def ran(self, code: str | bytes) -> None:
        """Code was sent: a traceback that follows shows its lines."""
        self._code = code if isinstance(code, str) else code.decode(errors="replace")

    def printed(self, text: str) -> None:
        """A program has printed this."""
        self._text = (self._text + text.replace("\r\n", "\n"))[-_LARGEST:]

    def raised(self, traceback: str) -> None:
        """A program ended with this traceback."""
        code = self._code.splitlines()
        for line in traceback.replace("\r\n", "\n").strip().splitlines():
            self.printed(f"{line}\n")
            found = _FRAME.match(line)
            if found and int(found[1]) <= len(code):
                self.printed(f"    {code[int(found[1]) - 1].strip()}\n")

    def heard(self, data: bytes) -> None:
        """A step failed in which the board sent this, such as the report of a fault."""
        text = _PROTOCOL.sub("", data.decode(errors="replace"))
        if text.strip():
            self.printed(text.rstrip() + "\n")

    def text(self) -> str:
        """All of it."""
        return self._text


class News:
    """The lines of QEMU's log since `begin`, without those that were there before the first test.

    Such lines are no news when they come again: the firmware looks for NPUs wherever a board may
    have one, and QEMU says each time that there is nothing.
    """

    def __init__(self) -> None:
        self._at, self._known = 0, frozenset[str]()

    def begin(self, log: str) -> None:
        """A test begins."""
        if not self._at:
            self._known = frozenset(log.splitlines())
        self._at = len(log)

    def lines(self, log: str) -> list[str]:
        """What is new."""
        new = log[self._at :].splitlines()
        return [line for line in new if line.strip() and line not in self._known]
