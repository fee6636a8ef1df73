# SPDX-License-Identifier: MIT
"""A model under examination: compiled if necessary, estimated, compared with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import fit, verdict
from ..arrays import Array
from ..errors import InputError
from ..estimate import latency, systems
from ..estimate.latency import Estimate
from ..estimate.systems import System
from ..fit import Fit
from ..model import ModelFile
from ..sim import Simulation
from . import table, views
from .table import Layer


@dataclass(frozen=True)
class Subject:
    """A compiled model in a system; `estimate` is None if it has no NPU operators.

    source: the model before compilation, None if unknown; str(file) is the model's name.
    """

    source: ModelFile | None
    file: ModelFile
    system: System
    estimate: Estimate | None
    layers: list[Layer]
    info: dict[str, Any]
    fits: Fit | None  # None: the system is not a board of boards/

    @property
    def cycles(self) -> int:
        """NPU cycles of one inference."""
        return self.estimate.cycles if self.estimate else 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        peak = views.peak(self.system.npu)
        estimate = self.estimate.as_dict() if self.estimate else None
        if estimate:
            del estimate["layers"]
        return {
            "model": str(self.file),
            "npu": self.system.npu if self.estimate else None,
            "system": self.system.name,
            "bytes": len(self.file.data),
            "arena": self.info["arena_size"],
            "cycles": self.cycles,
            "estimate": estimate,
            "fit": self.fits and self.fits.as_dict(),
            "layers": [views.as_dict(each, self.cycles, peak) for each in self.layers],
        }


def examine(
    file: ModelFile, system: System, reference: ModelFile | None = None, reserve: int = 0
) -> Subject:
    """Compile a model for a system, unless it is already compiled, and estimate it.

    `reference` is the model before compilation, if different from `file`; `reserve` are bytes of
    the board's heap that are not for the model.
    """
    source, given = reference, file
    if not file.description.compiled:
        source = file
        file = systems.compile_for(source, system)
        verdict.check(source, file)
    with Simulation(file) as simulation:
        info = simulation.info()
    estimate = latency.estimate(file, system) if file.description.npu else None
    operations, memories = (estimate.operations, system.memories) if estimate else ([], ())
    rows = table.by_operator(file, operations, memories)
    need = fit.need_of(latency.as_written(given, file, system.name))
    fits = fit.on_board(need, system.name, reserve)
    return Subject(source, file, system, estimate, rows, info, fits)


def difference(found: list[list[Array]], expected: list[list[Array]]) -> dict[str, Any]:
    """Compare outputs: number of values and of mismatches, largest and mean difference.

    InputError: their shapes differ.
    """
    shapes = [[[array.shape for array in step] for step in each] for each in (found, expected)]
    if shapes[0] != shapes[1]:
        raise InputError(f"outputs have shapes {shapes[0][0]} and {shapes[1][0]}")
    pairs = [
        (a.ravel(), b.ravel())
        for ours, theirs in zip(found, expected, strict=True)
        for a, b in zip(ours, theirs, strict=True)
    ]
    wrong = np.concatenate([a != b for a, b in pairs] or [np.zeros(0, bool)])
    # Equal infinities have no distance, and floats lose that of large integers.
    far = [
        np.abs(np.subtract(a, b, dtype=np.float64, where=a != b, out=np.zeros(a.shape)))
        for a, b in pairs
    ]
    distance = np.nan_to_num(np.concatenate(far or [np.zeros(0)]), posinf=np.inf)
    return {
        "steps": len(found),
        "values": wrong.size,
        "differing": int(np.count_nonzero(wrong)),
        "largest": float(distance.max(initial=0.0)),
        "mean": float(distance.mean()) if distance.size else 0.0,
    }
