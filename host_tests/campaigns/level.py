# SPDX-License-Identifier: MIT
"""Is the heap's free memory level?"""

# Bytes that may be missing. For some looks it may be more: a number on the stack that looks like an
# address keeps what was there alive, MicroPython's collector is conservative.
MISSING = 4096
LOOKS = 4


class Level:
    """The free memory of a heap, compared with the first look."""

    def __init__(self, free: int) -> None:
        self.first = self.lowest = free
        self._low = 0

    def falls(self, free: int) -> bool:
        """Has too much been missing so many times in a row?"""
        self.lowest = min(self.lowest, free)
        self._low = self._low + 1 if self.first - free > MISSING else 0
        return self._low >= LOOKS
