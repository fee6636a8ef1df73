# SPDX-License-Identifier: MIT
"""`ml.preprocessing.Normalization`: an image as an input of a model.

An image is an object with width() and height() that is a buffer, or has bytearray(), with
GRAYSCALE, RGB565 or RGB888 pixels, depending on its size in bytes. It is resized to the tensor's
width and height as by OpenMV's cameras, with the filter CORNERS of ethosu_image.
"""

from array import array

import ethosu_image

# The bytes of a pixel tell its format.
_FORMATS = {1: ethosu_image.GRAY, 2: ethosu_image.RGB565, 3: ethosu_image.RGB888}


class Normalization:
    """Converts an image to a tensor. `scale`, `mean` and `stdev` apply to float tensors only."""

    def __init__(
        self, scale=(0.0, 1.0), mean=(0.0, 0.0, 0.0), stdev=(1.0, 1.0, 1.0), roi=None
    ) -> None:
        """Pixels 0..255 become scale[0]..scale[1], minus mean, divided by stdev, per channel."""
        self.scale = scale
        self.mean = mean
        self.stdev = stdev
        self.roi = roi
        self.image = None

    def __call__(self, *args: object):
        """With an image: a copy bound to it. With (buffer, shape, dtype): fill the tensor."""
        if len(args) == 1:
            bound = Normalization(self.scale, self.mean, self.stdev, self.roi)
            bound.image = args[0]
            bound.roi = self.roi or (0, 0, args[0].width(), args[0].height())
            return bound
        buffer, shape, dtype = args
        if self.image is None:
            raise ValueError("no image: call the Normalization with one, norm(image)")
        width, height = self.image.width(), self.image.height()
        pixels = self.image.bytearray() if hasattr(self.image, "bytearray") else self.image
        depth = len(memoryview(pixels)) // (width * height)
        if depth not in _FORMATS:
            raise ValueError(f"an image of {depth} bytes per pixel, expected 1, 2 or 3")
        table = self._table(shape[-1]) if chr(dtype) == "f" else None
        see = ethosu_image.Input(
            pixels,
            (width, height),
            _FORMATS[depth],
            roi=_inside(self.roi, width, height),
            filter=ethosu_image.CORNERS,
            table=table,
        )
        see(buffer, shape, dtype)

    def _table(self, channels):
        """The value written for each value of a pixel, per channel."""
        low, high = self.scale
        mean, stdev = self.mean, self.stdev
        if channels == 1:
            mean, stdev = (_luma(mean),), (_luma(stdev),)
        table = array("f")
        for m, s in zip(mean, stdev):  # noqa: B905  (MicroPython's)
            table.extend(array("f", [((high - low) * v / 255 + low - m) / s for v in range(256)]))
        return table


def _luma(rgb):
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]


def _inside(roi, width, height):
    """The part of a rectangle inside the image; results are positioned relative to all of it."""
    x, y, w, h = (int(each) for each in roi)
    right, bottom = min(x + w, width), min(y + h, height)
    x, y = max(x, 0), max(y, 0)
    if right <= x or bottom <= y:
        raise ValueError(f"roi {roi} is outside an image of {width} x {height}")
    return x, y, right - x, bottom - y
