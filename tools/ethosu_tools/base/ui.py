# SPDX-License-Identifier: MIT
"""Output for users: results on stdout, and progress on stderr if that is a terminal."""

import argparse
import difflib
import functools
import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# A function that is called with the amount done and the total.
Update = Callable[[int, int], None]
# Environment variables that make Rich take any file for a terminal.
_TERMINALS = ("FORCE_COLOR", "TTY_COMPATIBLE")


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    every = (head, ["---"] * len(head), *rows)
    return ["|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row) for row in every]


def sentence(summary: str) -> str:
    """Add an initial capital and a full stop to a command's summary; names keep their case."""
    return summary[:1].upper() + summary[1:] + "."


def counted(counts: Mapping[str, int]) -> str:
    """List names with their numbers, such as "RESHAPE x 1, SOFTMAX x 2"."""
    return ", ".join(f"{name} x {count}" for name, count in counts.items())


def guess(text: str, known: Sequence[str], few: Sequence[str] = ()) -> str:
    """Ask, in a question, whether an unknown name means a known one; "" if none is similar.

    Known names that contain `text` have priority over names (of `few`, if given) that resemble it.
    """
    names = {name.lower().replace("_", "-"): name for name in known}
    folded = text.lower().replace("_", "-")
    near = difflib.get_close_matches(
        folded, [name.lower().replace("_", "-") for name in few or known]
    )
    similar = [name for name in names if folded and folded in name] or near
    found = [names[name] for name in similar] or few
    return f"did you mean {' or '.join(found)}? " if found else ""


def positive(text: str) -> int:
    """Type of an option that takes a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return int(text)


def positive_number(text: str) -> float:
    """Type of an option that takes a finite number above 0, such as a time limit in seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return number


def size(text: str) -> int:
    """Type of an option that takes a number of bytes: 300000, 300K, 300KB or 1M."""
    match = re.fullmatch(r"(\d+)(?:([KM])I?B?)?", text.upper(), re.ASCII)
    if not match:
        raise argparse.ArgumentTypeError(
            f"expected bytes, KB or MB, such as 300000, 300K or 1M, found {text!r}"
        )
    return int(match[1]) << {None: 0, "K": 10, "M": 20}[match[2]]


def visible(text: str, keep: str = "\n\t") -> str:
    r"""Replace characters that would control a terminal by escapes, such as \x1b.

    Text from a board, a file or a file name must be passed through this before it is printed.
    """
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )


def finite(data: Any) -> Any:
    """Replace infinite numbers and NaN, which JSON does not support, by None."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def fitted(text: str, columns: int) -> str:
    """Break lines that are too long for a terminal between words, below their second column.

    A line that is indented by four is a command to type; it stays whole.
    """
    return "\n".join(part for line in text.split("\n") for part in _fit(line, columns))


def _fit(line: str, columns: int) -> list[str]:
    if len(line) <= columns or line.startswith("    "):
        return [line]
    first_column = re.match(r" *\S+(?: \S+)*? {2,}", line)
    indent = 2 * (len(line) - len(line.lstrip()))
    if first_column and first_column.end() <= columns // 2:
        indent = first_column.end()
    return textwrap.wrap(
        line, columns, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


class Ui:
    """Shows results and progress."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        """Print results as JSON or as text; only JSON, and no progress, if `quiet`."""
        self.as_json = as_json
        self.quiet = quiet
        self._printed = False

    @functools.cached_property
    def console(self) -> "Console":
        """Rich's console on stderr."""
        from rich.console import Console  # slow to load

        return Console(stderr=True, quiet=self.quiet)

    def _is_terminal(self) -> bool:
        """Whether stderr is, or should be treated as, a terminal; only then loads Rich."""
        known = "console" in vars(self) or any(name in os.environ for name in _TERMINALS)
        return (known or bool(sys.stderr and sys.stderr.isatty())) and self.console.is_terminal

    def result(self, data: dict[str, Any], text: str) -> None:
        """Print a result in the requested form; in JSON mode, only the first one."""
        if self._printed if self.as_json else self.quiet:
            return
        self._printed = True
        shown = visible(text)
        if self.as_json:
            shown = json.dumps(finite(data), indent=2, allow_nan=False)
        elif sys.stdout and sys.stdout.isatty():
            shown = fitted(shown, shutil.get_terminal_size().columns)
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        print(shown.encode(encoding, "backslashreplace").decode(encoding), flush=True)

    def pass_on(self, data: bytes) -> None:
        """Print output of a program as it arrives; in JSON mode, it is part of the result."""
        if not self.as_json:
            print(visible(data.decode(errors="replace"), keep="\n\t\r"), end="", flush=True)

    def show_output(self, text: str) -> None:
        """Print output of a program about the current step as it arrives (terminals only)."""
        if self._is_terminal() and not self.quiet:
            sys.stderr.write(visible(text, keep="\n\t\r"))
            sys.stderr.flush()

    def note(self, text: str) -> None:
        """Print one line about the current step (terminals only)."""
        if self._is_terminal():
            self.console.print(
                visible(text), style="dim", highlight=False, markup=False, emoji=False
            )

    def note_long(self, text: str) -> None:
        """Announce a step that takes minutes, also in a file, unless as JSON or `quiet`."""
        if self._is_terminal():
            self.note(text)
        elif not self.as_json:
            self.remark(text)

    def warn(self, text: str) -> None:
        """Print a warning in one line."""
        self._line(f"warning: {text}")

    def remark(self, text: str) -> None:
        """Print how the command line was understood in one line, unless `quiet`."""
        if not self.quiet:
            self._line(text)

    @staticmethod
    def _line(text: str) -> None:
        if sys.stderr:
            print(f"ethosu: {visible(text, keep='')}", file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, title: str) -> Iterator[Update]:
        """Show a progress bar, which the yielded function updates (terminals only)."""
        if not self._is_terminal():
            yield lambda done, total: None
            return
        from rich.progress import Progress, TextColumn

        _, *others = Progress.get_default_columns()
        columns = TextColumn("{task.description}", markup=False), *others
        with Progress(*columns, console=self.console, transient=True) as bars:
            task = bars.add_task(visible(title), total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
