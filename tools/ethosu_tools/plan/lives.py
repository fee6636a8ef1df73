# SPDX-License-Identifier: MIT
"""From a graph to blocks of memory: what needs a place, and from when to when.

Time 0 is before the inference, when the inputs are written; operator number i works at time i + 1.

What a command stream addresses stays where Vela put it: inputs and outputs of ethos-u operators.
So does what lives across one, since Vela knows where the NPU works in between and we do not. All
that the NPU may touch is inside its scratch: while it works, everything else stays outside. What an
operator touches that runs beside the NPU stays outside too: it lives from the call's start on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .graph import NPU_FIRST_TENSOR, NPU_SCRATCH_INPUT, Graph, Operator
from .kernels import KERNELS, RENAMING, scratch_bytes
from .placement import Block, align
from .schedule import Schedule, addressed, unchanged

# Bytes between memory of the CPU and of the NPU at work, behind a multiple of ALIGNMENT: no cache
# line holds both (modules/ethosu/runtime/schedule.c).
GAP = 16


@dataclass(frozen=True)
class Item:
    """A block with what lies in it: tensors that share it, or the scratch of one operator.

    With neither it is the scratch of an ethos-u operator: what the NPU may write meanwhile.
    """

    block: Block
    tensors: tuple[int, ...] = ()
    scratch_of: int | None = None

    @property
    def is_npu(self) -> bool:
        """Is it memory of the NPU?"""
        return not self.tensors and self.scratch_of is None


def find_items(schedule: Schedule, original: Graph, *, share: bool) -> list[Item] | None:
    """All that needs a place; `share` lets results lie in place of operands where that is right.

    None: what Vela has placed can't stay there with the operators in this order.
    """
    graph = schedule.graph
    loose = _loose(schedule, original)
    items = _tensor_items(graph, loose)
    if items is None or not _fixed_agree(items, original):
        return None
    if share:
        items = _shared(graph, items, loose)
    return [*_beside(schedule, [*items, *_scratch_items(graph)]), *_npu_items(schedule)]


def _tensor_items(graph: Graph, loose: set[int]) -> list[Item] | None:
    first, last = _lives(graph)
    fixed = {index for operator in graph.operators for index in addressed(operator)}
    internal = {i for op in graph.operators if op.on_npu for i in op.inputs[:NPU_FIRST_TENSOR]}
    if loose & fixed:
        return None
    items = []
    for index, tensor in enumerate(graph.tensors):
        if tensor.constant or tensor.size == 0 or index not in first or index in internal:
            continue
        across = index not in loose and bool(_calls_across(graph, first, last, index))
        stays = tensor.offset is not None and (index in fixed or across)
        items.append(
            Item(
                Block(
                    size=tensor.size,
                    first=first[index],
                    last=last[index],
                    offset=tensor.offset if stays else None,
                    home=None if index in loose else tensor.offset,
                ),
                (index,),
            )
        )
    return items


def _loose(schedule: Schedule, original: Graph) -> set[int]:
    """Tensors of which Vela does not know that the NPU must leave them alone.

    Those that operators beside the NPU touch, those that live across a call only in the new order,
    and state of the CPU's operators.
    """
    graph = schedule.graph
    beside = {i for group in schedule.beside.values() for i in group}
    loose = {t for i in beside for t in (*graph.operators[i].inputs, *graph.operators[i].outputs)}
    now, then = _lives(graph), _lives(original)
    fixed = {index for operator in graph.operators for index in addressed(operator)}
    for index in now[0]:
        calls = {schedule.order[time - 1] for time in _calls_across(graph, *now, index)}
        if calls - {time - 1 for time in _calls_across(original, *then, index)}:
            loose.add(index)
        if graph.tensors[index].variable and index not in fixed:
            loose.add(index)
    return {index for index in loose if index >= 0 and not graph.tensors[index].constant}


def _calls_across(
    graph: Graph, first: dict[int, int], last: dict[int, int], index: int
) -> list[int]:
    """Times of the NPU's calls while which a tensor lives."""
    return [t for t, op in _timed(graph) if op.on_npu and first[index] <= t <= last[index]]


def _fixed_agree(items: list[Item], original: Graph) -> bool:
    """Do all that keep their place and share it live apart, if they did so before?"""
    first, last = _lives(original)
    fixed = [item for item in items if item.block.offset is not None]
    return not any(
        _overlap(a.block, b.block)
        and a.block.meets(b.block)
        and not (first[x] <= last[y] and first[y] <= last[x])
        for number, a in enumerate(fixed)
        for b in fixed[:number]
        for x, y in ((a.tensors[0], b.tensors[0]),)
    )


def _beside(schedule: Schedule, items: list[Item]) -> list[Item]:
    """The items; what an operator beside a call touches lives from the call's start on."""
    start = {operator: call + 1 for call, group in schedule.beside.items() for operator in group}
    touched: dict[int, int] = {}
    for operator, time in start.items():
        call = schedule.graph.operators[operator]
        for tensor in (*call.inputs, *call.outputs):
            touched[tensor] = min(time, touched.get(tensor, time))
    result = []
    for item in items:
        times = [touched[tensor] for tensor in item.tensors if tensor in touched]
        if item.scratch_of in start:
            times.append(start[item.scratch_of])
        block = replace(item.block, first=min([item.block.first, *times]))
        result.append(replace(item, block=block))
    return result


def _timed(graph: Graph) -> Iterable[tuple[int, Operator]]:
    return enumerate(graph.operators, start=1)


def _lives(graph: Graph) -> tuple[dict[int, int], dict[int, int]]:
    """When each tensor is written first, and used last."""
    end = len(graph.operators) + 1
    first: dict[int, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[int, int] = {}
    for time, operator in _timed(graph):
        for index in operator.outputs:
            first.setdefault(index, time)
        for index in (*operator.inputs, *operator.outputs):
            last[index] = time
    for index in graph.outputs:
        last[index] = end
    for index in last:  # Vela names variables too that no operator uses: they need no place
        if graph.tensors[index].variable:
            first[index], last[index] = 0, end
    for index in last:
        first.setdefault(index, 0)  # read but never written: as it was before the inference
    return first, {index: last.get(index, 0) for index in first}


def _shared(graph: Graph, items: list[Item], loose: set[int]) -> list[Item]:
    """Merge the block of a result with the one of an operand that is not needed any more."""
    for time, operator in _timed(graph):
        kernel = KERNELS.get(operator.name)
        in_place = kernel is not None and kernel.in_place
        if not in_place and operator.name not in RENAMING:
            continue
        candidates = operator.inputs if in_place else operator.inputs[:1]
        for operand in candidates:
            merged = _merge(graph, items, loose, operand, operator.outputs[0], time)
            if merged is not None:
                items = merged
                break
    return items


def _merge(
    graph: Graph, items: list[Item], loose: set[int], operand: int, result: int, time: int
) -> list[Item] | None:
    """The items with these two tensors in one block; None where that can't be."""
    a = next((item for item in items if operand in item.tensors), None)
    b = next((item for item in items if result in item.tensors), None)
    if a is None or b is None or a is b or a.block.size != b.block.size:
        return None
    if a.block.last != time or b.block.first != time:
        return None
    places = {block.offset for block in (a.block, b.block)} - {None}
    if len(places) > 1 or (places and loose & {operand, result}):
        return None
    home = a.block.home if a.block.home == b.block.home else None
    block = replace(a.block, last=b.block.last, offset=next(iter(places), None), home=home)
    rest = [item for item in items if item is not a and item is not b]
    moved = [item.block for item in (a, b) if item.block.offset is None]
    if places and moved and not _is_free(block, moved[0], rest + _npu_items(unchanged(graph))):
        return None
    return [*rest, Item(block, a.tensors + b.tensors)]


def _is_free(block: Block, moved: Block, items: list[Item]) -> bool:
    """May the block that moves lie where the other one, which keeps its place, lies?"""
    others = (item.block for item in items if item.block.offset is not None)
    return not any(other.meets(moved) and _overlap(block, other) for other in others)


def _overlap(a: Block, b: Block) -> bool:
    assert a.offset is not None and b.offset is not None
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size


def _scratch_items(graph: Graph) -> list[Item]:
    items = []
    for time, operator in _timed(graph):
        if operator.name in KERNELS:
            size = scratch_bytes(operator, graph)
            if size:
                items.append(Item(Block(size, time, time), scratch_of=time - 1))
    return items


def _npu_items(schedule: Schedule) -> list[Item]:
    items = []
    graph = schedule.graph
    for time, operator in _timed(graph):
        if operator.on_npu:
            scratch = graph.tensors[operator.inputs[NPU_SCRATCH_INPUT]]
            size = align(scratch.size) + GAP if time - 1 in schedule.beside else scratch.size
            if scratch.size and not scratch.constant:
                items.append(Item(Block(size, time, time, offset=scratch.offset or 0)))
    return items
