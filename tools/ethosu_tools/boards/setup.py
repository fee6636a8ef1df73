# SPDX-License-Identifier: MIT
"""Decides which board, NPU and memories a command means, in one order for all commands.

The order is --board; the board that the file was compiled for; $ETHOSU_BOARD, if it has the file's
NPU; the default board or else the first that has it. A board has only the NPUs of its chip: the
others of an emulator (`any_npu`) count with --board, or if no board has the NPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .. import boards
from ..base import paths
from ..base.errors import InputError, UsageError
from ..base.ui import Ui
from . import coherence as modes
from . import systems, targets
from .facts import BoardFacts

if TYPE_CHECKING:
    from ..model import ModelFile


# Any text makes emulated boards like their chips: without the emulator's registers.
AS_CHIP_VARIABLE = "ETHOSU_AS_CHIP"
CONSOLES = ("fast", "uart")


def runs_as_chip(choice: bool | None = None) -> bool:
    """Whether emulated boards lack the emulator's registers: the choice, else ETHOSU_AS_CHIP."""
    return bool(os.environ.get(AS_CHIP_VARIABLE)) if choice is None else choice


class Why(Enum):
    """What selected a board."""

    OPTION = "--board"
    FILE = "the board that the file was compiled for"
    VARIABLE = f"${boards.VARIABLE}"
    DEFAULT = "the default board"
    FIRST = "the first board with this NPU"
    EMULATOR = "no board has this NPU"


@dataclass(frozen=True)
class BoardSetup:
    """A board or chip with one NPU and a place for the weights, and why it was selected.

    `facts` is None for a chip. `own_npu` is False if only the board's emulator has this NPU.
    `weights` names a memory; None means the usual one.

    The other fields describe an emulated board: a second NPU `npu1`; the firmware's `image`, if it
    is not the board's own; the coherence mode of the CPU's data cache; `as_chip`, which removes the
    emulator's registers and with them the console "fast".
    """

    name: str
    npu: str
    why: Why
    facts: BoardFacts | None
    own_npu: bool = True
    weights: str | None = None
    npu1: str | None = None
    image: Path | None = None
    coherence: str = field(default_factory=modes.chosen)
    as_chip: bool = field(default_factory=runs_as_chip)
    console: str = ""

    def __post_init__(self) -> None:
        """Check that the NPU is the board's own or its emulator's."""
        assert self.npu in targets.NPUS and self.npu1 in (None, *targets.NPUS)
        assert self.console in ("", *CONSOLES)
        if self.facts:
            assert self.facts.name == self.name
            assert self.npu in targets.npus_of(self.facts)
            assert self.own_npu == (self.npu in self.facts.npus)
        else:
            assert self.own_npu and self.name in boards.chips()
        modes.check(self.coherence)

    @property
    def board(self) -> BoardFacts:
        """The board; InputError for a chip."""
        return self.facts or boards.load(self.name)

    @cached_property
    def firmware(self) -> Path:
        """The image that the board runs."""
        return self.image or paths.firmware(self.name)

    @cached_property
    def system(self) -> systems.System:
        """The board's clock and memories; InputError if they are unknown."""
        return systems.find(self.name, self.npu, self.weights)

    @property
    def remark(self) -> str:
        """A note on what a user would not expect of this choice; "" if nothing."""
        if self.own_npu and self.why is not Why.FIRST:
            return ""
        if self.why is Why.FIRST:
            return f"{self.name} is taken, the first board that has {self.npu}"
        chips = " and ".join(self.board.npus)
        if self.why is Why.EMULATOR:
            return f"no board has {self.npu}: the emulated {self.name} is taken, with this NPU"
        return f"{self.name} has {chips}: only its emulator has {self.npu}"


def resolve(
    file: ModelFile | None,
    board: str | None,
    npu: str | None = None,
    weights: str | None = None,
    *,
    ui: Ui | None = None,
) -> BoardSetup:
    """Resolve a command's options to a setup, by the same rules in all commands.

    `ui` is told what a user would not expect. UsageError or InputError if the file is compiled for
    another NPU.
    """
    own = file.description.npu if file else None
    check_npu(file, npu)
    npu = npu or own
    name, why = _select(file, board, npu)
    facts = boards.load(name, npu) if name not in boards.chips() else None
    known = targets.npus_of(facts) if facts else (boards.chips()[name]["npu"],)
    if npu and npu not in known:
        had = " and ".join(known)
        if own:
            raise InputError(f"{file} is compiled for {own}, but {name} has {had}")
        raise UsageError(f"{name} has {had}, not {npu}")
    chosen = npu or known[0]
    setup = BoardSetup(name, chosen, why, facts, not facts or chosen in facts.npus, weights)
    if ui and setup.remark:
        ui.remark(setup.remark)
    return setup


def check_npu(file: ModelFile | None, npu: str | None) -> None:
    """Raise UsageError if the file is compiled for another NPU than the given one."""
    own = file.description.npu if file else None
    if own and npu not in (None, own):
        raise UsageError(
            f"{file} is compiled for {own}, not for {npu}; pass the original model, before Vela"
        )


def _select(file: ModelFile | None, board: str | None, npu: str | None) -> tuple[str, Why]:
    """Select the board or chip by name."""
    if board:
        return boards.full_name(board), Why.OPTION
    if noted := boards.noted(file.board if file else None):
        return noted, Why.FILE
    set_name = os.environ.get(boards.VARIABLE)
    usual = boards.chosen()
    if npu is None or npu in usual.npus:
        return usual.name, Why.VARIABLE if set_name else Why.DEFAULT
    names = (boards.DEFAULT, *boards.names())
    first = next((name for name in names if npu in boards.load(name).npus), None)
    if first:
        return first, Why.FIRST
    return boards.DEFAULT, Why.EMULATOR


def every(
    file: ModelFile,
    board: str | None = None,
    npu: str | None = None,
    weights: str | None = None,
    *,
    ui: Ui | None = None,
) -> Iterator[BoardSetup]:
    """Return each board with each NPU to examine for this file, or only those of one board or NPU.

    A compiled file has one NPU: boards without it come with their first one. An NPU that only an
    emulator has counts if the board or the NPU is named.
    """
    if npu:
        having: list[str | None] = [name for name in boards.names() if npu in _npus(name)]
        for name in [board] if board else having or [None]:
            yield resolve(file, name, npu, weights, ui=ui)
        return
    own, compiled = file.description.npu, file.description.compiled
    for name in [boards.full_name(board)] if board else boards.names():
        had = list(_npus(name))
        can = targets.npus_of(boards.load(name)) if board and name in boards.names() else had
        one = [each for each in can if each and each == own] or had[:1]
        for each in one if compiled else had:
            yield resolve(None, name, each, weights, ui=ui if board else None)


def _npus(name: str) -> Sequence[str]:
    """List the NPUs of a board or chip."""
    chips = boards.chips()
    return (chips[name]["npu"],) if name in chips else boards.load(name).npus


def emulated(
    board: str | None = None,
    npu: str | None = None,
    *,
    file: ModelFile | None = None,
    npu1: str | None = None,
    firmware: Path | None = None,
    coherence: str | None = None,
    as_chip: bool | None = None,
    console: str | None = None,
) -> BoardSetup:
    """Return the board to emulate: the named one, the file's, else `boards.chosen`; or a machine.

    It gets the file's NPU if its emulator can have that, whether or not the chip has it.
    """
    noted = None if board or file is None else boards.noted(file.board)
    facts = boards.machine(board or noted)
    can, own = targets.npus_of(facts), file.description.npu if file else None
    if npu not in (None, *can):
        raise UsageError(f"{facts.name} has {' and '.join(facts.npus)}, not {npu}")
    npu = npu or (own if own in can else None) or can[0]
    given = Why.VARIABLE if os.environ.get(boards.VARIABLE) else Why.DEFAULT
    return BoardSetup(
        facts.name,
        npu,
        Why.OPTION if board else Why.FILE if noted else given,
        facts,
        npu in facts.npus,
        npu1=npu1,
        image=firmware,
        coherence=modes.chosen(coherence),
        as_chip=runs_as_chip(as_chip),
        console=console or "",
    )
