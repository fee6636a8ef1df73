# SPDX-License-Identifier: MIT
"""Loads and drops models on an emulated board: results stay exact, heap and NPU counters stable.

The board draws its work from the seed and the part's number; any kind of inference counts.
"""

from __future__ import annotations

import contextlib
from collections import Counter

from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from ..common import FoundError
from .common import NPUS, Level, turn_of
from .models import rom_image

# Inferences between two heap samples.
PART = 1000
# Number of heap bytes that a chunk may lose, as a few models come and go by chance.
MISSING = 16384
SILENCE_S = 120.0


class Working:
    """One emulated board running the soak."""

    def __init__(self, npu: str, mode: str) -> None:
        image = rom_image((npu, NPUS[npu]), "soak_on_board.py")
        self.board = QemuBoard(
            Machine(emulated(npu=npu, npu1=NPUS[npu], coherence=mode), romfs=image)
        )
        try:
            self.board.exec("exec(open('/rom/program.py').read())\nwork(100, 0)", timeout=SILENCE_S)
            free, self.counts = self.board.eval("level()")
        except BaseException:
            self.board.close()
            raise
        self.level = Level(free, MISSING)
        self.inferences = self.loads = 0

    def part(self, seed: int, number: int, count: int = PART) -> None:
        """Run this many inferences; raises FoundError."""
        drawn = (seed << 20 | number) & 0x3FFFFFFF
        done, loads, wrong = self.board.eval(f"work({count}, {drawn})", timeout=SILENCE_S)
        free, counts = self.board.eval("level()")
        self.inferences += done
        self.loads += loads
        if wrong:
            raise FoundError(f"part {number}: {wrong} of {done} results are wrong")
        if counts != self.counts:
            raise FoundError(
                f"part {number}: time-outs and resets are {counts}, were {self.counts}"
            )
        if self.level.falls(free):
            raise FoundError(f"part {number}: {self.level.missing} bytes of the heap are missing")


class Soak:
    """Inferences by number, for a seed; every other chunk with a worst-case cache."""

    chunk = 50_000

    def run(self, seed: int, first: int, count: int) -> dict[str, int]:
        """Run at least this many inferences; raises FoundError."""
        counts: Counter[str] = Counter()
        for begin in range(first, first + count, self.chunk):
            index = begin // self.chunk
            mode = f"evict:{seed + index & 0xFFFFFFFF}" if index % 2 else "off"
            working = Working(turn_of(begin, self.chunk), mode)
            with contextlib.closing(working.board):
                for number in range(begin, min(begin + self.chunk, first + count), PART):
                    working.part(seed, number // PART)
            counts.update(inferences=working.inferences, loads=working.loads)
            counts["most_missing_bytes"] = max(counts["most_missing_bytes"], working.level.missing)
        return dict(counts)
