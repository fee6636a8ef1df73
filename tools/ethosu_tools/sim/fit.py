# SPDX-License-Identifier: MIT
"""Checks whether a compiled model fits a board's NPU, heap (for the arena) and /rom (the file).

need.py measures what a model needs. A board's resources come from its board.toml or from the
connected board. figures.py compares the two, for all commands and for the web page, which gets the
resources from `room_of`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

from .. import boards
from ..base.errors import InputError
from ..base.ui import size
from ..boards import targets
from ..boards.facts import BoardFacts
from ..boards.systems import System
from ..model import ModelFile, Operator
from . import figures
from .need import Need

# MicroPython's heap has 3 bits of bookkeeping for each block of 256 bits (py/gc.c: two for the kind
# of block, one for finalisers).
_HEAP_BITS, _BLOCK_BITS = 259, 256
# Heap for the interpreter and a small program: importing `ethosu` alone takes 4,416 bytes.
_PROGRAM = 8 * 1024


@dataclass(frozen=True)
class Room:
    """Resources of a board for one model, in bytes; rom: None if it has no writable /rom.

    fast: memory that only holds the fast scratch of an NPU, by NPU. reserve: part of the heap that
    the user's program needs.
    """

    board: str
    npus: tuple[str, ...]
    heap: int
    rom: int | None
    fast: Mapping[str, int] = field(default_factory=dict)
    reserve: int = 0

    @property
    def left(self) -> int:
        """Heap for the model; negative if more than the whole heap is reserved."""
        return self.heap - self.reserve


class Status(StrEnum):
    """Whether a file runs on a board's NPU."""

    RUNS = figures.RUNS
    OTHER_NPU = figures.OTHER_NPU
    TOO_LARGE = figures.TOO_LARGE
    CANNOT_LOAD = "cannot be loaded"
    UNKNOWN = "unknown"  # the heap of a chip is unknown


@dataclass(frozen=True)
class Fit:
    """Result of the comparison; `short` has a sentence for each missing resource.

    lacks: missing bytes, by resource: "heap", "rom", "fast". used, shares: the model's part of each
    resource, in bytes and as a fraction; the heap's excludes what is in fast memory.
    """

    need: Need
    room: Room
    status: Status
    short: tuple[str, ...] = ()
    lacks: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    in_heap: bool = False

    def __post_init__(self) -> None:
        """Check what holds for each status."""
        assert self.status in (Status.RUNS, Status.OTHER_NPU, Status.TOO_LARGE)
        assert (self.status is Status.RUNS) == (not self.short)
        other = self.need.npu is not None and self.need.npu not in self.room.npus
        assert (self.status is Status.OTHER_NPU) == other
        assert len(self.short) == len(self.lacks) + other
        assert all(lacking > 0 for lacking in self.lacks.values())

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "board": self.room.board,
            "status": str(self.status),
            "need": self.need.as_dict(),
            "short": list(self.short),
            "lacks": dict(self.lacks),
            "heap": self.room.heap,
            "used": dict(self.used),
            "shares": dict(self.shares),
            "reserve": self.room.reserve,
            "rom": self.room.rom,
            "fast": self.room.fast.get(self.need.npu or "", 0),
            "advice": advice(self),
        }


def add_reserve_option(parser: argparse.ArgumentParser) -> None:
    """Declare --reserve."""
    parser.add_argument(
        "--reserve",
        type=size,
        default=0,
        metavar="SIZE",
        help="heap that your program needs for itself, such as 300K for camera frames: the model "
        "must fit into the rest (default: 0)",
    )


def room_of(board: BoardFacts, reserve: int = 0) -> Room | None:
    """Return the resources according to board.toml; None if that does not define the heap."""
    if board.heap is None:
        return None
    heap = board.heap.size * _BLOCK_BITS // _HEAP_BITS - _PROGRAM
    npus, rom = targets.npus_of(board), board.romfs.size
    return Room(board.name, npus, heap, rom, board.fast_memories, reserve)


def on_board(need: Need, system: System, reserve: int = 0) -> Fit | None:
    """Compare with the board of this system; None if the system is no board, such as a chip."""
    room = room_of(system.board, reserve) if system.board else None
    return check(need, room, in_heap=system.weights_in_heap) if room else None


def check(need: Need, room: Room, *, in_heap: bool = False) -> Fit:
    """Compare needs and resources; each sentence gives the shortage and what would help.

    in_heap: the program reads the file into the heap, and the NPU reads the weights there.
    """
    short = []
    found = figures.compare(need.as_dict(), asdict(room), need.file if in_heap else 0)
    if found["status"] == figures.OTHER_NPU:
        short.append(
            f"it is compiled for {need.npu}, but {room.board} has "
            f"{' and '.join(room.npus) or 'no NPU'}"
            f"{f': compile it with --npu {room.npus[0]}' if room.npus else ''}"
        )
    # More than the whole heap may be reserved.
    reserved = f" less {room.reserve:,} reserved" if room.reserve else ""
    constants = f", {need.constants:,} of them constants" if need.constants else ""
    heap = "its arena and its file need" if in_heap else "its arena needs"
    fast = room.fast.get(need.npu or "", 0)
    for resource, needs, has in (
        ("heap", f"{heap} {{:,}} bytes of heap", f"{room.heap:,}{reserved}"),
        ("fast", "its fast scratch needs {:,} bytes of fast memory", f"{fast:,}"),
        ("rom", f"its file needs {{:,}} bytes of /rom{constants}", f"{room.rom or 0:,}"),
    ):
        if missing := found["lacks"].get(resource):
            used = needs.format(found["used"][resource])
            short.append(f"{used}, but {room.board} has {has} ({missing:,} too few)")
    status, lacks = Status(found["status"]), found["lacks"]
    return Fit(need, room, status, tuple(short), lacks, found["used"], found["shares"], in_heap)


def advice(fit: Fit, source: ModelFile | None = None, tried: str = "") -> str:
    """Return remedies: other boards, or a smaller layer of `source`, the file before Vela.

    Compiler options are only suggestions, unless `tried` says which of them were tried.
    """
    hints = []
    if "heap" in fit.lacks:
        hints += _largest(source) if source else []
        options = "" if tried else ", --vela='--optimise Size' or --memory-mode Sram_Only"
        hints.append(f"smaller inputs{options} may reduce the arena")
    if "rom" in fit.lacks and fit.need.constants:
        hints.append("fewer, pruned or clustered weights, which Vela compresses, shorten the file")
    hints += [tried] if tried else []
    if fit.short:
        # Only the NPU that the board has, not all that its emulator supports.
        fitting = [
            board.name
            for board in boards.every()
            if (room := room_of(board, fit.room.reserve))
            and not check(fit.need, replace(room, npus=board.npus), in_heap=fit.in_heap).short
        ]
        hints += [f"it fits {', '.join(fitting)}"] if fitting else []
    return "".join(f"; {hint}" for hint in hints)


def tensor_bytes(source: ModelFile, operator: Operator) -> int:
    """Count the bytes of an operator's inputs and outputs, which are in the arena while it runs."""
    numbers = {index for index in (*operator.inputs, *operator.outputs) if index >= 0}
    tensors = [source.graph.tensors[index] for index in numbers]
    return sum(tensor.size for tensor in tensors if not tensor.constant)


def _largest(source: ModelFile) -> list[str]:
    """Find the operator with the most bytes of inputs and outputs."""
    size = partial(tensor_bytes, source)
    largest = max(source.graph.operators, key=size, default=None)
    if largest is None or not largest.outputs:
        return []
    name = f"{largest.name} {source.graph.tensors[largest.outputs[0]].name}".strip()
    return [f"the largest layer, {name}, reads and writes {size(largest):,} bytes"]


def refuse(
    fit: Fit, name: str, force: str, source: ModelFile | None = None, tried: str = ""
) -> None:
    """Raise InputError if a resource is short; `force` describes what --force does then."""
    if fit.short:
        raise InputError(
            f"{name} can't run on {fit.room.board}: {'; '.join(fit.short)}"
            f"{advice(fit, source, tried)}. {force}"
        )


def in_a_word(data: dict[str, Any]) -> str:
    """Format the result of `as_dict()` as a cell of a table: yes, or what is missing."""
    return figures.words(len(data["short"]) > len(data["lacks"]), data["lacks"])


def describe(data: dict[str, Any]) -> str:
    """Format the result of `as_dict()` as one line."""
    if data["short"]:
        return f"no: {'; '.join(data['short'])}{data['advice']}"
    used, fast = data["used"], data["used"]["fast"]
    inside = used["heap"] > data["need"]["heap"] - fast
    heap = "arena, the runtime's tables" if inside else "arena and the runtime's tables"
    heap += " and the file" if inside else ""
    kept = f", {data['reserve']:,} reserved" if data["reserve"] else ""
    parts = []
    for what, key, room, where in (
        (heap, "heap", data["heap"], f"heap{kept}"),
        ("fast scratch", "fast", data["fast"] or None, "fast memory"),
        ("file as an image", "rom", data["rom"], "/rom"),
    ):
        if room is not None:
            share = data["shares"][key]
            parts.append(f"{what} {used[key]:,} of {room:,} bytes of {where} ({share:.0%})")
    return f"{data['board']}: {', '.join(parts)}"
