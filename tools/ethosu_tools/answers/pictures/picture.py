# SPDX-License-Identifier: MIT
"""Draws an arena over time, from the plain data of a plan: as text, SVG or HTML.

Time is on the x axis, one column per operator; addresses are on the y axis.
"""

from __future__ import annotations

import string
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ...base.errors import UsageError
from ...base.files import write_whole
from ...base.svg import STYLE, shorten
from ...compile.plan.placement import ALIGNMENT, align

Row = Mapping[str, Any]

TEXT_ROWS, TEXT_COLUMNS, WIDEST_CELL = 16, 64, 6
LETTERS = string.ascii_letters + string.digits
NPU_MARK, FREE_MARK, MANY_MARK = "#", "\N{MIDDLE DOT}", "*"

KINDS = {
    "tensor": "placed by the planner",
    "fixed": "fixed: the NPU's commands address it",
    "scratch": "scratch of a CPU operator",
    "npu": "memory that the NPU may write during a call",
    "inside": "output of a layer on the NPU",
}
LEFT, RIGHT, TOP = 76, 84, 44  # margins of the chart in pixels
LABELS, KEY = 118, 24  # heights below the chart: operators, and each line of the key
CHART_HEIGHT = 360
LINE_HEIGHT, LETTER_WIDTH, FEWEST_LETTERS = 18, 8, 5
THIN = 3
NARROWEST, LABEL_WIDTH, LABEL_LETTERS = 4, 24, 16


def draw_text(plan: Row) -> str:
    """The arena as letters, and a legend."""
    times = len(plan["operators"]) + 2
    columns = min(times, TEXT_COLUMNS)
    width = max(1, min(WIDEST_CELL, TEXT_COLUMNS // times))
    step = align(-(-plan["arena"] // TEXT_ROWS)) or ALIGNMENT
    blocks = sorted(plan["blocks"], key=lambda block: block["kind"] != "npu")
    marks = _marks(blocks)
    lines = []
    for row in reversed(range(-(-plan["arena"] // step))):
        cells = "".join(
            _cell(blocks, marks, row * step, step, _span(column, columns, times)) * width
            for column in range(columns)
        )
        lines.append(f"{row * step:>10,} |{cells}|")
    if columns == times:
        numbers = "".join(f"{time:<{width}}"[:width] for time in range(times))
        lines += [f"{'time':>10}  {numbers if width > 2 else ''}".rstrip()]
    legend = [_legend(mark, block) for mark, block in zip(marks, blocks, strict=True)]
    return "\n".join([*lines, "", *_operators(plan["operators"]), "", *legend])


def _operators(names: Sequence[str]) -> list[str]:
    """List the operators by time."""
    text = "  ".join(f"{time}:{name}" for time, name in enumerate(names, 1))
    indent = " " * 10
    return textwrap.wrap(
        text,
        TEXT_COLUMNS + 12,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def save(plan: Row, path: Path) -> None:
    """Draw to a file, in the format of its suffix."""
    check_name(path)
    write_whole(path, FORMATS[path.suffix](plan).encode())


def check_name(path: Path) -> None:
    """Reject a suffix without a picture format."""
    if path.suffix not in FORMATS:
        raise UsageError(f"a picture must end in {' or '.join(FORMATS)}, found {path.name}")


def draw_svg(plan: Row, style: str = STYLE) -> str:
    """The arena as a picture; hovering over a block shows its name."""
    operators = ["inputs", *plan["operators"], "outputs"]
    column = max(NARROWEST, min(90, 900 // len(operators)))
    width = LEFT + RIGHT + max(column * len(operators), 560)
    kinds = _kinds(plan)
    height = TOP + CHART_HEIGHT + LABELS + KEY * len(kinds)
    top = max(plan["arena"], plan["arena_before"] or 0, 1)

    def y(offset: int) -> float:
        return float(TOP + CHART_HEIGHT * (1 - offset / top))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{style}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(_title(plan))}</text>',
        *(_key(index, kind, KINDS[kind]) for index, kind in enumerate(kinds)),
    ]
    for block in sorted(plan["blocks"], key=lambda block: block["kind"] != "npu"):
        parts.append(_rectangle(block, column, y))
    parts += _axes(plan, operators, column, y)
    return "\n".join([*parts, "</svg>\n"])


def _kinds(plan: Row) -> list[str]:
    """The kinds of blocks in the plan."""
    used = {block["kind"] for block in plan["blocks"]}
    return [kind for kind in KINDS if kind in used]


def draw_html(plan: Row) -> str:
    """The picture, and a table of all blocks."""
    rows = [
        f"<tr><td>{escape(block['name'])}</td><td>{KINDS[block['kind']]}</td>"
        f"<td>{block['offset']:,}</td><td>{block['size']:,}</td>"
        f"<td>{block['first']} \N{EN DASH} {block['last']}</td></tr>"
        for block in plan["blocks"]
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><meta charset="utf-8"><title>Arena over time</title>',
            "<style>body { font: 14px sans-serif } td, th { padding: 2px 12px; text-align: left }"
            "</style>",
            draw_svg(plan),
            "<table><tr><th>block</th><th>kind</th><th>offset</th><th>bytes</th><th>time</th></tr>",
            *rows,
            "</table></html>\n",
        ]
    )


def _title(plan: Row) -> str:
    text = plan.get("title", f"arena {plan['arena']:,} bytes")
    assert isinstance(text, str)
    if plan["arena_before"] in (None, plan["arena"]):
        return text
    return f"{text} ({plan['arena_before']:,} with the CPU operators' scratch behind Vela's arena)"


def _marks(blocks: Sequence[Row]) -> list[str]:
    """A letter for each block, until the letters run out."""
    letters = iter(LETTERS)
    return [NPU_MARK if b["kind"] == "npu" else next(letters, MANY_MARK) for b in blocks]


def _span(column: int, columns: int, times: int) -> range:
    return range(column * times // columns, (column + 1) * times // columns)


def _cell(blocks: Sequence[Row], marks: Sequence[str], at: int, size: int, times: range) -> str:
    """The last of the blocks that overlap these bytes and times."""
    cell = FREE_MARK
    for mark, block in zip(marks, blocks, strict=True):
        in_time = block["first"] < times.stop and times.start <= block["last"]
        in_place = block["offset"] < at + size and at < block["offset"] + block["size"]
        if in_time and in_place:
            cell = mark
    return cell


def _legend(mark: str, block: Row) -> str:
    end = block["offset"] + block["size"]
    return (
        f"{mark:>10}  {block['offset']:>10,} to {end:>10,}  "
        f"time {block['first']:>3} to {block['last']:>3}  {block['name']}"
    )


def _rectangle(block: Row, column: int, y: Any) -> str:
    top, bottom = y(block["offset"] + block["size"]), y(block["offset"])
    left, width = LEFT + column * block["first"], column * (block["last"] - block["first"] + 1)
    name = escape(block["name"])
    # Thin blocks have no border, which would hide them.
    line, height = ("block ", bottom - top) if bottom - top >= THIN else ("", max(bottom - top, 1))
    shape = (
        f'<rect class="{line}{block["kind"]}" x="{left}" y="{bottom - height:.1f}" '
        f'width="{width}" height="{height:.1f}">'
        f"<title>{name}: {block['size']:,} bytes at {block['offset']:,}</title></rect>"
    )
    letters = width // LETTER_WIDTH
    if bottom - top < LINE_HEIGHT or letters < FEWEST_LETTERS or block["kind"] == "npu":
        return shape
    short = escape(shorten(block["name"], letters))
    return f'{shape}<text class="name" x="{left + 5}" y="{top + 14:.1f}">{short}</text>'


def _key(index: int, kind: str, text: str) -> str:
    x, y = LEFT, TOP + CHART_HEIGHT + LABELS + KEY * index
    return (
        f'<rect class="{kind}" x="{x}" y="{y - 10}" width="12" height="12"/>'
        f'<text x="{x + 18}" y="{y}">{text}</text>'
    )


def _axes(plan: Row, operators: Sequence[str], column: int, y: Any) -> list[str]:
    right = LEFT + column * len(operators)
    parts = [
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{CHART_HEIGHT}"/>'
    ]
    if plan["arena_before"]:
        before = y(plan["arena_before"])
        parts.append(f'<line class="old" x1="{LEFT}" x2="{right}" y1="{before}" y2="{before}"/>')
        parts.append(
            f'<text x="{right}" y="{before - 5}" text-anchor="end">{plan["arena_before"]:,}</text>'
        )
    parts.append(f'<text x="{LEFT - 6}" y="{TOP - 12}" text-anchor="end">bytes</text>')
    for level in (0, plan["arena"]):
        parts.append(
            f'<text x="{LEFT - 6}" y="{y(level) + 4:.1f}" text-anchor="end">{level:,}</text>'
        )
    for index, name in list(enumerate(operators))[:: -(-LABEL_WIDTH // column)]:
        x, base = LEFT + column * (index + 0.5), TOP + CHART_HEIGHT + 12
        parts.append(
            f'<text class="time" transform="translate({x + 4:.1f} {base}) rotate(-35)" '
            f'text-anchor="end">{escape(shorten(name, LABEL_LETTERS))}</text>'
        )
    return parts


FORMATS = {".svg": draw_svg, ".html": draw_html}
