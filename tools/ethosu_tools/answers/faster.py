# SPDX-License-Identifier: MIT
"""Changes that make a model faster on a board: another memory for its weights, a larger NPU."""

from __future__ import annotations

from collections.abc import Iterator

from .. import boards
from ..base.errors import InputError
from ..boards import targets
from ..boards.systems import System
from ..compile import load
from ..model import ModelFile
from ..sim import figures, fit, latency
from ..sim.latency import Latency
from ..sim.need import Need

# A change is proposed if it reduces the time at least by this factor.
WORTH = 0.95


def changes(
    model: ModelFile, compiled: ModelFile, estimate: Latency, reserve: int = 0
) -> list[str]:
    """Return a sentence for each change that makes the model faster and fits the board."""
    lines = []
    for change, file, other in _others(model, compiled, estimate.system):
        gain = latency.estimate(file, other)
        need = Need.of(latency.as_written(model, file, other.name))
        fits = fit.on_board(need, other, reserve) if other.board else None
        if fits and other.npu == estimate.system.npu and fits.short:
            continue
        if not gain.is_bound and gain.milliseconds < WORTH * estimate.milliseconds:
            lines.append(f"{figures.time(gain.as_dict())} {change}")
    return lines


def _others(
    model: ModelFile, compiled: ModelFile, system: System
) -> Iterator[tuple[str, ModelFile, System]]:
    for memory in system.weight_memories:
        if memory != system.weights.name:
            yield _with_weights(memory, system), compiled, system.with_weights(memory)
    family = system.npu.rpartition("-")[0]
    largest = [npu for npu in targets.NPUS if npu.startswith(family)][-1]
    if largest != system.npu and not model.description.compiled:
        other = system.with_npu(largest)
        try:
            file = load.compile_for(model, other)
        except InputError:  # it does not compile for the larger NPU
            return
        names = [board.name for board in boards.every() if largest in board.npus]
        having = f" ({', '.join(names)})" if names else ""
        yield f"on another chip, with an {largest}{having}", file, other


def _with_weights(memory: str, system: System) -> str:
    """Describe weights in another memory, and how to put them there."""
    how = f"--weights {memory}"
    if memory == system.tensors.name:  # the weights are then in the heap
        how += "; on the board: ethosu.Model(open('/rom/NAME', 'rb').read())"
    return f"with the weights in {memory} ({how})"
