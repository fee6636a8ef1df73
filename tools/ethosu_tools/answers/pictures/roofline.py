# SPDX-License-Identifier: MIT
"""Draws a roofline: x is work per byte, y work per cycle, both on a log2 scale."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from ...base.svg import STYLE
from ...sim.latency import Latency
from ...sim.table import Layer
from .. import views
from ..text import figure

WIDTH, HEIGHT, MARGIN = 640, 400, 56
OCTAVES = 12  # length of each axis
LETTER_WIDTH, LINE_HEIGHT = 7, 12


class Point(NamedTuple):
    """A point of the roofline: a layer with MACs; `label` is printed next to it."""

    label: str
    text: str
    macs: int
    bytes: int
    cycles: int
    bound: str


def points(rows: Sequence[Layer]) -> list[Point]:
    """Each layer with MACs, labelled with the number at the start of its name."""
    return [
        Point(
            row.name.partition(" ")[0], f"{row.name}: ", row.macs, row.bytes, row.cycles, row.bound
        )
        for row in rows
        if row.macs and row.cycles
    ]


def draw(estimate: Latency, shown: Sequence[Point]) -> str:
    """Draw the points; a point's size is its share of the time."""
    peak = views.peak(estimate.system.npu)
    lowest = math.log2(peak) - OCTAVES + 1
    rate = sum(
        {memory.name: memory.bytes_per_cycle for memory, _ in estimate.system.memories}.values()
    )

    def at(intensity: float, speed: float) -> tuple[float, float]:
        x = min(max(math.log2(intensity) + 2, 0), OCTAVES) / OCTAVES
        y = min(max(math.log2(speed) - lowest, 0), OCTAVES) / OCTAVES
        return MARGIN + x * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN)

    def place(point: Point) -> tuple[float, float, float]:
        x, y = at(point.macs / max(1, point.bytes), point.macs / max(1, point.cycles))
        return x, y, 3 + 12 * math.sqrt(point.cycles / max(1, estimate.cycles))

    def draw_point(point: Point) -> str:
        x, y, radius = place(point)
        text = f"{point.text}{point.cycles:,} cycles, bound by {point.bound}"
        return (
            f'<circle class="layer" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{escape(text)}</title></circle>"
        )

    def labels() -> Iterator[str]:
        """Place a label beside each point, the slowest first, unless two labels would overlap."""
        taken: list[tuple[float, float, float]] = []
        for point in sorted(shown, key=lambda point: -point.cycles):
            x, y, radius = place(point)
            left, right = x + radius + 2, x + radius + 4 + LETTER_WIDTH * len(point.label)
            if any(left < b and a < right and abs(y - at) < LINE_HEIGHT for a, b, at in taken):
                continue
            taken.append((left, right, y))
            yield f'<text x="{left:.1f}" y="{y + 4:.1f}">{escape(point.label)}</text>'

    def tick(x: float, y: float, anchor: str, value: float) -> str:
        text = f"{value:g}" if value >= 1 else f"1/{1 / value:g}"
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'

    steps = range(-2, OCTAVES - 1, 2)
    across = [(at(2.0**step, 1)[0], 2.0**step) for step in steps]
    up = [(at(1, peak / 4.0**step)[1], peak / 4.0**step) for step in range(OCTAVES // 2)]
    roof = [at(2.0**step, min(peak, rate * 2.0**step)) for step in range(-2, OCTAVES - 1)]
    latency = figure(estimate.as_dict())
    title = f"{estimate.system.name}: {estimate.system.npu}, {latency}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<rect class="frame" x="{MARGIN}" y="{MARGIN}" width="{WIDTH - 2 * MARGIN}" '
            f'height="{HEIGHT - 2 * MARGIN}"/>',
            f'<text class="heading" x="{MARGIN}" y="{MARGIN - 27}">{escape(title)}</text>',
            f'<text x="{MARGIN}" y="{HEIGHT - 14}">MACs per byte moved</text>',
            f'<text x="{MARGIN}" y="{MARGIN - 5}">MACs per cycle</text>',
            *(tick(x, HEIGHT - MARGIN + 16, "middle", value) for x, value in across),
            *(tick(MARGIN - 6, y + 4, "end", value) for y, value in up),
            f'<polyline class="roof" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in roof)}"/>',
            *map(draw_point, shown),
            *labels(),
            "</svg>\n",
        ]
    )
