# SPDX-License-Identifier: MIT
"""A model under examination: compiled if necessary, estimated, compared with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..boards.systems import System
from ..compile import load
from ..model import ModelFile
from ..sim import fit, latency, table
from ..sim.fit import Fit
from ..sim.latency import Latency
from ..sim.need import Need
from ..sim.simulation import Simulation
from ..sim.table import Layer
from . import views


@dataclass(frozen=True)
class Subject:
    """A compiled model in a system; `estimate` is None if it has no NPU operators.

    source: the model before compilation, None if unknown; str(file) is the model's name.
    """

    source: ModelFile | None
    file: ModelFile
    system: System
    estimate: Latency | None
    layers: list[Layer]
    info: dict[str, Any]
    fits: Fit | None  # None if the system is not a board of boards/

    @property
    def cycles(self) -> int:
        """NPU cycles of one inference."""
        return self.estimate.cycles if self.estimate else 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        peak = views.peak(self.system.npu)
        return {
            "model": str(self.file),
            "npu": self.system.npu if self.estimate else None,
            "system": self.system.name,
            "bytes": len(self.file.data),
            "arena": self.info["arena_size"],
            "cycles": self.cycles,
            "estimate": self.estimate.as_dict() if self.estimate else None,
            "fit": self.fits and self.fits.as_dict(),
            "layers": [views.as_dict(each, self.cycles, peak) for each in self.layers],
        }


def examine(file: ModelFile, system: System, reference: ModelFile | None = None) -> Subject:
    """Compile a model for a system, unless it is already compiled, and estimate it.

    `reference` is the model before compilation, if different from `file`.
    """
    source, given = reference, file
    if not file.description.compiled:
        source = file
        file = load.compile_for(source, system)
        load.check(source, file)
    with Simulation(file) as simulation:
        info = simulation.info()
    estimate = latency.estimate(file, system) if file.description.npu else None
    operations, memories = (estimate.operations, system.memories) if estimate else ([], ())
    rows = table.by_operator(file, operations, memories)
    need = Need.of(latency.as_written(given, file, system.name))
    fits = fit.on_board(need, system)
    return Subject(source, file, system, estimate, rows, info, fits)
