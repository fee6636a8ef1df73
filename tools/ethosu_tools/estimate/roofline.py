# SPDX-License-Identifier: MIT
"""Draws a roofline: work per byte to the right, work per cycle up, both by factors of two."""

import math
from html import escape
from pathlib import Path

from ..files import write_whole
from ..svg import STYLE
from .latency import Estimate, Layer

WIDTH, HEIGHT, MARGIN = 640, 400, 56
OCTAVES = 12  # of each axis


def save(found: Estimate, path: Path) -> None:
    """Write the picture of an estimate as SVG."""
    write_whole(path, draw(found).encode())


def draw(found: Estimate) -> str:
    """Each operation with MACs is a point, as large as its part of the time."""
    peak = int(found.system.npu.rpartition("-")[2])
    lowest = math.log2(peak) - OCTAVES + 1
    rate = sum(
        {memory.name: memory.bytes_per_cycle for memory, _ in found.system.memories}.values()
    )

    def at(intensity: float, speed: float) -> tuple[float, float]:
        x = min(max(math.log2(intensity) + 2, 0), OCTAVES) / OCTAVES
        y = min(max(math.log2(speed) - lowest, 0), OCTAVES) / OCTAVES
        return MARGIN + x * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN)

    def point(layer: Layer) -> str:
        x, y = at(layer.macs / max(1, layer.bytes), layer.macs / max(1, layer.busy))
        radius = 3 + 12 * math.sqrt(layer.cycles / max(1, found.cycles))
        text = f"{layer.name} {layer.ofm}: {layer.cycles:,} cycles, bound by {layer.bound}"
        return (
            f'<circle class="layer" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{escape(text)}</title></circle>"
        )

    def tick(x: float, y: float, anchor: str, value: float) -> str:
        text = f"{value:g}" if value >= 1 else f"1/{1 / value:g}"
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'

    steps = range(-2, OCTAVES - 1, 2)
    across = [(at(2.0**step, 1)[0], 2.0**step) for step in steps]
    up = [(at(1, peak / 4.0**step)[1], peak / 4.0**step) for step in range(OCTAVES // 2)]
    roof = [at(2.0**step, min(peak, rate * 2.0**step)) for step in range(-2, OCTAVES - 1)]
    title = f"{found.system.name}: {found.system.npu}, {found.milliseconds:.3g} ms"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<rect class="frame" x="{MARGIN}" y="{MARGIN}" width="{WIDTH - 2 * MARGIN}" '
            f'height="{HEIGHT - 2 * MARGIN}"/>',
            f'<text x="{MARGIN}" y="{MARGIN - 20}">{escape(title)}</text>',
            f'<text x="{MARGIN}" y="{HEIGHT - 14}">MACs per byte moved</text>',
            f'<text x="{MARGIN}" y="{MARGIN - 5}">MACs per cycle</text>',
            *(tick(x, HEIGHT - MARGIN + 16, "middle", value) for x, value in across),
            *(tick(MARGIN - 6, y + 4, "end", value) for y, value in up),
            f'<polyline class="roof" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in roof)}"/>',
            *(point(layer) for layer in found.layers if layer.macs),
            "</svg>\n",
        ]
    )
