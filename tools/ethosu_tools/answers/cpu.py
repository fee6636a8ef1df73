# SPDX-License-Identifier: MIT
"""Instructions of the CPU in an inference, counted on an emulated board."""

from .. import boards
from ..boards.setup import emulated
from ..boards.systems import System
from ..link.remote import EmulatedRunner
from ..model import ModelFile

INFERENCES = 10
MAX_PER_CYCLE = 2


def instructions(compiled: ModelFile) -> int:
    """Count the instructions of an inference: driver, runtime, CPU operators, and Python's call.

    This runs the firmware of the board that accepts any NPU, which must have been built.
    """
    with EmulatedRunner(
        compiled, emulated(boards.DEFAULT, file=compiled), repeatable=True
    ) as runner:
        begin, end = runner.count_instructions(INFERENCES)
    return end - begin


def milliseconds(count: int, system: System) -> tuple[float, float]:
    """Return the time at one cycle per instruction, and the minimum, at two per cycle (dual issue).

    There is no upper bound, because memory stalls are unknown.
    """
    time = count / (system.cpu_mhz * 1e3)
    return time, time / MAX_PER_CYCLE
