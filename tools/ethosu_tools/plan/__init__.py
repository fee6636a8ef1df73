# SPDX-License-Identifier: MIT
"""Plans the arena of a model ahead of time: tensors, and the scratch of CPU kernels, together.

graph.py      what the file says: tensors, operators, Vela's own places
kernels.py    the runtime's CPU kernels and how much scratch each needs
lives.py      from when to when each piece of memory is in use, and what must not move
placement.py  where each piece lies
record.py     the plan as the runtime reads it
metadata.py   how it gets into the file
picture.py    how it looks
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import tflite
from ..files import write_whole
from .graph import Graph, read_graph
from .kernels import KERNELS, RUNTIME_OPERATORS
from .lives import Item, find_items
from .metadata import put
from .placement import Placement, align, conflicts, place
from .record import OFFSETS_NAME, RECORD_NAME, Entry, encode, encode_offsets


@dataclass(frozen=True)
class Plan:
    """Where everything lies. Sizes are bytes."""

    graph: Graph
    items: tuple[Item, ...]
    placement: Placement
    arena: int
    # What a runtime needs that plans scratch by itself, behind the arena as it was; None: nobody
    # had planned an arena.
    before: int | None

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
        return [
            Entry(index, operator.code, KERNELS[operator.name].version, *scratch.get(index, (0, 0)))
            for index, operator in enumerate(self.graph.operators)
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


def make_plan(graph: Graph) -> Plan:
    """Plan a graph's memory; never larger than Vela's plan with the scratch behind it."""
    separate = find_items(graph, share=False)
    before = _size_before(graph, separate)
    plans = []
    # Sharing saves copies too: it comes first, and so wins at equal size.
    for items in (find_items(graph, share=True), separate):
        placement = place([item.block for item in items])
        plans.append(Plan(graph, tuple(items), placement, _arena(graph, items, placement), before))
    return min(plans, key=lambda plan: plan.arena)


def plan_file(source: Path, output: Path | None = None) -> Plan:
    """Plan the model in `source`; `output` (which may be the same) gets it with the plan."""
    data = tflite.read(source)
    with tflite.reading(source):
        plan = make_plan(read_graph(data))
        _check(plan)
        planned = put(
            data,
            {
                OFFSETS_NAME: encode_offsets(plan.offsets),
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
