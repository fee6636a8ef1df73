# SPDX-License-Identifier: MIT
"""The table of layers: costs of each NPU operation and of each operator of the model.

A row is one operation, or the sum of all operations of one operator. The debug table stored by
`ethosu compile` provides the operator's name.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..boards.systems import Memory
from ..model import Model, ModelFile, arrays, debug_table, reading
from ..model.debug_table import Entry
from .simulation import Simulation
from .trace import Costs, Operation

# Reads of the command stream count for the region of the constants, as in the simulator.
_COMMANDS = 0
_REGIONS = 8
_COPY = "NPU_OP_DMA_START"

# Each memory with its regions as bits.
Memories = Sequence[tuple[Memory, int]]


@dataclass
class Layer:
    """One row; counters have a key per memory or per NPU unit.

    stream: its command stream; None for operators on the CPU, whose cycles are unknown and not
    included in the estimate.
    """

    name: str
    stream: int | None = None
    ofm: str = ""  # output shape of a single operation
    operations: list[int] = field(default_factory=list)  # numbers in the inference
    cycles: int = 0  # contribution to the inference
    macs: int = 0
    commands: int = 0  # bytes of the command stream, included in `read`
    read: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    busy: Counter[str] = field(default_factory=Counter)  # units work in parallel
    bounds: Counter[str] = field(default_factory=Counter)  # cycles, by the busiest unit

    @property
    def on_npu(self) -> bool:
        """Whether the layer runs on the NPU."""
        return self.stream is not None

    @property
    def bound(self) -> str:
        """The unit that bounds most of the layer's cycles."""
        return self.bounds.most_common(1)[0][0] if self.bounds else ""

    @property
    def bytes(self) -> int:
        """All bytes moved."""
        return self.read.total() + self.written.total()

    def add(self, other: Layer) -> None:
        """Add another row's costs to this one."""
        self.operations += other.operations
        self.cycles += other.cycles
        self.macs += other.macs
        self.commands += other.commands
        for counter in ("read", "written", "busy", "bounds"):
            getattr(self, counter).update(getattr(other, counter))


class Names:
    """Maps NPU operations to operators of the model."""

    def __init__(self, compiled: Model) -> None:
        """Read a compiled model; programs and models without a debug table have no names.

        operators: name and output of each operator of the compiled file, and whether the NPU runs
        it; empty for a program.
        """
        file = ModelFile.of(compiled)
        self.is_program = file.is_program
        self.operators: list[tuple[str, bool]] = []
        self.entries: list[Entry] = []
        if not self.is_program:
            graph = file.graph
            table = bytes(file.entries.get(debug_table.NAME, b""))
            with reading(file):
                self.entries = debug_table.parse(table) if table else []
            for operator in graph.operators:
                output = graph.tensors[operator.outputs[0]].name if operator.outputs else ""
                self.operators.append((f"{operator.name} {output}".strip(), operator.on_npu))
        self._streams: dict[int, list[Entry]] = {}
        for entry in self.entries:
            self._streams.setdefault(entry.npu_operator, []).append(entry)

    def find(self, stream: int, offset: int) -> str | None:
        """Find the operator of the command at this offset; None if no table names it."""
        entries = self._streams.get(stream, [])
        at = bisect_left(entries, offset, key=lambda entry: entry.end)
        return entries[at].name if at < len(entries) else None

    def find_all(self, offset: int) -> list[tuple[int, str]]:
        """Find the operator at this offset in each stream that is long enough."""
        pairs = ((stream, self.find(stream, offset)) for stream in sorted(self._streams))
        return [(stream, name) for stream, name in pairs if name]

    def of(self, operations: Sequence[Operation]) -> list[str]:
        """Name each operation; without a table, by its type and position.

        Copies, such as those of weights, are attributed to the operation that follows them.
        """
        named: list[str] = []
        following, following_in = "", -1
        for stream, operation in reversed(list(with_streams(operations))):
            name = self.find(stream, operation.offset)
            if name is None and operation.name == _COPY and following_in == stream:
                name = following
            following, following_in = name or _position(stream, operation), stream
            named.append(following)
        return named[::-1]


def _position(stream: int, operation: Operation) -> str:
    shape = "x".join(map(str, operation.ofm.shape)) if operation.ofm else ""
    what = f"{operation.kind} {shape}".strip()
    return f"{what} at byte {operation.offset:,} of stream {stream}"


def record(
    model: Model,
    memories: Memories = (),
    *,
    coherence: str | None = None,
    inputs: Sequence[arrays.Array] | None = None,
    maps: dict[str, arrays.Array] | None = None,
) -> list[Operation]:
    """Record one inference's operations; by default, inputs are random and memory has no latency.

    `maps` gets the output of each operation that leaves the NPU, under its number.
    """
    operations: list[Operation] = []

    def note(operation: Operation) -> None:
        if maps is not None and operation.ofm and not operation.ofm.chained:
            maps[str(len(operations))] = simulation.feature_map(operation.ofm)
        operations.append(operation)

    with Simulation(model, coherence=coherence) as simulation:
        if memories:
            simulation.assume([memory.for_simulator(regions) for memory, regions in memories])
        simulation.observe(note)
        simulation.step(inputs or arrays.random_inputs(simulation.inputs))
    return operations


def with_streams(operations: Iterable[Operation]) -> Iterator[tuple[int, Operation]]:
    """Yield each operation with the number of its command stream."""
    stream = -1
    for operation in operations:
        stream += operation.index == 0
        yield stream, operation


def rows(operations: Iterable[Operation], memories: Memories = ()) -> list[Layer]:
    """Make one row per operation."""
    return [
        _row(number, stream, operation, memories)
        for number, (stream, operation) in enumerate(with_streams(operations))
    ]


def by_operator(
    compiled: Model, operations: Sequence[Operation], memories: Memories = ()
) -> list[Layer]:
    """Make one row per operator in execution order, including the CPU's."""
    file = ModelFile.of(compiled)
    names = Names(file)
    calls: dict[int | None, dict[str, Layer]] = {}
    for row, name in zip(rows(operations, memories), names.of(operations), strict=True):
        calls.setdefault(row.stream, {}).setdefault(name, Layer(name, row.stream)).add(row)
    layers: list[Layer] = []
    for name, call in _operators(file, names):
        layers += [Layer(name)] if call is None else calls.get(call, {}).values()
    return layers


def total(layers: Iterable[Layer]) -> Layer:
    """Sum up all rows."""
    result = Layer("total")
    for layer in layers:
        result.add(layer)
    return result


def _operators(file: ModelFile, names: Names) -> Iterator[tuple[str, int | None]]:
    """List the operators of a compiled model, and the command streams of NPU operators."""
    if names.is_program:
        description = file.description
        yield from (("", stream) for stream, _ in enumerate(description.npu_operators))
        yield from (
            (f"{name} x {count}", None) for name, count in description.cpu_operators.items()
        )
        return
    streams = itertools.count()
    for name, on_npu in names.operators:
        yield name[: debug_table.LONGEST_NAME].strip(), next(streams) if on_npu else None


def _row(number: int, stream: int, operation: Operation, memories: Memories) -> Layer:
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for memory, regions in memories:
        for region in (each for each in range(_REGIONS) if regions & 1 << each):
            read[memory.name] += operation.read[region]
            written[memory.name] += operation.written[region]
        if regions & 1 << _COMMANDS:
            read[memory.name] += operation.commands
    busy = _busy(operation.costs, [memory.name for memory, _ in memories])
    return Layer(
        name=operation.kind,
        stream=stream,
        ofm="x".join(map(str, operation.ofm.shape)) if operation.ofm else "",
        operations=[number],
        cycles=operation.cycles,
        macs=operation.macs,
        commands=operation.commands,
        read=read,
        written=written,
        busy=busy,
        bounds=Counter({busy.most_common(1)[0][0]: operation.cycles}),
    )


def _busy(costs: Costs, memories: Sequence[str]) -> Counter[str]:
    """Return the cycles of each unit, by display name."""
    return Counter(
        {
            "MAC": costs.mac,
            "output": costs.output,
            "issue": costs.issue,
            "start": costs.start,
            "DMA": costs.copy,
            **{name: costs.memory[i] for i, name in enumerate(memories)},
            "port 0": costs.port[0],
            "port 1": costs.port[1],
        }
    )
