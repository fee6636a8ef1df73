# SPDX-License-Identifier: MIT
"""What the campaigns on the board share."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

# The first NPU is the one that is tried most, the second one is of another generation.
NPUS = {
    "ethos-u55-128": "ethos-u65-256",
    "ethos-u65-512": "ethos-u85-128",
    "ethos-u85-256": "ethos-u55-256",
}

# Looks at the heap of which the best counts. MicroPython's collector is conservative: a number that
# looks like an address keeps alive what is there, and one look may find some models more.
LOOKS = 8


class Level:
    """The free memory of a heap."""

    def __init__(self, free: int, missing: int) -> None:
        """Begin with a first look; `missing` bytes fewer than at the best time are too many."""
        self._best, self._allowed = free, missing
        self._last = deque([free], LOOKS)
        self.missing = 0
        """Bytes that were missing at the worst time, in the best of as many looks."""

    def falls(self, free: int) -> bool:
        """Take another look: is too much missing?"""
        self._last.append(free)
        self._best = max(self._best, free)
        if len(self._last) == LOOKS:
            self.missing = max(self.missing, self._best - max(self._last))
        return self.missing > self._allowed


def turn_of(number: int, chunk: int, npus: Sequence[str] = tuple(NPUS)) -> str:
    """The NPU whose turn it is: each has a chunk of runs."""
    return npus[number // chunk % len(npus)]
