# SPDX-License-Identifier: MIT
"""Places blocks of memory with life times into one arena.

Blocks that live at the same time must not overlap. Some are fixed; two fixed ones may overlap,
since whoever fixed them knows why. Every strategy is greedy: the blocks in some order, each at the
lowest place that is free for its whole life. Which order is best differs from graph to graph, so
several are tried, then the best one is varied for a while, from a fixed seed: the same graph always
gets the same plan.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ALIGNMENT = 16
# Steps of the search after the strategies, each as long as the square of the number of blocks.
SEARCH_BUDGET = 400_000
SEARCH_STEPS = 300


@dataclass(frozen=True)
class Block:
    """Memory that is in use from time `first` to time `last`, both included.

    `offset` fixes it; `home` is where it may stay whatever else is there (None: nowhere).
    """

    size: int
    first: int
    last: int
    offset: int | None = None
    home: int | None = None

    def meets(self, other: Block) -> bool:
        """Do both live at some time?"""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placement:
    """Where each block lies, and how many bytes all take together."""

    offsets: tuple[int, ...]
    arena: int
    strategy: str


def align(size: int) -> int:
    """Round up."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place(blocks: Sequence[Block]) -> Placement:
    """The best placement found; at equal size the one that moves the least."""
    floor = lower_bound(blocks)
    best: Placement | None = None
    best_order: list[int] = []
    for strategy, order in _orders(blocks):
        stay = strategy == "stay"
        found = _greedy(blocks, order, strategy, stay)
        if found is not None and (best is None or found.arena < best.arena):
            best, best_order = found, order
        if best is not None and best.arena <= floor:
            return best
    assert best is not None  # without homes a greedy placement always ends
    return _search(blocks, best, best_order, floor)


def lower_bound(blocks: Sequence[Block]) -> int:
    """No placement is smaller than this."""
    fixed = max((b.offset + b.size for b in blocks if b.offset is not None), default=0)
    free = [block for block in blocks if block.offset is None]
    times = {block.first for block in free}
    crowds = (sum(b.size for b in free if b.first <= time <= b.last) for time in times)
    return max(fixed, max(crowds, default=0))


def conflicts(blocks: Sequence[Block], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of blocks, not both fixed, that overlap while both live."""
    return [
        (i, j)
        for i, a in enumerate(blocks)
        for j, b in enumerate(blocks[:i])
        if (a.offset is None or b.offset is None)
        and a.meets(b)
        and offsets[i] < offsets[j] + b.size
        and offsets[j] < offsets[i] + a.size
    ]


def _orders(blocks: Sequence[Block]) -> Iterator[tuple[str, list[int]]]:
    """Orders in which to place the free blocks, by name of the strategy."""
    free = [index for index, block in enumerate(blocks) if block.offset is None]

    def by(key: object) -> list[int]:
        return sorted(free, key=key)  # type: ignore[call-overload,no-any-return]

    def crowd(index: int) -> int:
        return sum(other.size for other in blocks if blocks[index].meets(other))

    yield "stay", by(lambda i: (blocks[i].home is None, -blocks[i].size))
    yield "size", by(lambda i: (-blocks[i].size, blocks[i].first))
    yield "area", by(lambda i: -blocks[i].size * (blocks[i].last - blocks[i].first + 1))
    yield "life", by(lambda i: (blocks[i].first - blocks[i].last, -blocks[i].size))
    yield "time", by(lambda i: (blocks[i].first, -blocks[i].size))
    yield "crowd", by(lambda i: (-crowd(i), -blocks[i].size))


def _greedy(
    blocks: Sequence[Block], order: Sequence[int], strategy: str, stay: bool
) -> Placement | None:
    """Place in this order; None when two blocks that should stay at home can't."""
    offsets: list[int | None] = [block.offset for block in blocks]
    placed = [index for index, offset in enumerate(offsets) if offset is not None]
    for index in order:
        block = blocks[index]
        taken = sorted(
            (int(offsets[other] or 0), int(offsets[other] or 0) + blocks[other].size)
            for other in placed
            if blocks[other].meets(block)
        )
        offsets[index] = block.home if stay and block.home is not None else _gap(block.size, taken)
        placed.append(index)
    result = tuple(int(offset or 0) for offset in offsets)
    if stay and conflicts(blocks, result):
        return None
    arena = max((offset + b.size for offset, b in zip(result, blocks, strict=True)), default=0)
    return Placement(result, arena, strategy)


def _gap(size: int, taken: Sequence[tuple[int, int]]) -> int:
    """The lowest aligned place of `size` bytes between what is taken, sorted by start."""
    at = 0
    for start, end in taken:
        if at + size <= start:
            break
        at = max(at, align(end))
    return at


def _search(
    blocks: Sequence[Block], best: Placement, order: Sequence[int], floor: int
) -> Placement:
    """Vary an order: move a block that reaches the top of the arena, or any, to the front."""
    steps = min(SEARCH_STEPS, SEARCH_BUDGET // max(1, len(blocks) ** 2))
    if len(order) < 2:
        return best
    dice = random.Random(len(blocks))
    current = list(order)
    for _ in range(steps):
        trial = list(current)
        top = [i for i in trial if best.offsets[i] + blocks[i].size == best.arena]
        chosen = dice.choice(top if top and dice.random() < 0.5 else trial)
        trial.remove(chosen)
        trial.insert(dice.randrange(len(trial) + 1), chosen)
        found = _greedy(blocks, trial, "search", stay=False)
        if found is not None and found.arena <= best.arena:
            current = trial
            best = found if found.arena < best.arena else best
        if best.arena <= floor:
            break
    return best
