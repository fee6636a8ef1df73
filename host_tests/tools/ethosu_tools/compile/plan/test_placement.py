# SPDX-License-Identifier: MIT
"""Blocks that are live at the same time never overlap, for any graph."""

import random
from itertools import pairwise

from ethosu_tools.compile.plan.placement import ALIGNMENT, Block, align, lower_bound, place


def random_blocks(dice):
    """Make free blocks, and fixed ones that do not overlap, as Vela leaves them."""
    times = dice.randint(1, 12)
    blocks, top = [], 0
    for _ in range(dice.randint(1, 24)):
        first = dice.randint(0, times)
        offset = None
        size = dice.choice((1, 10, 16, 100, 1000, dice.randint(1, 5000)))
        if dice.random() < 0.3:
            offset, top = top, align(top + size)
        blocks.append(Block(size, first, dice.randint(first, times), offset))
    return blocks


def in_use(blocks, offsets, time):
    """Return bytes in use at a time, by block, computed independently of sorted ranges."""
    return sorted(
        (offset, offset + block.size)
        for block, offset in zip(blocks, offsets, strict=True)
        if block.first <= time <= block.last
    )


def test_random_blocks():
    for seed in range(60):
        blocks = random_blocks(random.Random(seed))
        placement = place(blocks)
        for time in range(14):
            ranges = in_use(blocks, placement.offsets, time)
            assert all(a[1] <= b[0] for a, b in pairwise(ranges)), seed
        assert all(offset % ALIGNMENT == 0 for offset in placement.offsets)
        assert all(b.offset in (None, o) for b, o in zip(blocks, placement.offsets, strict=True))
        ends = (o + b.size for o, b in zip(placement.offsets, blocks, strict=True))
        assert placement.arena == max(ends)
        assert placement.arena >= lower_bound(blocks)


def test_preferred_offsets_are_kept():
    blocks = [
        Block(100, 0, 2, preferred=112),
        Block(100, 1, 3, preferred=0),
        Block(90, 4, 5, preferred=112),
    ]
    placement = place(blocks)
    assert (placement.offsets, placement.strategy) == ((112, 0, 112), "keep")


def test_preferred_offsets_that_conflict_are_dropped():
    blocks = [Block(100, 0, 2, preferred=0), Block(100, 1, 3, preferred=64)]
    assert place(blocks).arena == 212


def test_a_scratch_that_fits_no_gap_makes_others_move():
    # Vela's two tensors leave 32 bytes below and 32 between them: 64 are needed.
    blocks = [Block(32, 0, 1, preferred=32), Block(32, 0, 1, preferred=96), Block(64, 1, 1)]
    assert place(blocks).arena == 128


def test_same_blocks_give_the_same_placement():
    blocks = random_blocks(random.Random(5))
    assert place(blocks) == place(blocks)


def test_nothing_to_place():
    assert place([]).arena == 0
