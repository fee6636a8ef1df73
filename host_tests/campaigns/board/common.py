# SPDX-License-Identifier: MIT
"""What the campaigns on the board share."""

from __future__ import annotations

from collections.abc import Sequence

# The first NPU is the one that is tried most, the second one is of another generation.
NPUS = {
    "ethos-u55-128": "ethos-u65-256",
    "ethos-u65-512": "ethos-u85-128",
    "ethos-u85-256": "ethos-u55-256",
}

# Bytes of the heap that may be missing. For some looks it may be more: a number on the stack that
# looks like an address keeps what was there alive, MicroPython's collector is conservative.
MISSING = 4096
LOOKS = 4


class FoundError(Exception):
    """Something was not as promised; the text says what, and how to repeat it."""


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


def turn_of(number: int, chunk: int, npus: Sequence[str] = tuple(NPUS)) -> str:
    """The NPU whose turn it is: each has a chunk of runs."""
    return npus[number // chunk % len(npus)]
