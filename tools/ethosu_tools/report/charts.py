# SPDX-License-Identifier: MIT
"""Bars as SVG: one for each layer, made of parts in the page's colours."""

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#2f7ab8", "#e08a1e", "#4f9d69", "#a45bb5", "#c0392b", "#7b8794", "#b8972f", "#3aa6a6")
ROW, NAME, WIDTH = 18, 270, 900
LONGEST = 32  # letters of a name


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name."""
    return {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(names)}


def bars(rows: Sequence[tuple[str, Mapping[str, float]]], unit: str) -> str:
    """A horizontal bar for each row; the longest takes all the width."""
    parts = sorted({part for _, values in rows for part, value in values.items() if value})
    colour = colours(parts)
    longest = max((sum(values.values()) for _, values in rows), default=0) or 1
    height = ROW * (len(rows) + 1) + 14
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">']
    for index, part in enumerate(parts):
        x = NAME + index * (WIDTH - NAME) / max(1, len(parts))
        lines.append(f'<rect x="{x:.0f}" y="2" width="12" height="12" fill="{colour[part]}"/>')
        lines.append(f'<text x="{x + 17:.0f}" y="12">{escape(part)}</text>')
    for index, (name, values) in enumerate(rows):
        y, x = ROW * (index + 1) + 8, float(NAME)
        short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
        lines.append(f'<text x="{NAME - 6}" y="{y + 11}" text-anchor="end">{escape(short)}</text>')
        for part, value in values.items():
            width = value / longest * (WIDTH - NAME)
            if width:
                lines.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 4}" '
                    f'fill="{colour[part]}"><title>{escape(name)}: {value:,.0f} {unit}, '
                    f"{escape(part)}</title></rect>"
                )
            x += width
    return "\n".join([*lines, "</svg>"])
