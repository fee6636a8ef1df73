# SPDX-License-Identifier: MIT
"""Shows what listen.py says while it says it: a chart in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ..ui import visible
from . import results
from .words import WakeWord

HEIGHT = 8
LABEL_WIDTH = 5
BLOCKS = " ▁▂▃▄▅▆▇█"
QUIET, LOUD = "cyan", "bold green"


@contextlib.contextmanager
def watch(
    console: Console, title: str, word: WakeWord, total: int, seconds: float
) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows one more line of listen.py; `word` has `total` in `seconds`.

    In a terminal it keeps the pace of the sound, as a microphone would.
    """
    console.print(Text(visible(title), style="bold"))
    if not console.is_terminal:
        yield lambda line: console.print(line, highlight=False, markup=False, emoji=False)
        return
    lines: list[str] = []
    means: list[float] = []
    start = time.monotonic()
    with Live(console=console, refresh_per_second=20) as live:

        def show(line: str) -> None:
            lines.append(line)
            if (answer := results.parse(line)) and answer.word == word.name:
                means.append(answer.mean)
                time.sleep(max(0.0, start + min(answer.seconds, seconds) - time.monotonic()))
            live.update(draw(means, total, word.cutoff, seconds, console.width))

        yield show
    result = results.gather(lines, word.name)
    style = "bold" if result.detected_at is None else LOUD
    console.print(Text(results.sentence(word.name, result), style=style))


def draw(means: Sequence[float], total: int, cutoff: float, seconds: float, width: int) -> Group:
    """A chart of the first `len(means)` of `total` means, with a line at the cutoff.

    It is `width` characters wide and covers `seconds`; green is what is above the cutoff.
    """
    columns = max(1, min(total, width - LABEL_WIDTH - 1))
    peaks = _peaks(means, total, columns)
    cutoff_level = min(HEIGHT - 1, int(cutoff * HEIGHT))
    rows = [
        _row(level, peaks, cutoff, at_cutoff=level == cutoff_level)
        for level in reversed(range(HEIGHT))
    ]
    return Group(*rows, _time_axis(columns, seconds))


def _peaks(means: Sequence[float], total: int, columns: int) -> list[float]:
    """The highest mean in each column."""
    peaks = [0.0] * columns
    for index, mean in enumerate(means[:total]):
        column = index * columns // total
        peaks[column] = max(mean, peaks[column])
    return peaks


def _row(level: int, peaks: Sequence[float], cutoff: float, *, at_cutoff: bool) -> Text:
    label = f"{cutoff:.2f}" if at_cutoff else {0: "0.00", HEIGHT - 1: "1.00"}.get(level, "")
    line = Text()
    line.append(f"{label:>{LABEL_WIDTH - 1}} {'┤' if label else '│'}", style="dim")
    for peak in peaks:
        eighths = round((peak * HEIGHT - level) * (len(BLOCKS) - 1))
        block = BLOCKS[min(max(eighths, 0), len(BLOCKS) - 1)]
        if block == " " and at_cutoff:
            line.append("╌", style="dim red")
        else:
            line.append(block, style=LOUD if peak > cutoff else QUIET)
    return line


def _time_axis(columns: int, seconds: float) -> Text:
    """Whole seconds below the chart, as many as fit."""
    axis = ""
    for second in range(int(seconds) + 1):
        start = int(second * columns / seconds)
        if start >= len(axis) + 2 or not axis:
            axis = axis.ljust(start) + f"{second} s"
    return Text(" " * (LABEL_WIDTH + 1) + axis, style="dim")
