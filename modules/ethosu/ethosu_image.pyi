# SPDX-License-Identifier: MIT
"""Pictures as inputs of models, and searches in outputs.

A picture is a buffer of rows without gaps: GRAY (1 byte per pixel), RGB565 (2, little-endian) or
RGB888 (3). `docs/pictures.md` defines every result exactly.
"""

from collections.abc import Sequence
from typing import Any

import ethosu

_Buffer = Any

GRAY: int
"""Format of a picture: one byte per pixel."""
RGB565: int
"""Format of a picture: two bytes per pixel, little-endian, red in the upper bits."""
RGB888: int
"""Format of a picture: three bytes per pixel: red, green, blue."""
NEAREST: int
"""Filter: the nearest pixel."""
BILINEAR: int
"""Filter: the four surrounding pixels, weighted by distance."""
AREA: int
"""Filter: the mean of all pixels that become one; for strong reduction."""
CORNERS: int
"""Filter: bilinear, bit-exact with OpenMV's cameras; `ml` uses it."""
STRETCH: int
"""Fit: width and height are resized independently."""
PAD: int
"""Fit: the whole picture with its proportions, with black bars at two sides."""
CROP: int
"""Fit: the middle of the picture, with the tensor's proportions."""

class Input:
    """A picture as an input of a model: `model.predict([Input(...)])` writes it into the tensor.

    Create it once, and set `pixels` or change their buffer for each frame; this allocates nothing.
    """

    pixels: _Buffer
    """The picture; may be assigned another one of the same size and format."""

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

        In this order, `roi` (x, y, width, height) is cut out, rotated clockwise by `rotate` degrees
        (a multiple of 90), mirrored left to right, fitted and resized. A value from 0 to 255 is
        then written as follows: with `mean` and `std` (one number or three), as the raw value of
        `tensor` for (value - mean) / std; with `table` (256 or 3 * 256 entries of the tensor's
        typecode), as the entry for this value; otherwise unchanged for a uint8 tensor, and minus
        128 for an int8 one. Raises ValueError or TypeError for invalid arguments.
        """

    def __call__(self, memory: _Buffer, shape: Sequence[int], dtype: str | int) -> None:
        """Write the picture to memory of this shape (1, height, width, 1 or 3) and typecode.

        Called by models; call it yourself to convert or resize a picture:
        `picture(into, (48, 64, 3), "B")`.
        """

    def source(self, x: float, y: float, /) -> tuple[float, float]:
        """Convert a position in the tensor, from 0 to 1, to a position in the picture, in pixels.

        Raises ValueError if the picture was not written yet.
        """

def argmax(values: Any, /) -> int:
    """Index of the largest number of a buffer or list, the first if equal; allocates nothing."""

def above(values: Any, limit: float, start: int = 0, step: int = 1, /) -> list[int]:
    """Indices of numbers that are at least `limit`, of every `step`-th one from `start` on."""
