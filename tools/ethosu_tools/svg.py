# SPDX-License-Identifier: MIT
"""Common parts of pictures: style for light and dark backgrounds, short names, bars."""

from collections.abc import Mapping, Sequence
from html import escape

# One palette per kind of object, so that a colour has one meaning on a page.
UNITS = ("#2f7ab8", "#5a4fb3", "#7b8794", "#274c77", "#8ab6d6", "#a39bd3", "#4a5560")
MEMORIES = ("#c0392b", "#e58e83", "#8a6d1d", "#d9b84a", "#3b7a57", "#8fc7a8", "#6b3e26", "#b98b6f")
ROW, NAME, WIDTH = 18, 270, 900
LONGEST = 36  # letters of a name

STYLE = """\
text { font: 12px sans-serif; fill: #333 }
.title { font-weight: bold; font-size: 14px }
.name { fill: #fff }
.paper { fill: #fff }
.frame { fill: none; stroke: #999 }
.block { stroke: #fff; stroke-width: 1 }
.tensor { fill: #5b9bd5 }
.fixed { fill: #2f5d8a }
.inside { fill: #4f9d69 }
.scratch { fill: #e08a1e }
.npu { fill: #d9dee4 }
.old { stroke: #c0392b; stroke-dasharray: 5 4 }
.roof { fill: none; stroke: #2f5d8a; stroke-width: 2 }
.layer { fill: #e08a1e; fill-opacity: 0.7 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .name { fill: #fff } .paper { fill: #16191d } .frame { stroke: #777 }
.block { stroke: #16191d } .npu { fill: #343b44 } .roof { stroke: #7fb2e5 } .fixed { fill: #3f78b0 }
}"""


def shorten(name: str, longest: int) -> str:
    """Shorten a name to `longest` letters in the middle: names of layers differ at both ends."""
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}\N{HORIZONTAL ELLIPSIS}{name[-end:]}"


def bars(rows: Sequence[tuple[str, Mapping[str, float]]], unit: str, palette: Sequence[str]) -> str:
    """Draw a horizontal bar per row; the longest takes the whole width."""
    parts = sorted({part for _, values in rows for part, value in values.items() if value})
    colour = {part: palette[index % len(palette)] for index, part in enumerate(parts)}
    longest = max((sum(values.values()) for _, values in rows), default=0) or 1
    height = ROW * (len(rows) + 1) + 14
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">']
    for index, part in enumerate(parts):
        x = NAME + index * (WIDTH - NAME) / max(1, len(parts))
        lines.append(f'<rect x="{x:.0f}" y="2" width="12" height="12" fill="{colour[part]}"/>')
        lines.append(f'<text x="{x + 17:.0f}" y="12">{escape(part)}</text>')
    for index, (name, values) in enumerate(rows):
        y, x = ROW * (index + 1) + 8, float(NAME)
        lines.append(
            f'<text x="{NAME - 6}" y="{y + 11}" text-anchor="end">'
            f"{escape(shorten(name, LONGEST))}<title>{escape(name)}</title></text>"
        )
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
