# SPDX-License-Identifier: MIT
"""OpenMV's camera `csi` for a board without one: frames are the files of a folder.

Frames are returned in the order of their names, repeatedly. A frame larger than the frame size or
the window is cropped to its centre; none is scaled.
"""

import os

from image import GRAYSCALE, RGB565, Image

FOLDER = "/rom/frames"

QQVGA, QVGA, VGA = (160, 120), (320, 240), (640, 480)
HQVGA, HVGA, SVGA = (240, 160), (480, 320), (800, 600)
QCIF, CIF, QSIF, SIF = (176, 144), (352, 288), (176, 120), (352, 240)
XGA, HD = (1024, 768), (1280, 720)


class CSI:
    """The camera."""

    def __init__(self, folder=FOLDER):
        """`folder` has .bmp files with 16 bits per pixel, or .pgm files."""
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            names = []
        self.paths = [f"{folder}/{name}" for name in names if name.endswith((".bmp", ".pgm"))]
        if not self.paths:
            raise OSError(19, f"no camera: {folder} has no .bmp or .pgm files")
        self.frame = None
        self.reset()

    def reset(self):
        """Start with the first frame, in its own size, in colour."""
        self.next = 0
        self._pixformat = RGB565
        self._framesize = None
        self._window = None

    def pixformat(self, format=None):
        """Set GRAYSCALE or RGB565; without an argument, get it."""
        if format is None:
            return self._pixformat
        if format not in (GRAYSCALE, RGB565):
            raise ValueError(f"pixformat is {format}, expected GRAYSCALE or RGB565")
        self._pixformat = format

    def framesize(self, size=None):
        """Set the maximum width and height of a frame; without an argument, get it."""
        if size is None:
            return self._framesize
        self._framesize = size
        self._window = None

    def window(self, roi=None):
        """Set (width, height) of the centre, or (x, y, width, height); without argument, get it."""
        if roi is None:
            return self._window
        if len(roi) not in (2, 4):
            raise ValueError(f"window is {roi}, expected 2 or 4 numbers")
        self._window = roi

    def width(self):
        """Pixels of the last frame."""
        return self._last().width()

    def height(self):
        """Pixels of the last frame."""
        return self._last().height()

    def _last(self):
        return self.snapshot() if self.frame is None else self.frame

    def snapshot(self, time=-1, frames=-1):
        """The next frame; with `frames`, after skipping that many. `time` has no effect.

        The previous frame is overwritten.
        """
        self.next += max(frames, 0)
        path = self.paths[self.next % len(self.paths)]
        self.next += 1
        whole = Image(path)
        roi = 0, 0, whole.width(), whole.height()
        if self._framesize is not None:
            roi = _middle(roi, self._framesize)
        if self._window is not None:
            roi = _inside(roi, self._window)
        if whole.format() != self._pixformat:
            whole = whole.to_grayscale() if self._pixformat == GRAYSCALE else whole.to_rgb565()
        self.frame = whole.crop(roi=roi, into=self.frame)
        return self.frame


def _middle(roi, size):
    """The centre of a rectangle, at most of this size."""
    width, height = min(roi[2], size[0]), min(roi[3], size[1])
    return roi[0] + (roi[2] - width) // 2, roi[1] + (roi[3] - height) // 2, width, height


def _inside(roi, window):
    """The window of a frame."""
    if len(window) == 2:
        return _middle(roi, window)
    x, y, width, height = window
    width, height = min(width, roi[2] - x), min(height, roi[3] - y)
    if x < 0 or y < 0 or width < 1 or height < 1:
        raise ValueError(f"window {window} is outside a frame of {roi[2]} x {roi[3]}")
    return roi[0] + x, roi[1] + y, width, height
