# SPDX-License-Identifier: MIT
"""Derives the blocks of memory that a graph needs, and their lifetimes.

Time 0 is before the inference, when the inputs are written; operator i runs at time i + 1.

Inputs and outputs of ethos-u operators stay where Vela put them: the command stream addresses them.
Everything live across an NPU call stays, too, since only Vela knows where in its scratch the NPU
writes. Everything else live during a call is placed outside the scratch. That includes operands of
an operator that runs concurrently with the call: their memory is live from the start of the call.

Vela also keeps tensors in the scratch from one ethos-u operator to a later one without listing
them as output and input. So the scratch between two such operators holds only what Vela put there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile

from ...model.graph import NPU_FIRST_INPUT, NPU_SCRATCH
from ...model.tflite import Graph, Operator
from .kernels import RENAMING
from .placement import Block, align, coexisting
from .schedule import Schedule, addressed

# Gap between memory of the CPU and of the NPU while both run, after alignment to ALIGNMENT, so
# that they share no cache line (modules/ethosu/runtime/plan/schedule.c).
GAP = 16


@dataclass(frozen=True)
class Buffer:
    """A block and its use: tensors that share it, or the scratch of one operator.

    Any other buffer is the scratch of an ethos-u operator; the NPU may write it during the call.
    """

    block: Block
    tensors: tuple[int, ...] = ()
    scratch_of: int | None = None


def find_buffers(schedule: Schedule, original: Schedule, *, share: bool) -> list[Buffer] | None:
    """Find all memory that is needed; with `share`, results replace operands where that is safe.

    None if with this operator order a tensor cannot stay where Vela put it.
    """
    gaps = _gap_buffers(schedule.graph)
    unprotected = _unprotected(schedule, original)
    if unprotected & _addressed(schedule.graph):
        return None
    buffers = _tensor_buffers(schedule.graph, unprotected, gaps)
    if _has_new_conflict(buffers, original.graph):
        return None
    if share:
        buffers = _Sharing(schedule, buffers, unprotected, gaps).result()
    buffers += _scratch_buffers(schedule)
    return _extend_concurrent(schedule, buffers) + _npu_buffers(schedule) + gaps


def live_ranges(graph: Graph) -> dict[int, Block]:
    """Return the lifetime of each used tensor, as blocks without a size.

    A lifetime begins with the first write and ends with the last use.
    """
    end = len(graph.operators) + 1
    first: dict[int, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[int, int] = {}
    for time, operator in _timed(graph):
        for index in operator.outputs:
            first.setdefault(index, time)
        for index in (*operator.inputs, *operator.outputs):
            last[index] = time
    last.update(dict.fromkeys(graph.outputs, end))
    for index in last:  # Vela also lists variables that no operator uses
        if graph.tensors[index].variable:
            first[index], last[index] = 0, end
    # Tensors that are read but never written keep their contents from before the inference.
    return {i: Block(0, first.get(i, 0), last.get(i, 0)) for i in {**first, **last} if i >= 0}


def _timed(graph: Graph) -> Iterable[tuple[int, Operator]]:
    return enumerate(graph.operators, start=1)


def _addressed(graph: Graph) -> set[int]:
    """Return all tensors that a command stream addresses."""
    return {index for operator in graph.operators for index in addressed(operator)}


def _tensor_buffers(graph: Graph, unprotected: set[int], gaps: Sequence[Buffer]) -> list[Buffer]:
    fixed = _addressed(graph)
    internal = {i for op in graph.operators if op.on_npu for i in op.inputs[:NPU_FIRST_INPUT]}
    times = _call_times(graph)
    gap_ends = [gap.block.last for gap in gaps]
    buffers = []
    for index, live in live_ranges(graph).items():
        tensor = graph.tensors[index]
        if tensor.constant or tensor.size == 0 or index in internal:
            continue
        planned = tensor.offset if tensor.offset >= 0 else None
        protected = index not in unprotected
        place = Block(tensor.size, live.first, live.last, offset=planned)
        later = takewhile(
            lambda gap, end=live.last: gap.block.first <= end,  # type: ignore[misc]
            islice(gaps, bisect_left(gap_ends, live.first), None),
        )
        among = bool(_within(times, live)) or any(place.conflicts(gap.block) for gap in later)
        stays = index in fixed or (protected and among)
        block = Block(
            size=tensor.size,
            first=live.first,
            last=live.last,
            offset=planned if stays else None,
            preferred=planned if protected else None,
        )
        buffers.append(Buffer(block, (index,)))
    return sorted(buffers, key=lambda buffer: buffer.tensors)


def _unprotected(schedule: Schedule, original: Schedule) -> set[int]:
    """Find tensors that the NPU may overwrite, because Vela is unaware of their use.

    These are operands of operators that run concurrently with the NPU, tensors that are live across
    a call only in the new order, and variables of CPU operators.
    """
    graph = schedule.graph
    unprotected = {
        tensor
        for group in schedule.concurrent.values()
        for operator in group
        for tensor in (*graph.operators[operator].inputs, *graph.operators[operator].outputs)
        if tensor >= 0
    }
    before = live_ranges(original.graph)
    fixed = _addressed(graph)
    times, times_before = _call_times(graph), _call_times(original.graph)
    for index, live in live_ranges(graph).items():
        calls = {schedule.order[time - 1] for time in _within(times, live)}
        known = {time - 1 for time in _within(times_before, before[index])}
        if calls - known or (graph.tensors[index].variable and index not in fixed):
            unprotected.add(index)
    return {index for index in unprotected if not graph.tensors[index].constant}


def _call_times(graph: Graph) -> list[int]:
    """Return the times of NPU calls, in order."""
    return [time for time, operator in _timed(graph) if operator.on_npu]


def _within(times: Sequence[int], live: Block) -> Sequence[int]:
    """Select the sorted times that are within a live range."""
    return times[bisect_left(times, live.first) : bisect_right(times, live.last)]


def _has_new_conflict(buffers: Sequence[Buffer], original: Graph) -> bool:
    """Whether two fixed tensors overlap that were never live at the same time before."""
    before = live_ranges(original)
    fixed = [buffer for buffer in buffers if buffer.block.offset is not None]
    pairs = ((fixed[a], fixed[b]) for a, b in coexisting([each.block for each in fixed]))
    return any(
        a.block.conflicts(b.block) and not before[a.tensors[0]].coexists(before[b.tensors[0]])
        for a, b in pairs
    )


class _Sharing:
    """Puts the result of an operator into the block of an operand that is no longer needed."""

    def __init__(
        self,
        schedule: Schedule,
        buffers: Sequence[Buffer],
        unprotected: set[int],
        gaps: Sequence[Buffer],
    ) -> None:
        self._schedule = schedule
        self._of_tensor = {tensor: each for each in buffers for tensor in each.tensors}
        self._buffers = dict.fromkeys(buffers)  # in the order of their creation
        self._unprotected = unprotected
        whole_calls = _npu_buffers(replace(schedule, concurrent={}))
        self._scratch = [buffer.block for buffer in (*whole_calls, *gaps)]

    def result(self) -> list[Buffer]:
        """Return the buffers, merged where that is safe."""
        for time, operator in _timed(self._schedule.graph):
            kernel = self._schedule.kernels.get(time - 1)
            if kernel is not None and kernel.in_place:
                candidates = operator.inputs
            elif operator.name in RENAMING:
                candidates = operator.inputs[:1]
            else:
                continue
            any(self._merge(operand, operator.outputs[0], time) for operand in candidates)
        return list(self._buffers)

    def _merge(self, operand: int, result: int, time: int) -> bool:
        """Merge the buffers of these two tensors; False if that is not safe."""
        a, b = self._of_tensor.get(operand), self._of_tensor.get(result)
        if a is None or b is None or a is b or a.block.size != b.block.size:
            return False
        if (a.block.last, b.block.first) != (time, time):
            return False
        block = self._merged_block(a, b, {operand, result})
        if block is None:
            return False
        del self._buffers[a], self._buffers[b]
        merged = Buffer(block, a.tensors + b.tensors)
        self._buffers[merged] = None
        self._of_tensor.update(dict.fromkeys(merged.tensors, merged))
        return True

    def _merged_block(self, a: Buffer, b: Buffer, tensors: set[int]) -> Block | None:
        """Return one block for both; None if a fixed offset prevents sharing."""
        blocks = (a.block, b.block)
        offsets = {block.offset for block in blocks} - {None}
        offset = next(iter(offsets), None)
        preferred = a.block.preferred if a.block.preferred == b.block.preferred else None
        merged = replace(a.block, last=b.block.last, offset=offset, preferred=preferred)
        if offset is None:
            return merged
        if len(offsets) > 1 or tensors & self._unprotected:
            return None
        others = [each.block for each in self._buffers if each is not a and each is not b]
        moved = [replace(block, offset=offset) for block in blocks if block.offset is None]
        taken = any(m.conflicts(other) for m in moved for other in (*others, *self._scratch))
        return None if taken else merged


def _scratch_buffers(schedule: Schedule) -> list[Buffer]:
    return [
        Buffer(Block(kernel.scratch, index + 1, index + 1), scratch_of=index)
        for index, kernel in sorted(schedule.kernels.items())
        if kernel.scratch
    ]


def _npu_buffers(schedule: Schedule) -> list[Buffer]:
    buffers = []
    graph = schedule.graph
    for time, operator in _timed(graph):
        if operator.on_npu:
            scratch = graph.tensors[operator.inputs[NPU_SCRATCH]]
            concurrent = time - 1 in schedule.concurrent
            size = align(scratch.size) + GAP if concurrent else scratch.size
            if scratch.size and not scratch.constant:
                buffers.append(Buffer(Block(size, time, time, offset=max(scratch.offset, 0))))
    return buffers


def _gap_buffers(graph: Graph) -> list[Buffer]:
    """Return blocks for the scratch between one ethos-u operator and the next."""
    calls = [(time, operator) for time, operator in _timed(graph) if operator.on_npu]
    buffers = []
    for (time, operator), (after, _) in pairwise(calls):
        scratch = graph.tensors[operator.inputs[NPU_SCRATCH]]
        if after > time + 1 and scratch.size and not scratch.constant:
            offset = max(scratch.offset, 0)
            buffers.append(Buffer(Block(scratch.size, time + 1, after - 1, offset=offset)))
    return buffers


def _extend_concurrent(schedule: Schedule, buffers: Sequence[Buffer]) -> list[Buffer]:
    """Extend the lifetime of operands of concurrent operators to the start of the call."""
    start = {op: call + 1 for call, group in schedule.concurrent.items() for op in group}
    used: dict[int, int] = {}
    for index, time in start.items():
        operator = schedule.graph.operators[index]
        for tensor in (*operator.inputs, *operator.outputs):
            used[tensor] = min(time, used.get(tensor, time))
    result = []
    for buffer in buffers:
        times = [used[tensor] for tensor in buffer.tensors if tensor in used]
        if buffer.scratch_of in start:
            times.append(start[buffer.scratch_of])
        block = replace(buffer.block, first=min([buffer.block.first, *times]))
        result.append(replace(buffer, block=block))
    return result
