# SPDX-License-Identifier: MIT
"""Reorders operators so that the CPU can work while the NPU runs.

While an ethos-u operator runs, the runtime (modules/ethosu/runtime/plan/schedule.c) continues with
the operators that follow it, as long as they use no memory of the NPU. A CPU operator that does not
depend on the NPU's result is therefore moved behind an independent call. Operators that read or
write a tensor addressed by a command stream use memory of the NPU and have to wait.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ...model.graph import NPU_FIRST_INPUT
from ...model.tflite import Graph, Operator
from .kernels import RENAMING, STATEFUL, Kernels


@dataclass(frozen=True)
class Schedule:
    """A graph with its operators in a new order; numbers are new, except in `order`.

    order: the old number of each operator; concurrent: the operators that run during each call.
    """

    graph: Graph
    kernels: Kernels
    order: tuple[int, ...]
    concurrent: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def calls(self) -> list[int]:
        """Old numbers of the NPU calls during which other operators run."""
        return [self.order[call] for call in self.concurrent]


def unchanged(graph: Graph, kernels: Kernels) -> Schedule:
    """Keep the order of the file; every operator waits for the previous one."""
    return Schedule(graph, kernels, tuple(range(len(graph.operators))))


def addressed(operator: Operator) -> tuple[int, ...]:
    """Return the tensors that an operator's command stream addresses."""
    if not operator.on_npu:
        return ()
    return (*operator.inputs[NPU_FIRST_INPUT:], *operator.outputs)


def reorder(original: Schedule, calls: Collection[int] | None = None) -> Schedule:
    """Let the CPU run during these NPU calls (default: all), where possible."""
    graph = original.graph
    before = _predecessors(graph) if any(each.on_npu for each in graph.operators) else None
    if before is None:
        return original
    sorter = _Sorter(original, before)
    for call, operator in enumerate(graph.operators):
        if operator.on_npu:
            sorter.add_call(call, calls is None or call in calls)
    sorter.add(range(len(graph.operators)))
    if not sorter.concurrent:
        return original
    new = {old: number for number, old in enumerate(sorter.order)}
    return Schedule(
        replace(graph, operators=tuple(graph.operators[old] for old in sorter.order)),
        {new[old]: kernel for old, kernel in original.kernels.items()},
        tuple(sorter.order),
        {new[call]: tuple(new[i] for i in group) for call, group in sorter.concurrent.items()},
    )


def _predecessors(graph: Graph) -> list[set[int]] | None:
    """Return all dependencies of each operator; None if the order must not change."""
    writers: dict[int, int] = {}
    before: list[set[int]] = []
    last_stateful = None
    for index, operator in enumerate(graph.operators):
        direct = {writers[i] for i in operator.inputs if i in writers}
        if operator.name in STATEFUL:
            direct |= set() if last_stateful is None else {last_stateful}
            last_stateful = index
        states = [i for i in operator.inputs if i >= 0 and graph.tensors[i].variable]
        if any(i in writers for i in operator.outputs):
            return None
        writers.update(dict.fromkeys((*operator.outputs, *states), index))
        before.append(direct.union(*(before[i] for i in direct)))
    return before


@dataclass
class _Sorter:
    """Builds the new order."""

    original: Schedule
    before: list[set[int]]
    order: list[int] = field(default_factory=list)
    concurrent: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def add(self, operators: Collection[int]) -> None:
        """Append operators in their old order, except those already appended."""
        self.order += [i for i in sorted(operators) if i not in self.order]

    def add_call(self, call: int, overlap: bool) -> None:
        """Append an NPU call's dependencies, the call, and the operators concurrent with it."""
        self.add(self.before[call])
        free = self._independent() if overlap and call not in self.order else set()
        early: set[int] = set().union(*(self.before[i] for i in free)) - free
        self.add(early.union(*(self.before[i] for i in early)))
        self.add([call])
        group = [i for i in sorted(free) if i not in self.order]
        self.add(group)
        if group:
            self.concurrent[call] = tuple(group)

    def _independent(self) -> set[int]:
        """Return CPU operators that neither depend on a later call nor use memory of the NPU."""
        operators = self.original.graph.operators
        later = {i for i, op in enumerate(operators) if op.on_npu and i not in self.order}
        taken = {tensor for operator in operators for tensor in addressed(operator)}
        return {
            index
            for index, operator in enumerate(operators)
            if index not in self.order
            and (index in self.original.kernels or operator.name in RENAMING)
            and not later & self.before[index]
            and not taken & {*operator.inputs, *operator.outputs}
        }
