# SPDX-License-Identifier: MIT
"""Plans a model's arena ahead of time, for tensors and the scratch of CPU kernels together.

kernels.py    the runtime's CPU kernels and the scratch that each needs
schedule.py   the order of operators, and which of them run during an NPU call
liveness.py   lifetime of each piece of memory, and which pieces must not move
placement.py  the offset of each piece
record.py     the plan in the runtime's format
fold.py       quantised inputs and outputs in place of float ones, before Vela
picture.py    a drawing of the plan
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.files import write_whole
from ...model import Graph, Model, ModelFile, reading
from ...model.description import RECORD_NAME
from ...model.tflite import OFFSETS_NAME
from ...model.tflite.metadata import get, put, set_graph
from .kernels import Kernels, find_kernels, needs_kernel
from .liveness import Buffer, find_buffers
from .placement import Placement, align, find_conflicts, place
from .record import Entry, encode, encode_offsets
from .schedule import Schedule, reorder, unchanged


@dataclass(frozen=True)
class Plan:
    """The memory plan. Sizes are bytes; operators are numbered in the order of the plan.

    before: arena size needed without this plan, by a runtime that puts the scratch behind Vela's
    arena; None if there was no plan.
    """

    schedule: Schedule
    buffers: tuple[Buffer, ...]
    placement: Placement
    arena: int
    before: int | None

    @property
    def graph(self) -> Graph:
        """The graph, with its operators in the order of the plan."""
        return self.schedule.graph

    @property
    def offsets(self) -> list[int]:
        """Each tensor's offset in the arena, or -1."""
        offsets = [tensor.offset for tensor in self.graph.tensors]
        for buffer, offset in zip(self.buffers, self.placement.offsets, strict=True):
            for tensor in buffer.tensors:
                offsets[tensor] = offset
        return offsets

    @property
    def entries(self) -> list[Entry]:
        """One entry per operator that a CPU kernel runs."""
        scratch = {
            buffer.scratch_of: (offset, buffer.block.size)
            for buffer, offset in zip(self.buffers, self.placement.offsets, strict=True)
        }
        operators = self.graph.operators
        return [
            Entry(index, operators[index].code, kernel.version, *scratch.get(index, (0, 0)))
            for index, kernel in sorted(self.schedule.kernels.items())
        ]

    @property
    def fast_scratch(self) -> int:
        """Bytes that the NPU needs outside the plan; 0 if its scratch suffices."""
        index = self.graph.fast_scratch
        return 0 if index is None else self.graph.tensors[index].size

    @property
    def moved(self) -> int:
        """Number of tensors that are not where Vela put them."""
        return sum(
            tensor.offset not in (-1, offset)
            for tensor, offset in zip(self.graph.tensors, self.offsets, strict=True)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON and pictures."""
        return {
            "arena": self.arena,
            "arena_before": self.before,
            "fast_scratch": self.fast_scratch,
            "gain": None if self.before is None else self.before - self.arena,
            "largest_scratch": max((entry.size for entry in self.entries), default=0),
            "strategy": self.placement.strategy,
            "tensors_moved": self.moved,
            "concurrent": {
                call: [self.graph.operators[i].name for i in group]
                for call, group in self.schedule.concurrent.items()
            },
            "operators": [operator.name for operator in self.graph.operators],
            "blocks": [
                self._block(buffer, offset)
                for buffer, offset in zip(self.buffers, self.placement.offsets, strict=True)
            ],
        }

    def _block(self, buffer: Buffer, offset: int) -> dict[str, Any]:
        """One block as plain data; operator i runs at time i + 1."""
        names = [self.graph.tensors[index].name for index in buffer.tensors]
        kind, name = "npu", "scratch of the NPU"
        if buffer.scratch_of is not None:
            operator = self.graph.operators[buffer.scratch_of].name
            kind, name = "scratch", f"scratch of {operator}"
        elif names:
            kind, name = "tensor" if buffer.block.offset is None else "fixed", ", ".join(names)
        return {
            "kind": kind,
            "name": name,
            "offset": offset,
            "size": buffer.block.size,
            "first": buffer.block.first,
            "last": buffer.block.last,
        }


def needs_plan(model: Model) -> bool:
    """Whether the model has operators that only a CPU kernel can compute."""
    return bool(needs_kernel(ModelFile.of(model).graph))


def make_plan(graph: Graph, kernels: Kernels, *, overlap: bool = False) -> Plan:
    """Plan a graph's memory; never larger than Vela's plan with the scratch behind it.

    The CPU runs concurrently with NPU calls if that needs no more memory; with `overlap`, it does
    so whenever possible.
    """
    original = unchanged(graph, kernels)
    separate = find_buffers(original, original, share=False)
    assert separate is not None  # Vela planned for this order
    before = _size_before(graph, separate)
    best = _plan(original, original, before)
    assert best is not None
    chosen: set[int] = set()
    for call in reorder(original).calls:
        plan = _plan(reorder(original, {*chosen, call}), original, before)
        if plan is not None and (overlap or plan.arena <= best.arena):
            best = plan
            chosen.add(call)
    return best


def _plan(schedule: Schedule, original: Schedule, before: int | None) -> Plan | None:
    """Return the best plan for this order; None if there is none."""
    plans = []
    # Sharing also saves copies, so it is tried first and wins at equal size.
    for share in (True, False):
        buffers = find_buffers(schedule, original, share=share)
        if buffers is not None:
            placement = place([buffer.block for buffer in buffers])
            arena = _arena(schedule.graph, buffers, placement)
            plans.append(Plan(schedule, tuple(buffers), placement, arena, before))
    return min(plans, key=lambda plan: plan.arena, default=None)


def plan_file(
    source: Model, output: Path | None = None, *, overlap: bool = False, cmsis_nn: bool = False
) -> Plan:
    """Plan the model in `source` and write it with the plan to `output`, which may be the same.

    The other arguments are those of `plan_model`.
    """
    plan, planned = plan_model(ModelFile.of(source), overlap=overlap, cmsis_nn=cmsis_nn)
    if output is not None:
        write_whole(output, planned)
    return plan


def plan_model(
    file: ModelFile, *, overlap: bool = False, cmsis_nn: bool = False
) -> tuple[Plan, bytes]:
    """Plan a model; also returns the model with its plan.

    `cmsis_nn`: for a runtime built with CMSIS-NN. InputError: the file is damaged, or the runtime
    rejects one of its operators.
    """
    data, graph = file.data, file.graph
    with reading(file):
        plan = make_plan(graph, find_kernels(data, graph, cmsis_nn=cmsis_nn), overlap=overlap)
        _check(plan)
        planned = put(
            set_graph(data, plan.schedule.order, plan.graph.inputs, plan.graph.outputs),
            {
                OFFSETS_NAME: encode_offsets(plan.offsets, get(data, OFFSETS_NAME)),
                RECORD_NAME: encode(plan.arena, plan.entries),
            },
        )
    return plan, planned


def _arena(graph: Graph, buffers: list[Buffer], placement: Placement) -> int:
    """Return the end of the last tensor or scratch, planned here or by Vela."""
    planned = {tensor for buffer in buffers for tensor in buffer.tensors}
    others = (end for index, end in _ends(graph).items() if index not in planned)
    return max(placement.arena, max(others, default=0))


def _ends(graph: Graph) -> dict[int, int]:
    """Return the end of each tensor that Vela put into the arena."""
    return {
        index: tensor.offset + tensor.size
        for index, tensor in enumerate(graph.tensors)
        if tensor.offset >= 0 and index != graph.fast_scratch
    }


def _size_before(graph: Graph, buffers: list[Buffer]) -> int | None:
    """Add up Vela's arena, the tensors that Vela did not plan, and the largest scratch."""
    ends = _ends(graph)
    if not ends:
        return None
    end = max(ends.values())
    unplanned = [b.block.size for b in buffers if b.tensors and b.block.preferred is None]
    scratch = max((b.block.size for b in buffers if b.scratch_of is not None), default=0)
    for size in (*unplanned, scratch):
        end = align(end) + size if size else end
    return end


def _check(plan: Plan) -> None:
    """Check the result with an independent method."""
    wrong = find_conflicts([buffer.block for buffer in plan.buffers], plan.placement.offsets)
    assert not wrong, f"blocks overlap: {wrong}"
