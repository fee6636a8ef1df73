# SPDX-License-Identifier: MIT
"""For the board: stand-ins for OpenMV's modules `omv` and `image`, as its unit tests use them."""

import struct
import sys


class omv:  # noqa: N801
    """The module `omv`."""

    @staticmethod
    def arch():
        return "MPS3"


class Image:
    """An RGB565 picture of a .bmp file, or of pixels."""

    def __init__(self, path, size=None, *, copy_to_fb=False):
        if size is not None:
            self.size, self.pixels = size, path
            return
        with open(path, "rb") as file:
            data = file.read()
        start, _, width, height, _, depth = struct.unpack_from("<IIiiHH", data, 10)
        assert depth == 16, "16 bits a pixel expected"
        self.size = width, abs(height)
        row = (2 * width + 3) & ~3
        lines = [data[start + y * row : start + y * row + 2 * width] for y in range(abs(height))]
        self.pixels = b"".join(lines if height < 0 else lines[::-1])

    def width(self):
        return self.size[0]

    def height(self):
        return self.size[1]

    def bytearray(self):
        return self.pixels

    def crop(self, roi):
        x, y, w, h = roi
        row = 2 * self.size[0]
        lines = [self.pixels[(y + i) * row + 2 * x :][: 2 * w] for i in range(h)]
        return Image(b"".join(lines), (w, h))


class image:  # noqa: N801
    """The module `image`."""

    Image = Image


sys.modules["omv"] = omv
sys.modules["image"] = image
