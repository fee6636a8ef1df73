# SPDX-License-Identifier: MIT
"""Short forms of the campaigns: each fault on some NPUs, and hundreds of inferences."""

import contextlib
from io import StringIO

import pytest

from ..common import FoundError
from .common import LOOKS, Level, turn_of
from .faults import (
    ALL_NPUS,
    BROKEN,
    FAULTS,
    LATE,
    NVM_NPU,
    USES,
    Faults,
    Running,
    draw,
    drawable,
)
from .soak import Working

SEED = 1


# Only these faults are tried on each NPU: one ends in a time-out, one in an error.
ALWAYS = ("npu.irq-late", "npu.bus-error")


def is_tried(fault, npu):
    """Whether a fault is tried on this NPU here; the long campaign tries it on all."""
    npus = [npu for npu in ALL_NPUS if fault in drawable(npu)]
    return fault.name in ALWAYS or npus[FAULTS.index(fault) % len(npus)] == npu


@pytest.mark.parametrize("npu", ALL_NPUS)
def test_each_fault_is_injected_at_a_random_time(npu):
    running = Running(npu, SEED)
    with contextlib.closing(running.board):
        for number, fault in enumerate(drawable(npu)):
            if is_tried(fault, npu):
                running.round(number)
    assert running.failures == []
    # A deploy without power always ends in a restart.
    wanted = {"right", LATE, BROKEN} | ({"restarted"} if npu == NVM_NPU else set())
    assert wanted <= set(running.ends)


def test_ctrl_c_at_many_moments():
    """Ctrl-C during any use leaves a board that works."""
    running = Running("ethos-u55-128", SEED)
    with contextlib.closing(running.board):
        for number in range(len(USES) * len(drawable(running.npu))):
            drawn = draw(SEED, running.npu, number, running.durations)
            if drawn.faults[0][0].name == "console.interrupt":
                running.round(number)
    assert running.failures == []
    stopped = [count for end, count in running.ends.items() if end.startswith("KeyboardInterrupt")]
    assert sum(stopped) > len(USES) // 2


@pytest.mark.parametrize("npu", ALL_NPUS)
def test_draws_reach_each_fault_of_each_use(npu):
    """The short rounds for an NPU draw each fault with each use, as the long campaign does."""
    durations = dict.fromkeys(USES, 1000)
    numbers = [number for number in range(10_000) if turn_of(number, Faults.chunk, ALL_NPUS) == npu]
    rounds = [draw(SEED, npu, number, durations) for number in numbers]
    found = {(drawn.faults[0][0].name, drawn.use) for drawn in rounds}
    wanted = {(one.name, use) for one in drawable(npu) for use in USES if one.suits(npu, use)}
    assert found == wanted
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_a_wrong_result_is_detected():
    """With a wrong reference, all successful rounds fail and report how to repeat them."""
    running = Running("ethos-u55-128", SEED)
    with contextlib.closing(running.board):
        running.board.exec("cnn.y.append(cnn.y.pop(0))")
        running.round(1)
    assert "WrongError" in running.failures[0]
    assert "--seed 1 --first 0 --runs 2" in running.failures[0]


def test_a_failing_round_ends_the_campaign(monkeypatch):
    """Of a board that needs no start: nothing talks to it."""

    def start(self, *_, **__):
        self.board, self.failures, self.ends = StringIO(), [], {}

    monkeypatch.setattr(Running, "__init__", start)
    monkeypatch.setattr(Running, "round", lambda self, number: self.failures.append(f"{number}"))
    with pytest.raises(FoundError, match=r"^7\n8$"):
        Faults().run(SEED, 7, 2)


@pytest.mark.parametrize("coherence", [pytest.param("off", marks=pytest.mark.slow), "evict:3"])
def test_models_are_loaded_and_dropped(coherence):
    working = Working("ethos-u55-128", coherence)
    with contextlib.closing(working.board):
        for number in range(2):
            working.part(SEED, number, 200)
        assert working.inferences >= 400 and working.loads > 4
        working.board.exec("CASES['cnn'][1].reverse()")
        with pytest.raises(FoundError, match=r"results are wrong"):
            working.part(SEED, 2, 200)


def test_a_shrinking_heap_is_detected():
    level = Level(10_000_000, 1000)
    by_chance = [level.falls(9_000_000) for _ in range(LOOKS - 1)]
    assert not any([*by_chance, level.falls(9_999_000)]), "it was not lost"
    lost = [level.falls(9_998_999) for _ in range(LOOKS)]
    assert lost == [False] * (LOOKS - 1) + [True]
    assert level.missing == 1001
