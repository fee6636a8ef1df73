# SPDX-License-Identifier: MIT
"""Draws sounds and what a model made of them as an SVG picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

import numpy as np

from ..arrays import Array
from .results import Result, sentence
from .speech import RATE
from .words import WakeWord

WIDTH, HEIGHT = 720, 190  # of one panel, in pixels
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 34, 26  # what its chart leaves free
STYLE = """\
rect { fill: #fff }
text { font: 13px sans-serif; fill: #555 }
.title { font-weight: bold; fill: #111 }
.frame { fill: none; stroke: #bbb }
.sound { fill: #d5dde6 }
.cutoff { stroke: #c0392b; stroke-dasharray: 4 4 }
.mean { fill: none; stroke: #087e8b; stroke-width: 2 }
.detected { stroke: #2a9d3a; stroke-width: 2 }"""

Point = tuple[float, float]
Axis = Callable[[float], float]


def draw(word: WakeWord, sounds: Sequence[tuple[str, Array, Result]]) -> str:
    """One panel per sound, given as its title, samples and result; all have one time axis."""
    seconds = max(len(samples) for _, samples, _ in sounds) / RATE
    height = HEIGHT * len(sounds)
    panels = [
        f'<g transform="translate(0 {index * HEIGHT})">{_panel(word, *sound, seconds)}</g>'
        for index, sound in enumerate(sounds)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}"/>',
            *panels,
            "</svg>\n",
        ]
    )


def _panel(word: WakeWord, title: str, samples: Array, result: Result, seconds: float) -> str:
    def x(second: float) -> float:
        return LEFT + second / seconds * (WIDTH - LEFT - RIGHT)

    def y(probability: float) -> float:
        return HEIGHT - BOTTOM - probability * (HEIGHT - TOP - BOTTOM)

    mean = [(x(time), y(value)) for time, value in zip(result.times, result.means, strict=True)]
    frame = [(x(0), y(1)), (x(0), y(0)), (x(seconds), y(0))]
    marks = [_line("cutoff", (x(0), y(word.cutoff)), (x(seconds), y(word.cutoff)))]
    if result.detected_at is not None:
        marks.append(
            _line("detected", (x(result.detected_at), y(0)), (x(result.detected_at), y(1)))
        )
    return "\n".join(
        [
            _text("title", (LEFT, TOP - 14), f"{title}: {sentence(word.name, result)}"),
            f'<polygon class="sound" points="{_points(_outline(samples, x, y))}"/>',
            f'<polyline class="frame" points="{_points(frame)}"/>',
            *marks,
            f'<polyline class="mean" points="{_points(mean)}"/>',
            *(_text("label", (8, y(value) + 4), f"{value:.2f}") for value in (0, word.cutoff)),
            *(_text("label", (x(s), HEIGHT - 8), f"{s} s") for s in range(int(seconds) + 1)),
        ]
    )


def _outline(samples: Array, x: Axis, y: Axis) -> list[Point]:
    """The loudness of each hundredth of a second, mirrored about the middle of the chart."""
    chunk = RATE // 100
    loud = np.abs(samples[: len(samples) // chunk * chunk].astype(float)).reshape(-1, chunk).max(1)
    half = loud / max(loud.max(initial=0.0), 1.0) * 0.45
    upper = [(x(index / 100), y(0.5 + value)) for index, value in enumerate(half)]
    lower = [(x(index / 100), y(0.5 - value)) for index, value in enumerate(half)]
    return upper + lower[::-1]


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _line(kind: str, start: Point, end: Point) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(kind: str, at: Point, text: str) -> str:
    return f'<text class="{kind}" x="{at[0]:.1f}" y="{at[1]:.1f}">{escape(text)}</text>'
