# SPDX-License-Identifier: MIT
"""Compiles a model that does not fit its board again with other options.

Vela buffers weights in the arena unless they are in SRAM (Sram_Only), and with `--optimise Size` it
computes layers in stripes. How much that saves depends on the model: only a compilation tells.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..base.errors import InputError
from ..boards import targets
from ..boards.facts import BoardFacts
from ..sim import fit
from ..sim.fit import Fit
from ..sim.need import Need

_SIZE = ("--optimise", "Size")
# Leaving the table of operators out is only tried if at most this many bytes of /rom are missing.
_TABLE = 16 * 1024


@dataclass(frozen=True)
class Change:
    """Options of `ethosu compile` that differ from the first try; None means unchanged."""

    npu: str | None = None
    mode: str | None = None
    size: bool = False
    table: bool = True

    @property
    def vela(self) -> tuple[str, ...]:
        """More options for Vela."""
        return _SIZE if self.size else ()

    def __str__(self) -> str:
        """The options on the command line."""
        words = [f"--npu {self.npu}"] if self.npu else []
        words += [f"--memory-mode {self.mode}"] if self.mode else []
        words += [f"--vela='{' '.join(_SIZE)}'"] if self.size else []
        return " ".join([*words, *([] if self.table else ["--strip"])])


def _changes(found: Fit, board: BoardFacts, npu: str, mode: str, given: str) -> Iterator[Change]:
    """Yield changes, small ones first; `mode` and `given` describe the first try."""
    family, rom = npu.rpartition("-")[0], found.lacks.get("rom", 0)
    modes = [each for each in ("Sram_Only", "Shared_Sram") if each != mode]
    if not family.endswith("u55") and mode != "Dedicated_Sram":  # U55 has no such mode
        modes.append("Dedicated_Sram")
    sizes = (False,) if "optimise" in given else (True, False)
    if 0 < rom <= _TABLE and "heap" not in found.lacks:
        yield Change(table=False)
    yield from (Change(size=True) for size in sizes if size)
    yield from (Change(mode=each, size=size) for each in modes for size in reversed(sizes))
    yield from (Change(npu=each) for each in board.npus if each != npu)


def tried(
    found: Fit,
    board: BoardFacts,
    make: Callable[[Change], Need],
    *,
    npu: str,
    mode: str | None = None,
    given: str = "",
) -> str:
    """Return a sentence on the options that make the model fit, or that were tried in vain.

    `make` compiles the model with a change; changes that Vela or the runtime rejects are left out.
    The result is "" if there was nothing to try.
    """
    default = board.vela.memory_mode if board.vela else targets.TARGETS[npu].memory_mode
    fitting, others = [], []
    for change in _changes(found, board, npu, mode or default, given):
        try:
            need = make(change)
        except InputError:
            continue
        if fit.check(need, found.room).short:
            others.append(str(change))
        else:
            sizes = f"{need.heap:,} bytes of heap, {need.image:,} of /rom"
            fitting.append(f"{change} ({sizes})")
    if fitting:
        return f"it was compiled again, and fits with {' or with '.join(fitting)}"
    options = ", with ".join(others)
    return f"it was compiled again, and does not fit either with {options}" if others else ""
