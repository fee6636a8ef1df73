# SPDX-License-Identifier: MIT
"""Checks whether a compiled model fits a board: its NPU, the heap for the arena, /rom for the file.

The needs of a model are measured by the runtime when it loads the file. The resources of a board
come from its board.toml or from the connected board. `check` compares the two for all commands; the
web page does the same in fit.mjs, with the resources that settings.py takes from `room_of`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from . import boards, romfs, vela
from .board import Board
from .boards import BoardFacts
from .errors import BoardError, InputError, UsageError
from .model import Model, ModelFile, Operator
from .sim import Simulation
from .ui import size

# MicroPython's heap has 3 bits of bookkeeping for each block of 256 bits (py/gc.c: two for the kind
# of block, one for finalisers).
_HEAP_BITS, _BLOCK_BITS = 259, 256
# Heap for the interpreter and a small program; 4,416 bytes are in use once `ethosu` is imported.
_PROGRAM = 8 * 1024
_ASK = """\
import gc
try:
    import ethosu
    _npus = ethosu.npus()
except ImportError:
    _npus = None
try:
    import vfs
    _rom = len(memoryview(vfs.rom_ioctl(2, 0)))
except (AttributeError, ImportError, OSError, TypeError):
    _rom = None
gc.collect()
_answer = _npus, gc.mem_free(), _rom
"""


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
        """Heap for the model; below 0 if all of it is reserved."""
        return self.heap - self.reserve


@dataclass(frozen=True)
class Need:
    """Needs of a compiled model, in bytes; npu: None if the CPU computes everything.

    fast: the part of `heap` that may be in fast memory. constants: the part of `rom` that the NPU
    reads as weights and other constants.
    """

    npu: str | None
    heap: int
    rom: int
    fast: int = 0
    constants: int = 0


@dataclass(frozen=True)
class Fit:
    """Result of the comparison; `short` has a sentence for each missing resource.

    lacks: missing bytes, by resource: "heap", "rom", "fast".
    """

    need: Need
    room: Room
    short: tuple[str, ...]
    lacks: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        return {"board": self.room.board, "need": vars(self.need), "short": list(self.short)} | {
            "lacks": dict(self.lacks),
            "heap": self.room.heap,
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
    """Resources according to board.toml; None if that does not define the heap."""
    if board.heap is None:
        return None
    heap = board.heap.size * _BLOCK_BITS // _HEAP_BITS - _PROGRAM
    npus, rom = vela.npus_of(board), board.romfs.size
    return Room(board.name, npus, heap, rom, board.fast_memories, reserve)


def ask(board: Board) -> Room | None:
    """Free resources of a connected board; None if its firmware has no module `ethosu`."""
    answer = board.ask(_ASK)
    try:
        npus, free, rom = answer
        valid = all(isinstance(npu, str) for npu in npus or ()) and isinstance(free, int)
        valid = valid and (rom is None or isinstance(rom, int))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise BoardError(f"the board reported invalid NPUs or memory sizes: {answer!r:.100}")
    return None if npus is None else Room(f"the board at {board.port}", tuple(npus), free, rom)


def need_of(model: Model) -> Need:
    """Needs of a compiled model; raises InputError if it is not compiled or cannot be loaded."""
    file = ModelFile.of(model)
    description = file.compiled
    with Simulation(file) as simulation:
        info = simulation.info()
    image = romfs.build(file.named_files("model"))
    return Need(
        npu=description.npu,
        heap=info["arena_size"] + info["object_size"],
        rom=len(image),
        fast=info["fast_scratch_size"],
        constants=sum(each.constant_bytes for each in description.npu_operators),
    )


def on_board(need: Need, name: str, reserve: int = 0) -> Fit | None:
    """Compare with the board of this name; None if it is not a board, but possibly a chip."""
    room = room_of(boards.load(name), reserve) if name in boards.names() else None
    if room is None and reserve:
        raise UsageError(f"--reserve is a part of a board's heap, but {name} has no known heap")
    return check(need, room) if room else None


def check(need: Need, room: Room) -> Fit:
    """Compare needs and resources; each sentence gives the shortage and what would help."""
    short, lacks = [], {}
    if need.npu and need.npu not in room.npus:
        short.append(
            f"it is compiled for {need.npu}, but {room.board} has "
            f"{' and '.join(room.npus) or 'no NPU'}"
            f"{f': compile it with --npu {room.npus[0]}' if room.npus else ''}"
        )
    fast = room.fast.get(need.npu or "", 0)
    apart = need.fast if fast else 0
    # More than all of it may be reserved.
    reserved = f" less {room.reserve:,} reserved" if room.reserve else ""
    constants = f", {need.constants:,} of them constants" if need.constants else ""
    for resource, needs, used, has, left in (
        ("heap", "its arena needs {:,} bytes of heap", need.heap - apart, room.heap, room.left),
        ("fast", "its fast scratch needs {:,} bytes of fast memory", apart, fast, fast),
        ("rom", f"its file needs {{:,}} bytes of /rom{constants}", need.rom, room.rom, room.rom),
    ):
        if left is not None and used > left:
            lacks[resource] = used - left
            kept = reserved if resource == "heap" else ""
            less = f"{used - left:,} too few"
            short.append(f"{needs.format(used)}, but {room.board} has {has:,}{kept} ({less})")
    return Fit(need, room, tuple(short), lacks)


def advice(fit: Fit, source: ModelFile | None = None, tried: str = "") -> str:
    """Remedies: other boards, or a smaller layer of `source`, the file before Vela.

    Options for a compilation are possibilities, unless `tried` says which of them were tried.
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
            and not check(fit.need, replace(room, npus=board.npus)).short
        ]
        hints += [f"it fits {', '.join(fitting)}"] if fitting else []
    return "".join(f"; {hint}" for hint in hints)


def tensor_bytes(source: ModelFile, operator: Operator) -> int:
    """Bytes of an operator's inputs and outputs, which must be in the arena while it runs."""
    numbers = {index for index in (*operator.inputs, *operator.outputs) if index >= 0}
    tensors = [source.graph.tensors[index] for index in numbers]
    return sum(tensor.size for tensor in tensors if not tensor.constant)


def _largest(source: ModelFile) -> list[str]:
    """The operator with the most bytes of inputs and outputs."""
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
    names = {"heap": "heap", "fast": "fast memory", "rom": "/rom"}
    lacks = [f"{names[key]} -{lacking:,}" for key, lacking in data["lacks"].items()]
    lacks += ["other NPU"] if len(data["short"]) > len(lacks) else []
    return f"no: {', '.join(lacks)}" if lacks else "yes"


def describe(data: dict[str, Any]) -> str:
    """Format the result of `as_dict()` as one line."""
    if data["short"]:
        return f"no: {'; '.join(data['short'])}{data['advice']}"
    need, fast = data["need"], data["need"]["fast"] if data["fast"] else 0
    kept = f", {data['reserve']:,} reserved" if data["reserve"] else ""
    parts = []
    for what, used, room, where in (
        ("arena and the runtime's tables", need["heap"] - fast, data["heap"], f"heap{kept}"),
        ("fast scratch", fast, data["fast"] or None, "fast memory"),
        ("file as an image", need["rom"], data["rom"], "/rom"),
    ):
        if room is not None:
            share = used / max(1, room)
            parts.append(f"{what} {used:,} of {room:,} bytes of {where} ({share:.0%})")
    return f"{data['board']}: {', '.join(parts)}"
