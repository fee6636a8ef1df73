# SPDX-License-Identifier: MIT
"""What a person sees: results on stdout, and progress on stderr when that is a terminal."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Told how much is done, and how much there is in all.
Update = Callable[[int, int], None]


def sentence(summary: str) -> str:
    """A command's summary with a capital and a full stop; names in it keep their case."""
    return summary[:1].upper() + summary[1:] + "."


def visible(text: str, keep: str = "\n\t") -> str:
    r"""The text with all that would act on a terminal written out, as \x1b for an escape.

    All that comes from a board, a file or a file's name passes here before it is printed.
    """
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in text
    )


def finite(data: Any) -> Any:
    """Plain data with None in place of infinite numbers and NaN, which JSON does not have."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


class Ui:
    """Shows results, and what long work is doing."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        """Print results as JSON or as text; show no progress when `quiet`."""
        from rich.console import Console  # slow to load: here Ctrl-C is heard

        self.as_json = as_json
        self._printed = False
        self.console = Console(stderr=True, quiet=quiet)

    def result(self, data: dict[str, Any], text: str) -> None:
        """Print a result in the form that was asked for; of JSON only the first, one document."""
        if self.as_json and self._printed:
            return
        self._printed = True
        shown = (
            json.dumps(finite(data), indent=2, allow_nan=False) if self.as_json else visible(text)
        )
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        print(shown.encode(encoding, "backslashreplace").decode(encoding), flush=True)

    def pass_on(self, data: bytes) -> None:
        """Print what a program prints, as it comes; of JSON it is a part."""
        if not self.as_json:
            print(visible(data.decode(errors="replace"), keep="\n\t\r"), end="", flush=True)

    def note(self, text: str) -> None:
        """Say one line about what happens now (terminals only)."""
        if self.console.is_terminal:
            self.console.print(
                visible(text), style="dim", highlight=False, markup=False, emoji=False
            )

    @contextmanager
    def progress(self, title: str) -> Iterator[Update]:
        """Show a bar, which the yielded function moves."""
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        hidden = not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=hidden) as bars:
            task = bars.add_task(visible(title), total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
