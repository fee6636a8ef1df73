# SPDX-License-Identifier: MIT
"""The arena over time as picture.py draws it, with the writes of layers on the NPU.

Within a call, time advances from layer to layer. DMA copies by the NPU, such as weights copied to
fast scratch, have no feature map and are not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...compile import plan
from ...model import Model
from ...model.graph import NPU_SCRATCH
from ...sim.table import Names, with_streams
from ...sim.trace import FeatureMap, Operation
from ..subject import Subject

_SCRATCH, _FAST = 1, 2  # regions of a command stream


@dataclass
class _Written:
    """Bytes [low, high) of a region written by a layer, from its first write to its last use."""

    name: str
    region: int
    low: int
    high: int
    first: int
    last: int

    def overlaps(self, region: int, low: int, high: int) -> bool:
        """Whether the block overlaps these bytes."""
        return self.region == region and self.low < high and low < self.high


@dataclass
class _Call:
    """One command stream: its layers in execution order, and their writes.

    given: memory that was written before the call and is read during the call.
    """

    columns: list[str] = field(default_factory=list)
    blocks: list[_Written] = field(default_factory=list)
    given: list[_Written] = field(default_factory=list)

    def read(self, map_: FeatureMap) -> None:
        """Record a read: for each byte, the layer that wrote it last."""
        left = [_extent(map_)]
        for block in reversed(self.blocks):
            rest = []
            for low, high in left:
                if not block.overlaps(map_.region, low, high):
                    rest.append((low, high))
                    continue
                block.last = len(self.columns) - 1
                rest += [(low, block.low)] if low < block.low else []
                rest += [(block.high, high)] if block.high < high else []
            left = rest
        now = len(self.columns) - 1
        self.given += [_Written("", map_.region, low, high, 0, now) for low, high in left]

    def write(self, name: str, map_: FeatureMap) -> None:
        """Record a write: a layer may write its result in several pieces, adjacent or in turn."""
        now = len(self.columns) - 1
        low, high = _extent(map_)
        for block in reversed(self.blocks):
            if block.name == name and block.overlaps(map_.region, low - 1, high + 1):
                block.low, block.high, block.last = min(low, block.low), max(high, block.high), now
                return
        self.blocks.append(_Written(name, map_.region, low, high, now, now))


def pictures(subject: Subject) -> list[dict[str, Any]]:
    """The arena, and the NPU's fast scratch if it is a separate memory; for picture.py."""
    if subject.estimate is None:
        return [_planned(subject)]
    calls = _calls(Names(subject.file), subject.estimate.operations)
    operators = subject.file.description.npu_operators
    fast = max((each.fast_scratch_bytes or 0 for each in operators), default=0)
    drawn = [_arena(subject, calls, shared=not fast)]
    if fast:
        drawn.append(_alone("fast scratch", fast, calls, _FAST))
    return drawn


def scratch(program: Model, operations: Sequence[Operation], size: int) -> dict[str, Any]:
    """Writes of an ExecuTorch program's operations to the scratch of its delegates."""
    return _alone("scratch", size, _calls(Names(program), operations), _SCRATCH)


def _calls(names: Names, operations: Sequence[Operation]) -> list[_Call]:
    calls: list[_Call] = []
    for (stream, operation), name in zip(
        with_streams(operations), names.of(operations), strict=True
    ):
        if stream == len(calls):
            calls.append(_Call())
        call = calls[stream]
        if not call.columns or call.columns[-1] != name:
            call.columns.append(name)
        for map_ in (operation.ifm, operation.ifm2):
            if map_ and not map_.chained:
                call.read(map_)
        if operation.ofm and not operation.ofm.chained:
            call.write(name, operation.ofm)
    return calls


def _extent(map_: FeatureMap) -> tuple[int, int]:
    offsets = map_.offsets()
    return int(offsets.min()), int(offsets.max()) + map_.item_size


def _arena(subject: Subject, calls: list[_Call], *, shared: bool) -> dict[str, Any]:
    if subject.file.is_program:
        assert subject.estimate
        return scratch(subject.file, subject.estimate.operations, subject.info["scratch_size"])
    row = _planned(subject)
    graph = subject.file.graph
    columns: list[str] = []
    spans = [(0, 0)]
    inside: list[dict[str, Any]] = []
    waiting = iter(calls)
    for time, operator in enumerate(graph.operators, start=1):
        begin = len(columns) + 1
        if operator.on_npu:
            call = next(waiting)
            start = max(graph.tensors[operator.inputs[NPU_SCRATCH]].offset, 0)
            columns += call.columns
            for region in (_SCRATCH, _FAST) if shared else (_SCRATCH,):
                inside += _blocks(call, region, start, begin)
            for block in row["blocks"]:
                if block["kind"] == "fixed":
                    block |= _times(call, block, time, start, begin)
        else:
            columns.append(operator.name)
        spans.append((begin, len(columns)))
    spans.append((len(columns) + 1, len(columns) + 1))
    for block in row["blocks"]:
        block["first"] = block.get("begin", spans[block["first"]][0])
        block["last"] = block.get("end", spans[block["last"]][1])
    row |= {"operators": columns, "blocks": [*inside, *row["blocks"]]}
    return row


def _times(call: _Call, block: dict[str, Any], time: int, start: int, begin: int) -> dict[str, int]:
    """Return when a call last reads a block that ends here, or first writes one that begins."""
    extent = _SCRATCH, block["offset"] - start, block["offset"] - start + block["size"]
    times = {}
    reads = [read.last for read in call.given if read.overlaps(*extent)]
    if block["last"] == time and reads:
        times["end"] = begin + max(reads)
    writes = [written.first for written in call.blocks if written.overlaps(*extent)]
    if block["first"] == time and writes:
        times["begin"] = begin + max(writes)
    return times


def _planned(subject: Subject) -> dict[str, Any]:
    return plan.plan_model(subject.file)[0].as_dict()


def _blocks(call: _Call, region: int, start: int, begin: int) -> list[dict[str, Any]]:
    return [
        {
            "kind": "inside",
            "name": block.name,
            "offset": start + block.low,
            "size": block.high - block.low,
            "first": begin + block.first,
            "last": begin + block.last,
        }
        for block in call.blocks
        if block.region == region
    ]


def _alone(title: str, size: int, calls: list[_Call], region: int) -> dict[str, Any]:
    """Return the data of a picture of a memory that only the NPU uses."""
    columns: list[str] = []
    blocks: list[dict[str, Any]] = []
    for call in calls:
        blocks += _blocks(call, region, 0, len(columns) + 1)
        columns += call.columns
    return {
        "title": f"{title} {size:,} bytes",
        "arena": size,
        "arena_before": None,
        "operators": columns,
        "blocks": blocks,
    }
