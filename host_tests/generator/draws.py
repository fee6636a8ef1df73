# SPDX-License-Identifier: MIT
"""Random choices that can be recorded, replayed and shrunk.

Everything random about a case comes from one sequence of small numbers, where 0 always means the
simplest choice. A case is reduced by making its sequence shorter and its numbers smaller, without
any support by the operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draws:
    """A source of choices: random from a seed, or the replay of a recorded sequence."""

    def __init__(self, seed: int | None = None, replay: Sequence[int] | None = None) -> None:
        self.record: list[int] = []
        self._replay = None if replay is None else list(replay)
        self._random = np.random.default_rng(seed)

    def integer(self, low: int, high: int, wish: int | None = None) -> int:
        """Draw a number in low..high; `low` is the simplest. A first run takes the `wish`."""
        span = high - low
        if self._replay is None:
            random = int(self._random.integers(0, span + 1))
            number = random if wish is None else wish - low
        elif len(self.record) < len(self._replay):
            number = min(self._replay[len(self.record)], span)
        else:
            number = 0
        self.record.append(number)
        return low + number

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of `options`; the first is the simplest."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """Draw True with this probability in percent; False is the simplest."""
        return self.integer(0, 99) >= 100 - percent

    def size(self, high: int, low: int = 1) -> int:
        """Draw a length in low..high; small ones and multiples of 8 are more frequent."""
        kind = self.integer(0, 3)
        if kind < 2:
            return self.integer(low, max(low, high // 4))
        if kind == 2:
            return self.integer(low, high)
        return max(low, min(high, 8 * self.integer(1, max(1, high // 8))))

    def rng(self) -> np.random.Generator:
        """Return a generator for bulk data, whose values need not be reduced singly."""
        return np.random.default_rng(self.integer(0, 9999))
