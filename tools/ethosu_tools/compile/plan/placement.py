# SPDX-License-Identifier: MIT
"""Assigns offsets in one arena to blocks of memory with limited lifetimes.

Blocks that are live at the same time must not overlap. Some blocks have fixed offsets; two
fixed blocks may overlap. Every strategy is greedy: it takes the blocks in some order and gives each
the lowest offset that is free during its lifetime. The best order depends on the graph, so several
are tried. The best one is then varied at random, with a fixed seed so that the same graph always
gets the same plan.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

ALIGNMENT = 16
# Search steps after the strategies; the number decreases with the number of blocks.
SEARCH_BUDGET = 400_000
SEARCH_STEPS = 300


@dataclass(frozen=True)
class Block:
    """Memory that is live from time `first` to time `last`, inclusive.

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
    """Return the best placement found; at equal size, the one that keeps preferred offsets."""
    bound = lower_bound(blocks)
    best: Placement | None = None
    best_order: list[int] = []
    lives = _Lives(blocks)
    for strategy, order in _orders(blocks, lives):
        candidate = _greedy(lives, order, strategy)
        if candidate is not None and (best is None or candidate.arena < best.arena):
            best, best_order = candidate, order
        if best is not None and best.arena <= bound:
            return best
    assert best is not None  # only the strategy "keep" can fail
    return _search(lives, best, best_order, bound)


def lower_bound(blocks: Sequence[Block]) -> int:
    """Return a lower bound for the size of any placement."""
    fixed = max((b.offset + b.size for b in blocks if b.offset is not None), default=0)
    free = [block for block in blocks if block.offset is None]
    # At the same time, blocks that end come after those that begin.
    changes = sorted(
        chain.from_iterable(((b.first, 0, b.size), (b.last, 1, -b.size)) for b in free)
    )
    return max(fixed, *accumulate((change for _, _, change in changes), initial=0))


def coexisting(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Return all pairs of blocks that are live at the same time."""
    live: list[int] = []
    for index in sorted(range(len(blocks)), key=lambda i: blocks[i].first):
        live = [other for other in live if blocks[other].last >= blocks[index].first]
        for other in live:
            yield index, other
        live.append(index)


def find_conflicts(blocks: Sequence[Block], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Find pairs of blocks, not both fixed, that share bytes while both are live.

    The list is complete unless two blocks without a fixed offset conflict.
    """
    found: list[tuple[int, int]] = []
    spans = [(at, at + b.size, i) for i, (at, b) in enumerate(zip(offsets, blocks, strict=True))]
    free: list[tuple[int, int, int]] = []  # sorted; disjoint unless there is a conflict
    fixed: dict[int, tuple[int, int, int]] = {}
    ends: list[tuple[int, int]] = []
    for index in sorted(range(len(blocks)), key=lambda i: blocks[i].first):
        while ends and ends[0][0] < blocks[index].first:
            _, old = heapq.heappop(ends)
            if fixed.pop(old, None) is None:
                del free[bisect_left(free, spans[old])]
        heapq.heappush(ends, (blocks[index].last, index))
        start, end, _ = span = spans[index]
        at = bisect_left(free, span)
        near = free[max(0, at - 1) : at]
        while at < len(free) and free[at][0] < end:
            near.append(free[at])
            at += 1
        if blocks[index].offset is None:
            near += fixed.values()
            insort(free, span)
        else:
            fixed[index] = span
        found += [(index, other) for low, high, other in near if low < end and start < high]
    return found


class _Lives:
    """The lifetimes of blocks; blocks with equal lifetimes form a group."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        groups: dict[tuple[int, int], int] = {}
        self.group = [groups.setdefault((b.first, b.last), len(groups)) for b in blocks]
        self.near = [[group] for group in range(len(groups))]
        """For each group, the groups that are live at the same time, including itself."""
        for a, b in coexisting([Block(0, *times) for times in groups]):
            self.near[a].append(b)
            self.near[b].append(a)

    def pressures(self) -> list[int]:
        """Return, for each block, the bytes of all blocks that are live during its lifetime."""
        sizes: dict[int, int] = defaultdict(int)
        for group, block in zip(self.group, self.blocks, strict=True):
            sizes[group] += block.size
        sums = [sum(sizes[other] for other in near) for near in self.near]
        return [sums[group] for group in self.group]


class _Taken:
    """The bytes that are occupied so far, by group."""

    def __init__(self, lives: _Lives) -> None:
        self._lives = lives
        self._spans: list[list[tuple[int, int]]] = [[] for _ in lives.near]

    def add(self, index: int, offset: int) -> None:
        """Put a block at an offset."""
        spans = self._spans[self._lives.group[index]]
        start, end = offset, align(offset + self._lives.blocks[index].size)
        first = last = bisect_left(spans, (start, end))
        if first and spans[first - 1][1] >= start:
            first -= 1
            start, end = spans[first][0], max(end, spans[first][1])
        while last < len(spans) and spans[last][0] <= end:
            end = max(end, spans[last][1])
            last += 1
        spans[first:last] = [(start, end)]

    def gap(self, index: int) -> int:
        """Return the lowest aligned offset at which a block conflicts with no placed one."""
        near, size = self._lives.near[self._lives.group[index]], self._lives.blocks[index].size
        at = 0
        for start, end in sorted(chain.from_iterable(self._spans[group] for group in near)):
            if at + size <= start:
                break
            at = max(at, end)
        return at


def _orders(blocks: Sequence[Block], lives: _Lives) -> Iterator[tuple[str, list[int]]]:
    """Return the orders in which to place the free blocks, by name of the strategy."""
    free = [index for index, block in enumerate(blocks) if block.offset is None]

    def by(key: object) -> list[int]:
        return sorted(free, key=key)  # type: ignore[call-overload,no-any-return]

    yield "keep", by(lambda i: (blocks[i].preferred is None, -blocks[i].size))
    yield "size", by(lambda i: (-blocks[i].size, blocks[i].first))
    yield "area", by(lambda i: -blocks[i].size * (blocks[i].last - blocks[i].first + 1))
    yield "duration", by(lambda i: (blocks[i].first - blocks[i].last, -blocks[i].size))
    yield "time", by(lambda i: (blocks[i].first, -blocks[i].size))
    pressures = lives.pressures()
    yield "pressure", by(lambda i: (-pressures[i], -blocks[i].size))


def _greedy(lives: _Lives, order: Sequence[int], strategy: str) -> Placement | None:
    """Place in this order; None when "keep" cannot keep all preferred offsets."""
    blocks, taken = lives.blocks, _Taken(lives)
    offsets = {i: block.offset for i, block in enumerate(blocks) if block.offset is not None}
    for index, offset in offsets.items():
        taken.add(index, offset)
    keep = strategy == "keep"
    for index in order:
        preferred = blocks[index].preferred
        chosen = preferred if keep and preferred is not None else taken.gap(index)
        offsets[index] = chosen
        taken.add(index, chosen)
    result = tuple(offsets[index] for index in range(len(blocks)))
    if keep and find_conflicts(blocks, result):
        return None
    arena = max((offset + b.size for offset, b in zip(result, blocks, strict=True)), default=0)
    return Placement(result, arena, strategy)


def _search(lives: _Lives, best: Placement, order: Sequence[int], bound: int) -> Placement:
    """Vary an order: move a block that reaches the top of the arena, or any, to the front."""
    blocks = lives.blocks
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
        candidate = _greedy(lives, trial, "search")
        if candidate is not None and candidate.arena <= best.arena:
            current = trial
            best = candidate if candidate.arena < best.arena else best
        if best.arena <= bound:
            break
    return best
