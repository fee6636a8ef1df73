# SPDX-License-Identifier: MIT
"""Flashes the firmware of a board with a method that its board.toml lists under [flash].

A method (`Way`) turns a `Request` into a list of steps, which run in order or are only printed. If
a step lacks a prerequisite, a `SetupError` explains what to install, and where that is documented.
"""

from ...base.errors import InputError, UsageError
from . import alif, disk, programs, serial_line
from .common import Request, Step, Way

WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        *(disk.WAY, serial_line.WAY, programs.DFU, alif.WAY),
        *(programs.JLINK, programs.PYOCD, programs.OPENOCD),
    )
}

__all__ = ["WAYS", "Request", "Step", "Way", "choose"]


def choose(request: Request, name: str | None) -> Way:
    """Return the requested method, or the default one of the board."""
    board = request.board
    if not board.flash:
        raise InputError(
            f"{board.name} cannot be flashed: its board.toml has no [flash]; "
            f"run its image with: ethosu qemu --board {board.name}"
        )
    name = name or next(iter(board.flash))
    if name not in board.flash or name not in WAYS:
        ways = ", ".join(board.flash)
        raise UsageError(f"{board.name} cannot be flashed by {name!r}, only by {ways}")
    return WAYS[name]
