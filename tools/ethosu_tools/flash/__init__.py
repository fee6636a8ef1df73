# SPDX-License-Identifier: MIT
"""Flashes the firmware of a board, in one of the ways that its board.toml names under [flash].

A way makes a list of steps from a `Job`; the steps then run in order, or are only printed. What a
step needs and does not find is one `SetupError` that says what to get, and where it is explained.
"""

from ..errors import InputError, UsageError
from . import alif, disk, programs, serial_line
from .job import Job, Step, Way

WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        *(disk.WAY, serial_line.WAY, programs.DFU, alif.WAY, programs.JLINK, programs.PYOCD),
    )
}

__all__ = ["WAYS", "Job", "Step", "Way", "choose"]


def choose(job: Job, asked: str | None) -> Way:
    """Return the requested way, or the usual one of the board."""
    if not job.board.flash:
        raise InputError(
            f"{job.board.name} is not flashed by this tool: its board.toml has no [flash]; "
            f"run its image with: ethosu qemu --board {job.board.name}"
        )
    name = asked or next(iter(job.board.flash))
    if name not in job.board.flash or name not in WAYS:
        raise UsageError(
            f"{job.board.name} is not flashed by {name!r}, but by {', '.join(job.board.flash)}"
        )
    return WAYS[name]
