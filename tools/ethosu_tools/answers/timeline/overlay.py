# SPDX-License-Identifier: MIT
"""The NPU's read pointer over time, for the script that draws a trace onto Model Explorer's graph.

Format: Arm's FVP trace as examples/arm/visualize.py of ExecuTorch reads it: the events with
`tid` "qread" in their order; `args.qread` is the position in the command stream in words, and
`ts` a time in NPU cycles. A command has ended one cycle before the pointer is at the next one in
Vela's table "queue", or behind the last. Streams follow each other, without the CPU's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...model import ModelFile
from ...sim import table
from ...sim.trace import Operation

TID = "qread"
_WORD = 4


def events(compiled: ModelFile, operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """Return an event for each operation of an inference, and one for the end of each stream."""
    lengths = [each.stream_bytes for each in compiled.compiled.npu_operators]
    return list(_events(lengths, operations))


def _events(lengths: Sequence[int], operations: Sequence[Operation]) -> Iterator[dict[str, Any]]:
    time, number = 0, 0
    for stream, operation in table.with_streams(operations):
        if stream != number:
            yield _event(lengths[number], time)
            number = stream
        yield _event(operation.offset, time)
        time += operation.cycles
    if operations:
        yield _event(lengths[number], time)


def _event(offset: int, time: int) -> dict[str, Any]:
    return {
        "ph": "i",
        "name": TID,
        "s": "t",
        "pid": "ethos-u",
        "tid": TID,
        "ts": time + 1,
        "args": {TID: offset // _WORD},
    }
