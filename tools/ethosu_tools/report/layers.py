# SPDX-License-Identifier: MIT
"""From the NPU's operations to the operators of the model, which the debug table names."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import debug_table, models, tflite
from ..debug_table import Entry
from ..estimate.latency import Estimate
from ..estimate.systems import System
from ..tflite.metadata import get
from ..trace import Operation

# Region of the commands' stream, as the simulator counts its time: that of constants.
_COMMANDS = 0
_COPY = "NPU_OP_DMA_START"


@dataclass
class Layer:
    """One operator of the model, or what Vela made of several; bytes of each memory.

    cycles: what it adds to the inference; None for what the CPU computes, which no estimate has.
    """

    name: str
    cycles: int | None = 0
    macs: int = 0
    operations: int = 0
    read: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    bounds: Counter[str] = field(default_factory=Counter)

    @property
    def bound(self) -> str:
        """The unit that bounds most of its cycles."""
        return self.bounds.most_common(1)[0][0] if self.bounds else ""

    @property
    def bytes(self) -> int:
        """All bytes moved."""
        return self.read.total() + self.written.total()

    def as_dict(self, total: int, peak: int) -> dict[str, Any]:
        """Plain data, for JSON; of `total` cycles, on an NPU of `peak` MACs in a cycle."""
        cycles = self.cycles
        return {
            "name": self.name,
            "on": "cpu" if cycles is None else "npu",
            "cycles": cycles,
            "share": None if cycles is None else cycles / max(1, total),
            "macs": self.macs,
            "mac_use": None if not cycles else self.macs / (cycles * peak),
            "bound": self.bound,
            "operations": self.operations,
            "read": dict(self.read),
            "written": dict(self.written),
        }


def peak(npu: str) -> int:
    """MACs of an NPU in a cycle."""
    return int(npu.rpartition("-")[2])


def streams(operations: Sequence[Operation]) -> Iterator[tuple[int, int, Operation]]:
    """Each operation with its number, and that of its command stream."""
    stream = -1
    for number, operation in enumerate(operations):
        stream += operation.index == 0
        yield number, stream, operation


class Names:
    """Which operator of the model an operation of the NPU belongs to."""

    def __init__(self, compiled: Path) -> None:
        """Read the table of a compiled model; a program, or a model without one, has no names."""
        data = models.read(compiled)
        table = None if models.is_program(data) else get(data, debug_table.NAME)
        self.entries = debug_table.parse(table) if table else []
        self._streams: dict[int, list[Entry]] = {}
        for entry in self.entries:
            self._streams.setdefault(entry.npu_operator, []).append(entry)

    def find(self, stream: int, offset: int) -> str | None:
        """The operator that the command at this offset belongs to, None: no table names it."""
        entries = self._streams.get(stream, [])
        at = bisect_left(entries, offset, key=lambda entry: entry.end)
        return entries[at].name if at < len(entries) else None

    def of(self, operations: Sequence[Operation]) -> list[str]:
        """A name for each: without a table, what the NPU computes, and its command's place.

        What it copies meanwhile, such as weights, counts for the operation behind it.
        """
        named: list[str] = []
        behind, behind_in = "", -1
        for _, stream, operation in reversed(list(streams(operations))):
            name = self.find(stream, operation.offset)
            if name is None and operation.name == _COPY and behind_in == stream:
                name = behind
            behind, behind_in = name or _place(stream, operation), stream
            named.append(behind)
        return named[::-1]


def _place(stream: int, operation: Operation) -> str:
    shape = "x".join(map(str, operation.ofm.shape)) if operation.ofm else ""
    what = f"{operation.kind} {shape}".strip()
    return f"{what} at byte {operation.offset:,} of stream {stream}"


def collect(compiled: Path, found: Estimate) -> list[Layer]:
    """All layers in the order of the inference, with those of the CPU between."""
    names = Names(compiled).of(found.operations)
    calls: dict[int, dict[str, Layer]] = {}
    for number, stream, operation in streams(found.operations):
        name = names[number]
        layer = calls.setdefault(stream, {}).setdefault(name, Layer(name))
        _add(layer, operation, found.layers[number].bound, found.system)
    layers: list[Layer] = []
    stream = 0
    for operator in _operators(compiled):
        if operator is None:
            layers += calls.get(stream, {}).values()
            stream += 1
        else:
            layers.append(Layer(operator, cycles=None, operations=1))
    return layers


def of_the_cpu(compiled: Path) -> Iterator[Layer]:
    """The layers of a model of which the NPU computes nothing."""
    return (Layer(name, None, operations=1) for name in _operators(compiled) if name)


def _add(layer: Layer, operation: Operation, bound: str, system: System) -> None:
    assert layer.cycles is not None
    layer.cycles += operation.cycles
    layer.macs += operation.macs
    layer.operations += 1
    layer.bounds[bound] += operation.cycles
    for memory, regions in system.memories:
        for region in range(8):
            if regions & 1 << region:
                layer.read[memory.name] += operation.read[region]
                layer.written[memory.name] += operation.written[region]
        if regions & 1 << _COMMANDS:
            layer.read[memory.name] += operation.commands


def _operators(compiled: Path) -> Iterator[str | None]:
    """The operators of the compiled model: names of those of the CPU, None for the NPU's."""
    data = models.read(compiled)
    if models.is_program(data):
        description = models.describe(compiled)
        yield from (None for _ in description.npu_operators)
        yield from (f"{name} x {count}" for name, count in description.cpu_operators.items())
        return
    graph = tflite.parse(data)[0]
    for operator in graph.operators:
        if operator.on_npu:
            yield None
        else:
            output = graph.tensors[operator.outputs[0]].name if operator.outputs else ""
            yield f"{operator.name} {output}"[: debug_table.LONGEST_NAME].strip()
