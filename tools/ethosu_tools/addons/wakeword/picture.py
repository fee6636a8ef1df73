# SPDX-License-Identifier: MIT
"""Draws each sound that the board heard, and the probability of each word over time."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from ...base.svg import MEMORIES, STYLE, UNITS
from ...model.arrays import Array
from ...model.samples.speech import RATE
from ...model.samples.wake_words import WakeWord
from .keywords import Result

WIDTH, TOP, WAVE, CURVE, GAP, MARGIN = 860, 44, 70, 90, 26, 16
_EXTRA = """
.wave { stroke: #8c96a0; stroke-width: 1.2 } .cutoff { stroke: #999; stroke-dasharray: 4 4 }
.curve { fill: none; stroke-width: 2.5 } .mark { stroke-width: 1.5 }"""


def draw(
    where: str,
    words: Sequence[WakeWord],
    heard: Sequence[tuple[str, Array, Mapping[str, Result]]],
) -> str:
    """Draw sounds side by side as SVG; each is (title, samples, result of each word)."""
    whole = sum(len(samples) for _, samples, _ in heard) / RATE
    scale = (WIDTH - MARGIN * (len(heard) + 1)) / max(whole, 1e-3)
    height = TOP + WAVE + CURVE + 2 * GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}{_EXTRA}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="{MARGIN}" y="22">'
        f"{', '.join(map(_coloured, words, _colours(words)))}: probability, computed by the "
        f"{escape(where)}</text>",
    ]
    left = float(MARGIN)
    for name, samples, results in heard:
        width = len(samples) / RATE * scale
        lines += _wave(left, width, samples)
        lines += _curves(left, width, scale, words, results)
        lines.append(f'<text x="{left:.0f}" y="{height - 10}">{escape(name)}</text>')
        left += width + MARGIN
    return "\n".join([*lines, "</svg>\n"])


def _wave(left: float, width: float, samples: Array) -> list[str]:
    """Draw the envelope of a sound, with a line for every two pixels."""
    middle, loudest = TOP + WAVE / 2, max(1, int(np.abs(samples.astype(int)).max(initial=0)))
    bars = []
    for index, part in enumerate(np.array_split(samples.astype(int), max(1, int(width / 2)))):
        if len(part):
            x, up, down = left + 2 * index + 1, part.max() / loudest, part.min() / loudest
            bars.append(f"M{x:.0f} {middle - up * WAVE / 2:.1f}V{middle - down * WAVE / 2 + 1:.1f}")
    return [f'<path class="wave" d="{"".join(bars)}"/>']


def _colours(words: Sequence[WakeWord]) -> list[str]:
    return [(UNITS[0], *MEMORIES[::2])[index % 5] for index, _ in enumerate(words)]


def _coloured(word: WakeWord, colour: str) -> str:
    return f'<tspan style="fill: {colour}">{escape(word.phrase)}</tspan>'


def _curves(
    left: float,
    width: float,
    scale: float,
    words: Sequence[WakeWord],
    results: Mapping[str, Result],
) -> list[str]:
    """Draw each word's probability, cutoff, and detection."""
    bottom = TOP + WAVE + GAP + CURVE
    lines = [
        f'<rect class="frame" x="{left:.1f}" y="{bottom - CURVE}" width="{width:.1f}" '
        f'height="{CURVE}"/>'
    ]
    for word, colour in zip(words, _colours(words), strict=True):
        result = results[word.name]
        points = [
            f"{left + time * scale:.1f},{bottom - mean * CURVE:.1f}"
            for time, mean in zip(result.times, result.means, strict=True)
        ]
        y = bottom - word.cutoff * CURVE
        lines += [
            f'<path class="cutoff" d="M{left:.1f} {y:.1f}h{width:.1f}"/>',
            f'<polyline class="curve" stroke="{colour}" points="{" ".join(points)}">'
            f"<title>{escape(word.name)}</title></polyline>",
        ]
        if result.detected_at is not None:
            x = left + result.detected_at * scale
            lines += [
                f'<path class="mark" stroke="{colour}" d="M{x:.1f} {TOP}V{bottom}"/>',
                f'<text x="{x + 5:.1f}" y="{TOP + WAVE + 18}">{escape(word.name)} '
                f"{result.detected_at:.1f} s</text>",
            ]
    return lines
