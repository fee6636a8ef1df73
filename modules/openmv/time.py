# SPDX-License-Identifier: MIT
"""MicroPython's module `time`, with OpenMV's class `clock`."""

from utime import *  # noqa: F403
from utime import ticks_diff, ticks_ms


class clock:  # noqa: N801  (OpenMV's name)
    """Counts frames, and the time between tick() and fps() or avg()."""

    def __init__(self):
        """Start without frames."""
        self.reset()

    def reset(self):
        """Restart the count."""
        self.begun = ticks_ms()
        self.spent = 0
        self.frames = 0

    def tick(self):
        """Start a frame."""
        self.begun = ticks_ms()

    def avg(self):
        """End a frame; returns the mean time of all frames in milliseconds."""
        self.frames += 1
        self.spent += ticks_diff(ticks_ms(), self.begun)
        return self.spent / self.frames

    def fps(self):
        """End a frame; returns frames per second, or 0.0 if they took less than a millisecond."""
        mean = self.avg()
        return 1000.0 / mean if mean else 0.0
