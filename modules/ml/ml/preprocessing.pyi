# SPDX-License-Identifier: MIT
"""`ml.preprocessing.Normalization`: an image as an input of a model.

An image is an object with width() and height() that is a buffer, or has bytearray(): of GRAYSCALE,
RGB565 or RGB888 pixels, which the number of bytes tells. It is resized to the tensor's width and
height as OpenMV's cameras do it, the filter CORNERS of ethosu_image.
"""

from collections.abc import Sequence
from typing import Any

class Normalization:
    """How an image becomes a tensor. `scale`, `mean` and `stdev` are for float tensors only."""

    def __init__(
        self,
        scale: Sequence[float] = ...,
        mean: Sequence[float] = ...,
        stdev: Sequence[float] = ...,
        roi: Sequence[int] | None = None,
    ) -> None:
        """Pixels 0..255 become scale[0]..scale[1], less mean, through stdev, for R, G, B each."""

    def __call__(self, *args: Any) -> Any:
        """With an image: a copy that is bound to it. With (buffer, shape, dtype): write it."""
