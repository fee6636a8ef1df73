# SPDX-License-Identifier: MIT
"""Pictures into models, and what to look for in outputs.

A picture is a buffer of rows without gaps: GRAY (1 byte a pixel), RGB565 (2, little-endian) or
RGB888 (3). `docs/pictures.md` defines every result exactly.
"""

from collections.abc import Sequence
from typing import Any

import ethosu

_Buffer = Any

GRAY: int
"""Format of a picture: one byte a pixel."""
RGB565: int
"""Format of a picture: two bytes a pixel, little-endian, red in the upper bits."""
RGB888: int
"""Format of a picture: three bytes a pixel: red, green, blue."""
NEAREST: int
"""Filter: the nearest pixel."""
BILINEAR: int
"""Filter: weighted by distance from the four pixels around."""
AREA: int
"""Filter: the mean of all pixels that become one; for a picture that is made much smaller."""
CORNERS: int
"""Filter: bilinear as OpenMV's cameras do it, bit by bit; `ml` uses it."""
STRETCH: int
"""Fit: width and height are resized each for itself."""
PAD: int
"""Fit: all of the picture, with its proportions, black at two sides."""
CROP: int
"""Fit: the middle of the picture, with the tensor's proportions."""

class Input:
    """A picture as an input of a model: `model.predict([Input(...)])` writes it into the tensor.

    Make it once; set `pixels`, or change their buffer, for each frame: nothing is allocated.
    """

    pixels: _Buffer
    """The picture; another one of the same size and format may take its place."""

    def __init__(
        self,
        pixels: _Buffer,
        size: Sequence[int],
        format: int = ...,
        *,
        roi: Sequence[int] | None = None,
        rotate: int = 0,
        mirror: bool = False,
        fit: int = ...,
        filter: int = ...,
        tensor: ethosu.Tensor | None = None,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        table: _Buffer | None = None,
    ) -> None:
        """A picture of `size` (width, height), both up to 16,384.

        In this order: `roi` (x, y, width, height) is cut out, turned clockwise by `rotate` degrees
        (a multiple of 90), mirrored left to right, fitted and resized. What is written for a value
        from 0 to 255 is: with `mean` and `std` (a number, or three), the raw value of `tensor` for
        (value - mean) / std; with `table`, its entry (256, or 3 * 256, of the tensor's typecode);
        else the value for a uint8 tensor, the value less 128 for an int8 one.
        ValueError, TypeError: an argument is wrong.
        """

    def __call__(self, memory: _Buffer, shape: Sequence[int], dtype: str | int) -> None:
        """Write the picture to memory of this shape (1, height, width, 1 or 3) and typecode.

        A model calls it; so can you, to convert or resize a picture: `see(into, (48, 64, 3), "B")`.
        """

    def source(self, x: float, y: float, /) -> tuple[float, float]:
        """Where a position of the tensor, from 0 to 1, is in the picture, in pixels.

        ValueError: nothing was written yet.
        """

def argmax(values: Any, /) -> int:
    """Index of the largest number of a buffer or list, the first of equal ones. No allocation."""

def above(values: Any, limit: float, start: int = 0, step: int = 1, /) -> list[int]:
    """Indices of the numbers that are `limit` or more: of each step-th one, from `start` on."""
