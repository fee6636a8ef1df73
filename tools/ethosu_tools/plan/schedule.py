# SPDX-License-Identifier: MIT
"""Sorts operators so that the CPU has something to do while the NPU works.

The runtime (modules/ethosu/runtime/schedule.c) goes on beside a running ethos-u operator with the
operators that follow it, as long as they touch none of its memory. So an operator that waits for
nothing of the NPU's is moved behind a call that doesn't wait for it either. Tensors that command
streams address are memory of the NPU: who reads or writes them can't run meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from .graph import NPU_FIRST_TENSOR, Graph, Operator
from .kernels import KERNELS, RENAMING, STATEFUL


@dataclass(frozen=True)
class Schedule:
    """A graph with its operators in a new order; their numbers are new ones, but in `order`."""

    graph: Graph
    order: tuple[int, ...]  # the old number of each operator
    beside: dict[int, tuple[int, ...]] = field(default_factory=dict)  # what runs beside which call

    @property
    def calls(self) -> list[int]:
        """Old numbers of the NPU's calls beside which something runs."""
        return [self.order[call] for call in self.beside]


def unchanged(graph: Graph) -> Schedule:
    """Every operator waits for the one before."""
    return Schedule(graph, tuple(range(len(graph.operators))))


def addressed(operator: Operator) -> tuple[int, ...]:
    """Tensors that an operator's command stream addresses."""
    if not operator.on_npu:
        return ()
    return (*operator.inputs[NPU_FIRST_TENSOR:], *operator.outputs)


def reorder(graph: Graph, calls: Collection[int] | None = None) -> Schedule:
    """Let the CPU work beside these calls of the NPU (all of them by default), where it can."""
    before = _predecessors(graph)
    if before is None:
        return unchanged(graph)
    sorter = _Sorter(graph, before)
    for call, operator in enumerate(graph.operators):
        if operator.on_npu:
            sorter.add_call(call, calls is None or call in calls)
    sorter.add(range(len(graph.operators)))
    if not sorter.beside:
        return unchanged(graph)
    place = {old: new for new, old in enumerate(sorter.order)}
    return Schedule(
        replace(graph, operators=tuple(graph.operators[old] for old in sorter.order)),
        tuple(sorter.order),
        {place[call]: tuple(place[i] for i in group) for call, group in sorter.beside.items()},
    )


def _predecessors(graph: Graph) -> list[set[int]] | None:
    """All operators that each one waits for; None where the file's order must do."""
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
    """The new order in the making."""

    graph: Graph
    before: list[set[int]]
    order: list[int] = field(default_factory=list)
    beside: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def add(self, operators: Collection[int]) -> None:
        """Append operators in their old order, unless they are there."""
        self.order += [i for i in sorted(operators) if i not in self.order]

    def add_call(self, call: int, overlap: bool) -> None:
        """An NPU call behind what it waits for, then what runs beside it."""
        self.add(self.before[call])
        beside = self._separable(call) if overlap and call not in self.order else set()
        early: set[int] = set().union(*(self.before[i] for i in beside)) - beside
        self.add(early.union(*(self.before[i] for i in early)))
        self.add([call])
        group = [i for i in sorted(beside) if i not in self.order]
        self.add(group)
        if group:
            self.beside[call] = tuple(group)

    def _separable(self, call: int) -> set[int]:
        """CPU operators that neither wait for a call nor touch memory of the NPU."""
        operators = self.graph.operators
        waiting = {i for i, op in enumerate(operators) if op.on_npu and i not in self.order}
        taken = {tensor for operator in operators for tensor in addressed(operator)}
        return {
            index
            for index, operator in enumerate(operators)
            if index not in self.order
            and (operator.name in KERNELS or operator.name in RENAMING)
            and not waiting & self.before[index]
            and not taken & {*operator.inputs, *operator.outputs}
        }
