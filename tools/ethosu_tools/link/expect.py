# SPDX-License-Identifier: MIT
"""Finds patterns in what a board prints, each character once: for `Board.expect`."""

import codecs
import io
import re
from collections.abc import Sequence

Pattern = str | bytes | re.Pattern[str] | re.Pattern[bytes]
Patterns = Pattern | Sequence[Pattern]

# Number of characters that wait for a pattern; a board that prints endlessly loses the first ones.
_LARGEST = 64 * 1024
# Number of characters in an error message.
_TAIL = 300


class Console:
    """What a board has printed and no pattern has matched yet."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget everything."""
        self._text = ""
        self.begin_program()

    def begin_program(self) -> None:
        """Begin with the output of another program, whose first character is whole."""
        utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(utf8, translate=True)

    def add(self, text: str) -> None:
        """Add what the board printed."""
        self._text = (self._text + text)[-_LARGEST:]

    def decode(self, data: bytes) -> str:
        """Decode a part of a program's output; the rest of an incomplete character follows."""
        return self._decoder.decode(data)

    def find(self, patterns: Sequence[re.Pattern[str]]) -> re.Match[str] | None:
        """Find the pattern that matches first, and consume the text up to the end of the match."""
        found = [match for match in (each.search(self._text) for each in patterns) if match]
        if not found:
            return None
        first = min(found, key=re.Match.start)
        self._text = self._text[first.end() :]
        return first

    def tail(self) -> str:
        """Return the end of what waits, for an error message."""
        return " | ".join(self._text.strip()[-_TAIL:].splitlines())


def compiled(patterns: Patterns, *, exact: bool = False) -> list[re.Pattern[str]]:
    """Compile a pattern, or several; with `exact`, each is a text and no regular expression."""
    several = [patterns] if isinstance(patterns, str | bytes | re.Pattern) else patterns
    return [_compiled(each, exact=exact) for each in several]


def _compiled(pattern: Pattern, *, exact: bool) -> re.Pattern[str]:
    flags: int = re.MULTILINE
    if isinstance(pattern, re.Pattern):
        flags, pattern = pattern.flags & ~re.UNICODE, pattern.pattern
    text = pattern.decode() if isinstance(pattern, bytes) else pattern
    return re.compile(re.escape(text) if exact else text, flags)
