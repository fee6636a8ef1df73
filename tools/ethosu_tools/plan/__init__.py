# SPDX-License-Identifier: MIT
"""Plans the arena of a model ahead of time: tensors, and the scratch of CPU kernels, together.

graph.py      what the file says: tensors, operators, Vela's own places
kernels.py    the runtime's CPU kernels and how much scratch each needs
schedule.py   the order of operators, and which of them run beside the NPU
lives.py      from when to when each piece of memory is in use, and what must not move
placement.py  where each piece lies
record.py     the plan as the runtime reads it
metadata.py   how it gets into the file
ends.py       quantised ends in place of float ones, before Vela
picture.py    how it looks
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import tflite
from ..files import write_whole
from ..tflite.metadata import get, put, set_graph
from .graph import Graph, read_graph
from .kernels import KERNELS, RUNTIME_OPERATORS, kernel_version
from .lives import Item, find_items
from .placement import Placement, align, conflicts, place
from .record import OFFSETS_NAME, RECORD_NAME, Entry, encode, encode_offsets
from .schedule import Schedule, reorder, unchanged


@dataclass(frozen=True)
class Plan:
    """Where everything lies. Sizes are bytes; operators are numbered in the order of the plan."""

    schedule: Schedule
    items: tuple[Item, ...]
    placement: Placement
    arena: int
    # What a runtime needs that plans scratch by itself, behind the arena as it was; None: nobody
    # had planned an arena.
    before: int | None

    @property
    def graph(self) -> Graph:
        """The graph, its operators in the order of the plan."""
        return self.schedule.graph

    @property
    def offsets(self) -> list[int | None]:
        """Each tensor's place in the arena."""
        offsets = [tensor.offset for tensor in self.graph.tensors]
        for item, offset in zip(self.items, self.placement.offsets, strict=True):
            for tensor in item.tensors:
                offsets[tensor] = offset
        return offsets

    @property
    def entries(self) -> list[Entry]:
        """An entry for each operator that a CPU kernel runs."""
        scratch = {
            item.scratch_of: (offset, item.block.size)
            for item, offset in zip(self.items, self.placement.offsets, strict=True)
            if item.scratch_of is not None
        }
        graph = self.graph
        return [
            Entry(
                index, operator.code, kernel_version(operator, graph), *scratch.get(index, (0, 0))
            )
            for index, operator in enumerate(graph.operators)
            if operator.name in KERNELS
        ]

    @property
    def without_kernel(self) -> list[str]:
        """Operators that neither the NPU nor the runtime can run."""
        known = {*KERNELS, *RUNTIME_OPERATORS}
        names = {op.name for op in self.graph.operators if not op.on_npu} - known
        return sorted(names)

    @property
    def moved(self) -> int:
        """Tensors that do not lie where Vela had put them."""
        return sum(
            tensor.offset not in (None, offset)
            for tensor, offset in zip(self.graph.tensors, self.offsets, strict=True)
        )

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON and pictures."""
        return {
            "arena": self.arena,
            "arena_before": self.before,
            "gain": None if self.before is None else self.before - self.arena,
            "largest_scratch": max((entry.size for entry in self.entries), default=0),
            "strategy": self.placement.strategy,
            "tensors_moved": self.moved,
            "without_kernel": self.without_kernel,
            "beside_npu": {
                call: [self.graph.operators[i].name for i in group]
                for call, group in self.schedule.beside.items()
            },
            "operators": [operator.name for operator in self.graph.operators],
            "blocks": [
                self._block(item, offset)
                for item, offset in zip(self.items, self.placement.offsets, strict=True)
            ],
        }

    def _block(self, item: Item, offset: int) -> dict[str, Any]:
        """One block in plain data; an operator works at the time of its number + 1."""
        names = [self.graph.tensors[index].name for index in item.tensors]
        kind, name = "npu", "scratch of the NPU"
        if item.scratch_of is not None:
            operator = self.graph.operators[item.scratch_of].name
            kind, name = "scratch", f"scratch of {operator}"
        elif names:
            kind, name = "tensor" if item.block.offset is None else "fixed", ", ".join(names)
        return {
            "kind": kind,
            "name": name,
            "offset": offset,
            "size": item.block.size,
            "first": item.block.first,
            "last": item.block.last,
        }


def needs_plan(path: Path) -> bool:
    """Has the model operators that only a plan lets run?"""
    names = tflite.describe(path).cpu_operators
    return any(name in KERNELS for name in names)


def make_plan(graph: Graph, *, overlap: bool = False) -> Plan:
    """Plan a graph's memory; never larger than Vela's plan with the scratch behind it.

    The CPU works beside the NPU where that takes no byte more; with `overlap` wherever it can.
    """
    separate = find_items(unchanged(graph), graph, share=False)
    assert separate is not None  # the order that Vela has planned for
    before = _size_before(graph, separate)
    best = _plan(unchanged(graph), graph, before)
    assert best is not None
    chosen: set[int] = set()
    for call in reorder(graph).calls:
        plan = _plan(reorder(graph, {*chosen, call}), graph, before)
        if plan is not None and (overlap or plan.arena <= best.arena):
            best = plan
            chosen.add(call)
    return best


def _plan(schedule: Schedule, original: Graph, before: int | None) -> Plan | None:
    """The best plan for this order; None: there is none."""
    plans = []
    # Sharing saves copies too: it comes first, and so wins at equal size.
    for share in (True, False):
        items = find_items(schedule, original, share=share)
        if items is not None:
            placement = place([item.block for item in items])
            arena = _arena(schedule.graph, items, placement)
            plans.append(Plan(schedule, tuple(items), placement, arena, before))
    return min(plans, key=lambda plan: plan.arena, default=None)


def plan_file(
    source: Path, output: Path | None = None, *, overlap: bool = False, cmsis_nn: bool = False
) -> Plan:
    """Plan the model in `source`; `output` (which may be the same) gets it with the plan.

    With `cmsis_nn` for a runtime that was built with CMSIS-NN.
    """
    data = tflite.read(source)
    with tflite.reading(source):
        plan = make_plan(read_graph(data, cmsis_nn=cmsis_nn), overlap=overlap)
        _check(plan)
        planned = put(
            set_graph(data, plan.schedule.order, plan.graph.inputs, plan.graph.outputs),
            {
                OFFSETS_NAME: encode_offsets(plan.offsets, get(data, OFFSETS_NAME)),
                RECORD_NAME: encode(plan.arena, plan.entries),
            },
        )
    if output is not None:
        write_whole(output, planned)
    return plan


def _arena(graph: Graph, items: list[Item], placement: Placement) -> int:
    """Bytes up to the end of the last thing that has a place, planned or not."""
    planned = {tensor for item in items for tensor in item.tensors}
    others = (
        tensor.offset + tensor.size
        for index, tensor in enumerate(graph.tensors)
        if index not in planned and tensor.offset is not None
    )
    return max(placement.arena, max(others, default=0))


def _size_before(graph: Graph, items: list[Item]) -> int | None:
    """The arena as it was, then what had no place, then the largest scratch."""
    if all(tensor.offset is None for tensor in graph.tensors):
        return None
    end = max((t.offset + t.size for t in graph.tensors if t.offset is not None), default=0)
    homeless = [i.block.size for i in items if i.tensors and i.block.home is None]
    scratch = max((i.block.size for i in items if i.scratch_of is not None), default=0)
    for size in (*homeless, scratch):
        end = align(end) + size if size else end
    return end


def _check(plan: Plan) -> None:
    """A last look, by other means than those that made the plan."""
    blocks = [item.block for item in plan.items]
    wrong = conflicts(blocks, plan.placement.offsets)
    assert not wrong, f"blocks overlap: {wrong}"
