# SPDX-License-Identifier: MIT
"""Draws the probability over time in a terminal while it comes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

HEIGHT = 8
AXIS_WIDTH = 5
BLOCKS = " ▁▂▃▄▅▆▇█"
QUIET, LOUD = "cyan", "bold green"


def draw(means: Sequence[float], total: int, cutoff: float, seconds: float, width: int) -> Group:
    """A chart of the first `len(means)` of `total` probabilities, with a line at the cutoff.

    It is `width` characters wide and covers `seconds`; green is what is above the cutoff.
    """
    columns = max(1, min(total, width - AXIS_WIDTH - 1))
    peaks = _peaks(means, total, columns)
    cutoff_row = min(HEIGHT - 1, int(cutoff * HEIGHT))
    rows = [_row(level, peaks, cutoff, level == cutoff_row) for level in reversed(range(HEIGHT))]
    return Group(*rows, _time_axis(columns, seconds))


def _peaks(means: Sequence[float], total: int, columns: int) -> list[float | None]:
    """The highest probability in each column; None where nothing has come yet."""
    peaks: list[float | None] = [None] * columns
    for index, mean in enumerate(means):
        column = index * columns // total
        peaks[column] = max(mean, peaks[column] or 0.0)
    return peaks


def _row(level: int, peaks: Sequence[float | None], cutoff: float, at_cutoff: bool) -> Text:
    label = f"{cutoff:.2f}" if at_cutoff else {0: "0.00", HEIGHT - 1: "1.00"}.get(level, "")
    line = Text()
    line.append(f"{label:>{AXIS_WIDTH - 1}} {'┤' if label else '│'}", style="dim")
    for peak in peaks:
        eighths = 0 if peak is None else round((peak * HEIGHT - level) * (len(BLOCKS) - 1))
        block = BLOCKS[min(max(eighths, 0), len(BLOCKS) - 1)]
        if block == " " and at_cutoff:
            line.append("╌", style="dim red")
        else:
            line.append(block, style=LOUD if peak is not None and peak > cutoff else QUIET)
    return line


def _time_axis(columns: int, seconds: float) -> Text:
    """Whole seconds below the chart."""
    axis = [" "] * (columns + 6)
    for second in range(int(seconds) + 1):
        label = f"{second} s"
        start = int(second * columns / seconds)
        if start + len(label) <= len(axis) and all(cell == " " for cell in axis[start : start + 4]):
            axis[start : start + len(label)] = label
    return Text(" " * AXIS_WIDTH + "".join(axis), style="dim")
