# SPDX-License-Identifier: MIT
"""Common parts of the campaigns."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from host_tests.kit import sharing

C = Path(__file__).parent / "c"
# From the simulator's fuzz targets: the mutator of command streams.
FUZZ = sharing.REPO / "tools/npu_sim/fuzz"
BUILD = sharing.BUILD / "campaigns"

Counts = dict[str, int]


def added(sums: Counts, counts: Counts) -> Counts:
    """Add up counts; names with `most_` keep the larger."""
    sums = dict(sums)
    for name, count in counts.items():
        before = sums.get(name, 0)
        sums[name] = max(before, count) if name.startswith("most_") else before + count
    return sums


class FoundError(Exception):
    """A finding; the text describes it and how to repeat it."""


def repeat(campaign: str, seed: int, first: int, count: int = 1) -> str:
    """Return the command that repeats runs of a campaign that numbers its inputs."""
    return (
        f"repeat: .venv/bin/python -m host_tests.campaigns {campaign} "
        f"--seed {seed} --first {first} --runs {count}"
    )


class Unavailable32Error(Exception):
    """This machine cannot build for 32 bits."""


def bits32() -> None:
    """Raise Unavailable32Error unless compilers can build for 32 bits here."""
    if platform.machine() != "x86_64":
        raise Unavailable32Error(f"the 32-bit builds need x86_64, this is {platform.machine()}")


class Campaign(Protocol):
    """Inputs that a seed and their numbers reproduce."""

    chunk: int
    """Number of runs between two notes of progress."""

    def run(self, seed: int, first: int, count: int) -> Counts:
        """Try `count` inputs; FoundError for a finding."""


class Row(NamedTuple):
    """How a campaign is made, the runs of a night, and what `make` builds first."""

    make: Callable[[], Campaign]
    runs: int
    needs: str = "sim"
