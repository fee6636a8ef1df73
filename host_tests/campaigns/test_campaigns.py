# SPDX-License-Identifier: MIT
"""Short forms of the campaigns: each fault once on each NPU, and a thousand inferences."""

import contextlib

import pytest

from .faults import FAULTS, NPUS, USES, Campaign, draw, drawable
from .level import LOOKS, MISSING, Level
from .soak import Soak, Wear

SEED = 1


@pytest.mark.parametrize("npu", NPUS)
def test_each_fault_at_some_moment(npu):
    running = Campaign(npu, SEED)
    with contextlib.closing(running.board):
        for number in range(len(drawable(npu))):
            running.round(number)
    assert running.failures == []
    assert {"right", "restarted", "OSError 5", "OSError 110"} <= set(running.ends)


@pytest.mark.parametrize("npu", NPUS)
def test_draws_reach_each_fault_of_each_use(npu):
    """And are the same each time: no matter where a campaign begins."""
    durations = dict.fromkeys(USES, 1000)
    rounds = [draw(SEED, npu, number, durations) for number in range(1000)]
    found = {(drawn.faults[0][0].name, drawn.use) for drawn in rounds}
    wanted = {(one.name, use) for one in drawable(npu) for use in USES if one.suits(npu, use)}
    assert found == wanted
    assert draw(SEED, npu, 777, durations) == rounds[777]
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_a_wrong_result_is_seen():
    """The reference of another input: the rounds that end right fail, and say how to repeat it."""
    running = Campaign("ethos-u55-128", SEED)
    with contextlib.closing(running.board):
        running.board.exec("cnn.y.append(cnn.y.pop(0))")
        running.round(1)
    assert "WrongError" in running.failures[0]
    assert "--npu ethos-u55-128 --seed 1 --start 0 --rounds 2" in running.failures[0]


@pytest.mark.parametrize("coherence", ["off", "evict:3"])
def test_models_come_and_go(coherence):
    soak = Soak("ethos-u55-128", coherence)
    with contextlib.closing(soak.board):
        for number in range(2):
            soak.part(SEED, number, 500)
        assert soak.inferences >= 1000 and soak.loads > 10
        soak.board.exec("CASES['cnn'][1].reverse()")
        with pytest.raises(Wear, match=r"results are wrong"):
            soak.part(SEED, 2, 500)


def test_a_heap_that_shrinks_is_seen():
    level = Level(10_000_000)
    assert not any(level.falls(9_000_000) for _ in range(LOOKS - 1))
    assert not level.falls(10_000_000 - MISSING), "it was not lost"
    assert [level.falls(9_000_000) for _ in range(LOOKS)] == [False] * (LOOKS - 1) + [True]
