# SPDX-License-Identifier: MIT
"""The latency of a compiled model in a system.

The cost rules are only in the simulator (tools/npu_sim/time/timing.c). This module passes it the
memory parameters and adds up its counters.
"""

import math
import struct
from dataclasses import dataclass
from typing import Any

from ..base.errors import InputError
from ..boards.systems import System
from ..model import BOARD, LATENCY, Model, ModelFile
from ..model.tflite import model_metadata
from ..model.tflite.metadata import put
from . import figures, table
from .table import Layer
from .trace import Operation

_TIMES = "<3I"  # format of the metadata


@dataclass(frozen=True)
class Latency:
    """Latency of a model in a system; `high_ms` is None if only the lower bound is known."""

    system: System
    cycles: int
    low_ms: float
    high_ms: float | None
    basis: str
    layers: list[Layer]  # one per operation
    cpu_operators: dict[str, int]
    operations: list[Operation]

    def __post_init__(self) -> None:
        """Check what holds for each estimate."""
        assert 0 < self.low_ms <= self.milliseconds <= (self.high_ms or math.inf)
        assert self.basis in (figures.CHECKED, figures.UNCHECKED) or self.is_bound

    @property
    def milliseconds(self) -> float:
        """The latency in milliseconds."""
        return self.cycles / self.system.clock_hz * 1e3

    @property
    def is_bound(self) -> bool:
        """Whether only the lower bound is meaningful."""
        return self.high_ms is None and self.basis != figures.UNCHECKED

    @property
    def frames(self) -> tuple[float, bool]:
        """Sequential inferences per second, and whether this is only an upper limit."""
        return figures.rate(vars(self) | {"ms": self.milliseconds})

    @property
    def bounds(self) -> dict[str, float]:
        """The share of the cycles that each unit bounds, the largest first."""
        cycles = table.total(self.layers).bounds.most_common()
        return {unit: count / max(1, self.cycles) for unit, count in cycles if count}

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        low, high = self.low_ms, self.high_ms
        frames, at_most = self.frames
        return {
            "system": self.system.name,
            "npu": self.system.npu,
            "clock_mhz": self.system.clock_hz / 1e6,
            "weights": self.system.weights.name,
            "tensors": self.system.tensors.name,
            "cycles": self.cycles,
            "ms": self.milliseconds,
            "low_ms": low,
            "high_ms": high,
            "frames_per_second": frames,
            "frames_at_most": at_most,
            "basis": self.basis,
            "bounds": self.bounds,
            "cpu_operators": self.cpu_operators,
        }


def estimate(model: Model, system: System) -> Latency:
    """Estimate the latency of a compiled model, without its CPU operators.

    Raises InputError for a model that is not compiled, or compiled for another NPU.
    """
    file = ModelFile.of(model)
    description = file.compiled
    if description.npu is None:
        raise InputError(f"{file} has no NPU operators: the CPU computes everything")
    if description.npu != system.npu:
        raise InputError(
            f"{file} is compiled for {description.npu}, but {system.name} has {system.npu}"
        )
    operations = table.record(file, system.memories, coherence="off")
    cycles = sum(each.cycles for each in operations)
    if not cycles:
        raise InputError(f"{file} has command streams without an operation: nothing is computed")
    ideal = sum(each.cycles for each in table.record(file, coherence="off"))
    found = figures.interval(cycles, ideal, description.constant_bytes, facts(system))
    return Latency(
        system=system,
        cycles=cycles,
        low_ms=found["low_ms"],
        high_ms=found["high_ms"],
        basis=found["basis"],
        layers=table.rows(operations, system.memories),
        cpu_operators=dict(description.cpu_operators),
        operations=operations,
    )


def metadata(estimated: Latency) -> dict[str, bytes]:
    """Encode an estimate as metadata of a compiled `.tflite`, for Model.info() on the board.

    The metadata has little-endian 32-bit numbers, in us: estimate, lower bound, upper bound or 0.
    """
    low, high = estimated.low_ms, estimated.high_ms or 0.0
    times = [round(1e3 * each) for each in (estimated.milliseconds, low, high)]
    return {LATENCY: struct.pack(_TIMES, *times)}


def as_written(source: ModelFile, made: ModelFile, board: str) -> ModelFile:
    """Return the file of `ethosu compile SOURCE --board BOARD`, with zeros as the estimate.

    `made` is the result of load.compile_for, and is returned if the source was compiled already.
    """
    if source.description.compiled:
        return made
    notes = {LATENCY: bytes(struct.calcsize(_TIMES))} if made.description.npu else {}
    data = put(made.data, notes | {BOARD: board.encode()})
    return made.with_data(model_metadata.copy(source.data, data))


def facts(system: System) -> dict[str, Any]:
    """Return the facts about a system from which figures.interval() derives the bounds."""
    outside = next((memory.name for memory, _ in system.memories if memory.external), "")
    return {
        "clock_hz": system.clock_hz,
        "checked": system.checked,
        "outside": outside,
        "weights_per_cycle": system.weights.bytes_per_cycle if system.weights.external else 0,
    }
