# SPDX-License-Identifier: MIT
"""The latency of a compiled model in a system.

The cost rules are only in the simulator (tools/npu_sim/timing.c). This module passes it the
memory parameters and adds up its counters.
"""

import struct
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..layers import table
from ..layers.table import Layer
from ..model import BOARD, LATENCY, Model, ModelFile
from ..tflite import model_metadata
from ..tflite.metadata import put
from ..trace import Operation
from .systems import System

# Uncertainty of the estimate: see `ethosu bench silicon`. A small network has many operations
# for its run time, and the fixed cost per operation is the least certain part.
SHORT_MS, SHORT_ERROR, ERROR = 0.2, 0.30, 0.20
_TIMES = "<3I"  # of the metadata
CHECKED = "checked against measurements"
UNCHECKED = "not checked against any measurement: at least the time of the NPU itself"
EXTERNAL = "a lower bound: this project has no measurement with weights or tensors in {memory}"


@dataclass(frozen=True)
class Estimate:
    """Latency of a model in a system; `high_ms` is None if only the lower bound is known."""

    system: System
    cycles: int
    low_ms: float
    high_ms: float | None
    basis: str
    layers: list[Layer]  # one per operation
    cpu_operators: dict[str, int]
    operations: list[Operation]

    @property
    def milliseconds(self) -> float:
        """The latency."""
        return self.cycles / self.system.clock_hz * 1e3

    @property
    def is_bound(self) -> bool:
        """Whether only the lower bound is meaningful."""
        return self.high_ms is None and self.basis != UNCHECKED

    @property
    def bounds(self) -> dict[str, float]:
        """Share of the cycles that each unit bounds, the largest first."""
        cycles = table.total(self.layers).bounds.most_common()
        return {unit: count / max(1, self.cycles) for unit, count in cycles if count}

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        low, high = self.low_ms, self.high_ms
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
            "frames_per_second": 1e3 / self.milliseconds,
            "basis": self.basis,
            "bounds": self.bounds,
            "cpu_operators": self.cpu_operators,
            "layers": [_as_dict(layer) for layer in self.layers],
        }


def estimate(model: Model, system: System) -> Estimate:
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
    ideal = sum(each.cycles for each in table.record(file, coherence="off"))
    constants = sum(each.constant_bytes for each in description.npu_operators)
    low, high, basis = _interval(cycles, ideal, constants, system)
    return Estimate(
        system=system,
        cycles=cycles,
        low_ms=low,
        high_ms=high,
        basis=basis,
        layers=table.rows(operations, system.memories),
        cpu_operators=dict(description.cpu_operators),
        operations=operations,
    )


def metadata(estimated: Estimate) -> dict[str, bytes]:
    """An estimate as metadata of a compiled `.tflite`, for Model.info() on the board.

    Microseconds as little-endian 32-bit numbers: estimate, lower bound, upper bound or 0.
    """
    low, high = estimated.low_ms, estimated.high_ms or 0.0
    times = [round(1e3 * each) for each in (estimated.milliseconds, low, high)]
    return {LATENCY: struct.pack(_TIMES, *times)}


def as_written(source: ModelFile, made: ModelFile, board: str) -> ModelFile:
    """What `ethosu compile SOURCE --board BOARD` writes, for its size: the estimate is zeros.

    `made` is the result of systems.compile_for; if that is the source, it is returned unchanged.
    """
    if made is source:
        return made
    notes = {LATENCY: bytes(struct.calcsize(_TIMES))} if made.description.npu else {}
    data = put(made.data, notes | {BOARD: board.encode()})
    return made.with_data(model_metadata.copy(source.data, data))


def _interval(
    cycles: int, ideal: int, constants: int, system: System
) -> tuple[float, float | None, str]:
    """Lower and upper bound in ms, and their basis."""
    per_ms = system.clock_hz / 1e3
    latency = cycles / per_ms
    outside = next((m for m, _ in system.memories if m.external), None)
    if outside:
        once = constants / system.weights.bytes_per_cycle if system.weights.external else 0.0
        return max(ideal, once) / per_ms, None, EXTERNAL.format(memory=outside.name)
    if not system.checked:
        return ideal / per_ms, None, UNCHECKED
    error = SHORT_ERROR if latency < SHORT_MS else ERROR
    return latency * (1 - error), latency * (1 + error), CHECKED


def _as_dict(layer: Layer) -> dict[str, Any]:
    """Plain data of one operation; bytes exclude those of commands."""
    return {
        "name": layer.name,
        "ofm": layer.ofm,
        "cycles": layer.cycles,
        "busy": layer.busy[layer.bound],
        "bound": layer.bound,
        "macs": layer.macs,
        "bytes": layer.bytes - layer.commands,
    }
