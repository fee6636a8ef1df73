# SPDX-License-Identifier: MIT
"""Checks whether a compiled model fits a board: its NPU, the heap for the arena, /rom for the file.

The needs of a model are measured by the runtime when it loads the file. The resources of a board
come from its board.toml or from the connected board. `check` compares the two for all commands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from . import boards, romfs, vela
from .board import Board
from .boards import BoardFacts
from .errors import BoardError, InputError
from .model import Model, ModelFile, Operator
from .sim import Simulation

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
    """Resources of a board for one model, in bytes; rom: None if it has no writable /rom."""

    board: str
    npus: tuple[str, ...]
    heap: int
    rom: int | None


@dataclass(frozen=True)
class Need:
    """Needs of a compiled model, in bytes; npu: None if the CPU computes everything."""

    npu: str | None
    heap: int
    rom: int


@dataclass(frozen=True)
class Fit:
    """Result of the comparison; `short` has a sentence for each missing resource."""

    need: Need
    room: Room
    short: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The form for JSON."""
        return {"board": self.room.board, "need": vars(self.need), "short": list(self.short)} | {
            "heap": self.room.heap,
            "rom": self.room.rom,
            "advice": advice(self),
        }


def room_of(board: BoardFacts) -> Room | None:
    """Resources according to board.toml; None if that does not define the heap."""
    if board.heap is None:
        return None
    heap = board.heap.size * _BLOCK_BITS // _HEAP_BITS - _PROGRAM
    return Room(board.name, vela.npus_of(board), heap, board.romfs.size)


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
    npu = file.compiled.npu
    with Simulation(file) as simulation:
        info = simulation.info()
    image = romfs.build(file.named_files("model"))
    return Need(npu, info["arena_size"] + info["object_size"], len(image))


def on_board(need: Need, name: str) -> Fit | None:
    """Compare with the board of this name; None if it is not a board, but possibly a chip."""
    room = room_of(boards.load(name)) if name in boards.names() else None
    return check(need, room) if room else None


def check(need: Need, room: Room) -> Fit:
    """Compare needs and resources; each sentence gives the shortage and what would help."""
    short = []
    if need.npu and need.npu not in room.npus:
        short.append(
            f"it is compiled for {need.npu}, but {room.board} has "
            f"{' and '.join(room.npus) or 'no NPU'}"
            f"{f': compile it with --npu {room.npus[0]}' if room.npus else ''}"
        )
    if need.heap > room.heap:
        short.append(_too_large("its arena", need.heap, "heap", room.heap, room.board))
    if room.rom is not None and need.rom > room.rom:
        short.append(_too_large("its file", need.rom, "/rom", room.rom, room.board))
    return Fit(need, room, tuple(short))


def _too_large(what: str, size: int, where: str, room: int, board: str) -> str:
    return (
        f"{what} needs {size:,} bytes of {where}, but {board} has {room:,} "
        f"({size - room:,} too few)"
    )


def advice(fit: Fit, source: ModelFile | None = None) -> str:
    """Remedies: other boards, or a smaller layer of `source`, the file before Vela."""
    hints = []
    if fit.need.heap > fit.room.heap:
        hints += _largest(source) if source else []
        hints.append("smaller inputs or --vela='--optimise Size' may reduce the arena")
    if fit.short:
        # Only the NPU that the board has, not all that its emulator supports.
        fitting = [
            board.name
            for board in boards.every()
            if (room := room_of(board))
            and not check(fit.need, replace(room, npus=board.npus)).short
        ]
        hints += [f"it fits {', '.join(fitting)}"] if fitting else []
    return "".join(f"; {hint}" for hint in hints)


def _largest(source: ModelFile) -> list[str]:
    """The operator with the most bytes of inputs and outputs, which must be in the arena."""
    graph = source.graph

    def size(operator: Operator) -> int:
        tensors = [
            graph.tensors[index] for index in {*operator.inputs, *operator.outputs} if index >= 0
        ]
        return sum(tensor.size for tensor in tensors if not tensor.constant)

    largest = max(graph.operators, key=size, default=None)
    if largest is None or not largest.outputs:
        return []
    name = f"{largest.name} {graph.tensors[largest.outputs[0]].name}".strip()
    return [f"the largest layer, {name}, reads and writes {size(largest):,} bytes"]


def refuse(fit: Fit, name: str, force: str, source: ModelFile | None = None) -> None:
    """Raise InputError if a resource is short; `force` describes what --force does then."""
    if fit.short:
        raise InputError(
            f"{name} can't run on {fit.room.board}: {'; '.join(fit.short)}"
            f"{advice(fit, source)}. {force}"
        )


def describe(data: dict[str, Any]) -> str:
    """Format the result of `as_dict()` as one line."""
    if data["short"]:
        return f"no: {'; '.join(data['short'])}{data['advice']}"
    need, parts = data["need"], []
    for what, used, room, where in (
        ("arena and the runtime's tables", need["heap"], data["heap"], "heap"),
        ("file as an image", need["rom"], data["rom"], "/rom"),
    ):
        if room is not None:
            share = used / max(1, room)
            parts.append(f"{what} {used:,} of {room:,} bytes of {where} ({share:.0%})")
    return f"{data['board']}: {', '.join(parts)}"
