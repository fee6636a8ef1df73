# SPDX-License-Identifier: MIT
"""Progress for people: bars on stderr when it is a terminal, silence otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Advance = Callable[[float], None]


class Ui:
    """Shows what long work is doing."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Show nothing when `quiet` or when stderr is no terminal."""
        self.console = Console(stderr=True, quiet=quiet)

    def note(self, text: str) -> None:
        """Say one line about what happens now (terminals only)."""
        if self.console.is_terminal:
            self.console.print(text, style="dim", highlight=False)

    @contextmanager
    def progress(self, title: str, total: float | None) -> Iterator[Advance]:
        """Show a bar; the yielded function moves it on by so many units."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        hidden = not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=hidden) as bars:
            task = bars.add_task(title, total=total)
            yield lambda units: bars.advance(task, units)
