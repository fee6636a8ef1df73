# SPDX-License-Identifier: MIT
"""Common parts of the campaigns on the board."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

# The first NPU is tested most; the second is of another generation.
NPUS = {
    "ethos-u55-128": "ethos-u65-256",
    "ethos-u65-512": "ethos-u85-128",
    "ethos-u85-256": "ethos-u55-256",
}

# Number of heap samples, of which the best counts. MicroPython's collector is conservative: a
# number that looks like an address keeps an object alive, so one sample may include more models.
LOOKS = 8


class Level:
    """The free memory of a heap."""

    def __init__(self, free: int, missing: int) -> None:
        """Take a first sample; a loss of more than `missing` bytes against the best is too much."""
        self._best, self._allowed = free, missing
        self._last = deque([free], LOOKS)
        self.missing = 0
        """The largest loss, in bytes, that LOOKS successive samples all showed."""

    def falls(self, free: int) -> bool:
        """Take another sample; returns whether too much is missing."""
        self._last.append(free)
        self._best = max(self._best, free)
        if len(self._last) == LOOKS:
            self.missing = max(self.missing, self._best - max(self._last))
        return self.missing > self._allowed


def turn_of(number: int, chunk: int, npus: Sequence[str] = tuple(NPUS)) -> str:
    """Return the current NPU; each gets a chunk of runs in turn."""
    return npus[number // chunk % len(npus)]
