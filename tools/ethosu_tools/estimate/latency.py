# SPDX-License-Identifier: MIT
"""The latency of a compiled model in a system.

The rules of cost are the simulator's (tools/npu_sim/timing.c), nowhere else: here it is told of the
memories, and what it counts is summed up.
"""

import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, models
from ..errors import InputError
from ..files import write_whole
from ..sim import Simulation
from ..tflite.metadata import put
from ..trace import Costs, Operation
from .systems import Memory, System

# How far off the estimate may be: see `ethosu bench silicon`. A small network has many operations
# for its time, and what each of them costs beyond its work is known least.
SHORT_MS, SHORT_ERROR, ERROR = 0.2, 0.30, 0.20
CHECKED = "checked with measured points"
UNCHECKED = "not checked with any measured point: at least the time of the NPU itself"
EXTERNAL = "a lower bound: no measured point checks weights or tensors in {memory}"


@dataclass(frozen=True)
class Layer:
    """One operation of the NPU; bound: the unit that is busy longest; of the total, `cycles`."""

    name: str
    ofm: str
    cycles: int
    busy: int
    bound: str
    macs: int
    bytes: int


@dataclass(frozen=True)
class Estimate:
    """What is said of a model in a system; `high_ms` is None where nobody knows it."""

    system: System
    cycles: int
    low_ms: float
    high_ms: float | None
    basis: str
    layers: list[Layer]
    cpu_operators: dict[str, int]
    operations: list[Operation]  # what the layers were made of, one for one

    @property
    def milliseconds(self) -> float:
        """The latency."""
        return self.cycles / self.system.clock_hz * 1e3

    @property
    def is_bound(self) -> bool:
        """Is only the lower end worth saying?"""
        return self.high_ms is None and self.basis != UNCHECKED

    @property
    def bounds(self) -> dict[str, float]:
        """Share of the cycles that each unit bounds, the largest first."""
        cycles: Counter[str] = Counter()
        for layer in self.layers:
            cycles[layer.bound] += layer.cycles
        return {unit: count / max(1, self.cycles) for unit, count in cycles.most_common() if count}

    @property
    def busy(self) -> dict[str, int]:
        """Cycles in which each unit is busy; they work side by side, so the sum is no time."""
        memories = [memory for memory, _ in self.system.memories]
        cycles: Counter[str] = Counter()
        for operation in self.operations:
            cycles.update(_busy(operation.costs, memories))
        return dict(cycles)

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
            "layers": [vars(layer) for layer in self.layers],
        }


def estimate(model: Path | bytes, system: System) -> Estimate:
    """Estimate the latency of a compiled model; the part of CPU operators is not in it.

    Raises InputError for a model that is not compiled, or for another NPU.
    """
    description = models.describe_compiled(model)
    if description.npu is None:
        raise InputError(f"{models.name_of(model)} has nothing for an NPU: the CPU computes it all")
    if description.npu != system.npu:
        raise InputError(
            f"{models.name_of(model)} is compiled for {description.npu}, "
            f"but {system.name} has {system.npu}"
        )
    cycles, operations = _run(model, system)
    ideal, _ = _run(model, None)
    memories = [memory for memory, _ in system.memories]
    constants = sum(each.constant_bytes for each in description.npu_operators)
    low, high, basis = _interval(cycles, ideal, constants, system)
    return Estimate(
        system=system,
        cycles=cycles,
        low_ms=low,
        high_ms=high,
        basis=basis,
        layers=[_layer(each, memories) for each in operations],
        cpu_operators=dict(description.cpu_operators),
        operations=operations,
    )


def store(found: Estimate, compiled: Path) -> None:
    """Keep an estimate in a compiled `.tflite`, for Model.info() on the board.

    Microseconds as little-endian 32-bit numbers: the figure, the lower end, the upper end or 0.
    """
    low, high = found.low_ms, found.high_ms or 0.0
    times = [round(1e3 * each) for each in (found.milliseconds, low, high)]
    content = struct.pack("<3I", *times)
    write_whole(compiled, put(compiled.read_bytes(), {models.LATENCY: content}))


def _run(model: Path | bytes, system: System | None) -> tuple[int, list[Operation]]:
    """Cycles and operations of one inference; without a system memory is always ready."""
    operations: list[Operation] = []
    cycles = 0
    with Simulation(model, coherence="off") as simulation:
        if system:
            simulation.assume(
                [memory.for_simulator(regions) for memory, regions in system.memories]
            )
        simulation.observe(operations.append)
        simulation.step(arrays.random_inputs(simulation.inputs, np.random.default_rng(0)))
        cycles = sum(operation.cycles for operation in operations)
    return cycles, operations


def _interval(
    cycles: int, ideal: int, constants: int, system: System
) -> tuple[float, float | None, str]:
    """Lower and upper end in ms, and what they rest on."""
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


def _layer(operation: Operation, memories: list[Memory]) -> Layer:
    busy = _busy(operation.costs, memories)
    bound = max(busy, key=lambda unit: busy[unit])
    return Layer(
        name=operation.kind,
        ofm="x".join(map(str, operation.ofm.shape)) if operation.ofm else "",
        cycles=operation.cycles,
        busy=busy[bound],
        bound=bound,
        macs=operation.macs,
        bytes=sum(operation.read) + sum(operation.written),
    )


def _busy(costs: Costs, memories: list[Memory]) -> dict[str, int]:
    """Cycles of each unit, by the name that the user reads."""
    return {
        "MAC": costs.mac,
        "output": costs.output,
        "issue": costs.issue,
        "start": costs.start,
        "DMA": costs.copy,
        **{memory.name: costs.memory[i] for i, memory in enumerate(memories)},
        "port 0": costs.port[0],
        "port 1": costs.port[1],
    }
