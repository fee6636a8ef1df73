# SPDX-License-Identifier: MIT
"""Flashes the firmware of a board with a method that its board.toml lists under [flash].

A method (`Way`) turns a `Job` into a list of steps, which run in order or are only printed. If a
step lacks a prerequisite, a `SetupError` says what to install, and where that is documented.
"""

from ..errors import InputError, UsageError
from . import alif, disk, programs, serial_line
from .common import Job, Step, Way

WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        *(disk.WAY, serial_line.WAY, programs.DFU, alif.WAY, programs.JLINK, programs.PYOCD),
    )
}

__all__ = ["WAYS", "Job", "Step", "Way", "choose"]


def choose(job: Job, asked: str | None) -> Way:
    """Return the requested method, or the default one of the board."""
    if not job.board.flash:
        raise InputError(
            f"{job.board.name} cannot be flashed: its board.toml has no [flash]; "
            f"run its image with: ethosu qemu --board {job.board.name}"
        )
    name = asked or next(iter(job.board.flash))
    if name not in job.board.flash or name not in WAYS:
        raise UsageError(
            f"{job.board.name} cannot be flashed by {name!r}, only by {', '.join(job.board.flash)}"
        )
    return WAYS[name]
