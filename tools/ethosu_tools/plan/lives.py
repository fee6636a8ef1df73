# SPDX-License-Identifier: MIT
"""From a graph to blocks of memory: what needs a place, and from when to when.

Time 0 is before the inference, when the inputs are written; operator number i works at time i + 1.

What a command stream addresses stays where Vela put it: inputs and outputs of ethos-u operators.
So does what lives across one, since Vela knows where the NPU works in between and we do not. All
that the NPU may touch is inside its scratch: while it works, everything else stays outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .graph import NPU_FIRST_TENSOR, NPU_SCRATCH_INPUT, Graph, Operator
from .kernels import KERNELS, RENAMING, scratch_bytes
from .placement import Block


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


def find_items(graph: Graph, *, share: bool) -> list[Item]:
    """All that needs a place; `share` lets results lie in place of operands where that is right."""
    items = _tensor_items(graph)
    if share:
        items = _shared(graph, items)
    return [*items, *_scratch_items(graph), *_npu_items(graph)]


def _tensor_items(graph: Graph) -> list[Item]:
    first, last = _lives(graph)
    addressed = {index for operator in graph.operators for index in _addressed(operator)}
    npu_times = [time for time, operator in _timed(graph) if operator.on_npu]
    internal = {i for op in graph.operators if op.on_npu for i in op.inputs[:NPU_FIRST_TENSOR]}
    items = []
    for index, tensor in enumerate(graph.tensors):
        if tensor.constant or tensor.size == 0 or index not in first or index in internal:
            continue
        across = any(first[index] <= time <= last[index] for time in npu_times)
        kept = across and not tensor.variable  # Vela plans no state of the CPU's operators
        stays = tensor.offset is not None and (index in addressed or kept)
        items.append(
            Item(
                Block(
                    size=tensor.size,
                    first=first[index],
                    last=last[index],
                    offset=tensor.offset if stays else None,
                    home=None if tensor.variable and not stays else tensor.offset,
                ),
                (index,),
            )
        )
    return items


def _timed(graph: Graph) -> Iterable[tuple[int, Operator]]:
    return enumerate(graph.operators, start=1)


def _addressed(operator: Operator) -> tuple[int, ...]:
    """Tensors that an operator's command stream addresses."""
    if not operator.on_npu:
        return ()
    return (*operator.inputs[NPU_FIRST_TENSOR:], *operator.outputs)


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


def _shared(graph: Graph, items: list[Item]) -> list[Item]:
    """Merge the block of a result with the one of an operand that is not needed any more."""
    for time, operator in _timed(graph):
        kernel = KERNELS.get(operator.name)
        in_place = kernel is not None and kernel.in_place
        if not in_place and operator.name not in RENAMING:
            continue
        candidates = operator.inputs if in_place else operator.inputs[:1]
        for operand in candidates:
            merged = _merge(graph, items, operand, operator.outputs[0], time)
            if merged is not None:
                items = merged
                break
    return items


def _merge(
    graph: Graph, items: list[Item], operand: int, result: int, time: int
) -> list[Item] | None:
    """The items with these two tensors in one block; None where that can't be."""
    a = next((item for item in items if operand in item.tensors), None)
    b = next((item for item in items if result in item.tensors), None)
    if a is None or b is None or a is b or a.block.size != b.block.size:
        return None
    if a.block.last != time or b.block.first != time:
        return None
    places = {block.offset for block in (a.block, b.block)} - {None}
    if len(places) > 1:
        return None
    home = a.block.home if a.block.home == b.block.home else None
    block = replace(a.block, last=b.block.last, offset=next(iter(places), None), home=home)
    rest = [item for item in items if item is not a and item is not b]
    moved = [item.block for item in (a, b) if item.block.offset is None]
    if places and moved and not _is_free(block, moved[0], rest + _npu_items(graph)):
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
            size = scratch_bytes(operator.name, graph.tensors_of(operator))
            if size:
                items.append(Item(Block(size, time, time), scratch_of=time - 1))
    return items


def _npu_items(graph: Graph) -> list[Item]:
    items = []
    for time, operator in _timed(graph):
        if operator.on_npu:
            scratch = graph.tensors[operator.inputs[NPU_SCRATCH_INPUT]]
            if scratch.size and not scratch.constant:
                items.append(Item(Block(scratch.size, time, time, offset=scratch.offset or 0)))
    return items
