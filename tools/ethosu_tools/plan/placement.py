# SPDX-License-Identifier: MIT
"""Assigns offsets in one arena to blocks of memory with limited lifetimes.

Blocks that are live at the same time must not overlap. Some blocks have fixed offsets; two
fixed blocks may overlap. Every strategy is greedy: it takes the blocks in some order and gives each
the lowest offset that is free during its lifetime. The best order depends on the graph, so several
are tried. The best one is then varied at random, with a fixed seed so that the same graph always
gets the same plan.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

ALIGNMENT = 16
# Search steps after the strategies; each takes time quadratic in the number of blocks.
SEARCH_BUDGET = 400_000
SEARCH_STEPS = 300


@dataclass(frozen=True)
class Block:
    """Memory that is live from time `first` to time `last`, both inclusive.

    offset: fixed unless None; preferred: its previous offset, if it may keep it.
    """

    size: int
    first: int
    last: int
    offset: int | None = None
    preferred: int | None = None

    def coexists(self, other: Block) -> bool:
        """Whether both are live at the same time."""
        return self.first <= other.last and other.first <= self.last

    def conflicts(self, other: Block) -> bool:
        """Whether both have offsets and share bytes while both are live."""
        if self.offset is None or other.offset is None or not self.coexists(other):
            return False
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


@dataclass(frozen=True)
class Placement:
    """The offset of each block, and the size of the arena in bytes."""

    offsets: tuple[int, ...]
    arena: int
    strategy: str


def align(size: int) -> int:
    """Round up."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def place(blocks: Sequence[Block]) -> Placement:
    """The best placement found; at equal size, the one that keeps preferred offsets."""
    bound = lower_bound(blocks)
    best: Placement | None = None
    best_order: list[int] = []
    for strategy, order in _orders(blocks):
        candidate = _greedy(blocks, order, strategy)
        if candidate is not None and (best is None or candidate.arena < best.arena):
            best, best_order = candidate, order
        if best is not None and best.arena <= bound:
            return best
    assert best is not None  # only the strategy "keep" can fail
    return _search(blocks, best, best_order, bound)


def lower_bound(blocks: Sequence[Block]) -> int:
    """A lower bound for the size of any placement."""
    fixed = max((b.offset + b.size for b in blocks if b.offset is not None), default=0)
    free = [block for block in blocks if block.offset is None]
    times = {block.first for block in free}
    sums = (sum(b.size for b in free if b.first <= time <= b.last) for time in times)
    return max(fixed, max(sums, default=0))


def find_conflicts(blocks: Sequence[Block], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of blocks, not both fixed, that share bytes while both are live."""
    placed = [replace(block, offset=offset) for block, offset in zip(blocks, offsets, strict=True)]
    return [
        (i, j)
        for i, a in enumerate(placed)
        for j, b in enumerate(placed[:i])
        if (blocks[i].offset is None or blocks[j].offset is None) and a.conflicts(b)
    ]


def _orders(blocks: Sequence[Block]) -> Iterator[tuple[str, list[int]]]:
    """Orders in which to place the free blocks, by name of the strategy."""
    free = [index for index, block in enumerate(blocks) if block.offset is None]

    def by(key: object) -> list[int]:
        return sorted(free, key=key)  # type: ignore[call-overload,no-any-return]

    def pressure(index: int) -> int:
        return sum(other.size for other in blocks if blocks[index].coexists(other))

    yield "keep", by(lambda i: (blocks[i].preferred is None, -blocks[i].size))
    yield "size", by(lambda i: (-blocks[i].size, blocks[i].first))
    yield "area", by(lambda i: -blocks[i].size * (blocks[i].last - blocks[i].first + 1))
    yield "duration", by(lambda i: (blocks[i].first - blocks[i].last, -blocks[i].size))
    yield "time", by(lambda i: (blocks[i].first, -blocks[i].size))
    yield "pressure", by(lambda i: (-pressure(i), -blocks[i].size))


def _greedy(blocks: Sequence[Block], order: Sequence[int], strategy: str) -> Placement | None:
    """Place in this order; None when "keep" cannot keep all preferred offsets."""
    offsets = {i: block.offset for i, block in enumerate(blocks) if block.offset is not None}
    keep = strategy == "keep"
    for index in order:
        preferred = blocks[index].preferred
        if keep and preferred is not None:
            offsets[index] = preferred
        else:
            offsets[index] = _gap(blocks, offsets, blocks[index])
    result = tuple(offsets[index] for index in range(len(blocks)))
    if keep and find_conflicts(blocks, result):
        return None
    arena = max((offset + b.size for offset, b in zip(result, blocks, strict=True)), default=0)
    return Placement(result, arena, strategy)


def _gap(blocks: Sequence[Block], offsets: Mapping[int, int], block: Block) -> int:
    """The lowest aligned offset at which the block conflicts with none that has an offset."""
    taken = sorted(
        (offset, offset + blocks[other].size)
        for other, offset in offsets.items()
        if blocks[other].coexists(block)
    )
    at = 0
    for start, end in taken:
        if at + block.size <= start:
            break
        at = max(at, align(end))
    return at


def _search(
    blocks: Sequence[Block], best: Placement, order: Sequence[int], bound: int
) -> Placement:
    """Vary an order: move a block that reaches the top of the arena, or any, to the front."""
    steps = min(SEARCH_STEPS, SEARCH_BUDGET // max(1, len(blocks) ** 2))
    if len(order) < 2:
        return best
    rng = random.Random(len(blocks))
    current = list(order)
    for _ in range(steps):
        trial = list(current)
        top = [i for i in trial if best.offsets[i] + blocks[i].size == best.arena]
        chosen = rng.choice(top if top and rng.random() < 0.5 else trial)
        trial.remove(chosen)
        trial.insert(rng.randrange(len(trial) + 1), chosen)
        candidate = _greedy(blocks, trial, "search")
        if candidate is not None and candidate.arena <= best.arena:
            current = trial
            best = candidate if candidate.arena < best.arena else best
        if best.arena <= bound:
            break
    return best
