# SPDX-License-Identifier: MIT
"""Models come and go on an emulated board: each result exact, heap and NPU counters level.

The board draws its work from the seed and the part's number; an inference of any kind counts.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time

from ethosu_tools import coherence
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from .faults import NPUS
from .level import Level
from .models import rom_image

# Inferences between two looks at the heap.
PART = 1000
SILENCE_S = 120.0


class Wear(AssertionError):  # noqa: N818  # it says what wears out
    """Something is wrong, or less than at the start."""


class Soak:
    """One emulated board at work."""

    def __init__(self, npu: str, mode: str | None) -> None:
        image = rom_image((npu, NPUS[npu]), "soak_on_board.py")
        self.board = QemuBoard(Machine(npu, npu1=NPUS[npu], romfs=image, coherence=mode))
        self.board.exec("exec(open('/rom/program.py').read())\nwork(100, 0)", timeout=SILENCE_S)
        free, self.counts = self.board.eval("level()")
        self.level = Level(free)
        self.inferences = self.loads = 0

    def part(self, seed: int, number: int, count: int = PART) -> None:
        """So many inferences; raises Wear."""
        drawn = (seed << 20 | number) & 0x3FFFFFFF
        done, loads, wrong = self.board.eval(f"work({count}, {drawn})", timeout=SILENCE_S)
        free, counts = self.board.eval("level()")
        self.inferences += done
        self.loads += loads
        if wrong:
            raise Wear(f"part {number}: {wrong} of {done} results are wrong")
        if counts != self.counts:
            raise Wear(f"part {number}: time-outs and resets are {counts}, were {self.counts}")
        if self.level.falls(free):
            raise Wear(f"part {number}: {free} bytes are free, {self.level.first} were")


def main() -> int:
    """Run from the command line; exit status 1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.soak", description=__doc__)
    parser.add_argument("--npu", choices=NPUS, default="ethos-u55-128")
    parser.add_argument("--seed", type=int, default=int(time.strftime("%y%j")))
    parser.add_argument("--start", type=int, default=0, metavar="PART", help="where to go on")
    parser.add_argument("--inferences", type=int, default=1_000_000)
    coherence.add_option(parser)
    arguments = parser.parse_args()
    soak = Soak(arguments.npu, arguments.coherence)
    with contextlib.closing(soak.board):
        print(f"{arguments.npu}, second NPU {NPUS[arguments.npu]}: seed {arguments.seed}")
        begin, number = time.monotonic(), arguments.start
        while soak.inferences < arguments.inferences:
            try:
                soak.part(arguments.seed, number)
            except Wear as error:
                print(f"{error}\n    again: --seed {arguments.seed} --start {number}")
                return 1
            number += 1
            rate = soak.inferences / (time.monotonic() - begin)
            missing = soak.level.first - soak.level.lowest
            print(
                f"part {number}: {soak.inferences} inferences, {soak.loads} loads, "
                f"{rate:.0f} inferences/s, {missing} bytes of the heap missing at the most",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
