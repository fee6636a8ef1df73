# SPDX-License-Identifier: MIT
"""An inference as Chrome's trace events, which Perfetto and chrome://tracing show.

Format: "Trace Event Format" of the Chromium project: complete events (X), instant events (i) and
metadata (M); times in microseconds. Slices of one track must not overlap unless one contains the
other, so the part of a kernel in which its predecessor still writes is left out of its slice; its
arguments have both times.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...base.errors import NoEmulatorError, SetupError
from ...base.files import write_whole
from ...boards.systems import System
from ...model import ModelFile
from ...sim import latency, table
from ...sim.latency import Latency
from ...sim.table import Layer, Names
from ...sim.trace import FeatureMap, Operation
from . import processor
from .composer import Composer
from .processor import Watched

GZIP = ".gz"
_COPY = "NPU_OP_DMA_START"


class Track(NamedTuple):
    """A track: thread `thread` of process `process`."""

    process: int
    thread: int


CPU, NPU = 1, 2
OPERATORS, INTERRUPTS = Track(CPU, 1), Track(CPU, 2)
LAYERS, KERNELS, COPIES = Track(NPU, 1), Track(NPU, 2), Track(NPU, 3)
NAMES = {
    OPERATORS: "operators",
    INTERRUPTS: "interrupts",
    LAYERS: "layers",
    KERNELS: "operations",
    COPIES: "DMA",
}

Event = dict[str, Any]


def save(events: Sequence[Event], path: Path, facts: dict[str, Any]) -> None:
    """Write the events as JSON, compressed if the name ends in .gz."""
    data = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": facts}
    content = (json.dumps(data, separators=(",", ":")) + "\n").encode()
    # Without the time in the header, equal traces give equal files.
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == GZIP else content)


class Timeline(NamedTuple):
    """The events of an inference, its time in milliseconds, and what is not known ("")."""

    events: list[Event]
    milliseconds: float
    unknown: str
    facts: dict[str, Any]


def make(compiled: ModelFile, system: System) -> Timeline:
    """Estimate an inference of a compiled model, and count the CPU's instructions."""
    estimate = latency.estimate(compiled, system) if compiled.compiled.npu else None
    unknown, watched = "", None
    try:
        watched = processor.watch(compiled)
    except (NoEmulatorError, SetupError) as error:
        unknown = f"times of the CPU are not known: {error}"
    clock = system.cpu_mhz or system.clock_hz / 1e6
    calls = _calls(compiled, estimate)
    events = list(_names(system, compiled, clock))
    if watched is None:
        drawn, end = _without_cpu(compiled, calls)
    else:
        drawn, end = _with_cpu(compiled, watched, clock, calls)
    facts = {
        "model": str(compiled),
        "system": system.name,
        "npu": system.npu if estimate else None,
        "npu_mhz": system.clock_hz / 1e6,
        "npu_time": estimate.basis if estimate else None,
        "cpu_mhz": clock,
        "cpu_time": unknown
        or "one cycle per instruction, without waiting for memory"
        + ("" if system.cpu_mhz else "; the clock is not known, the NPU's is assumed"),
    }
    return Timeline(events + drawn, end / 1e3, unknown, facts)


def _names(system: System, compiled: ModelFile, cpu_mhz: float) -> Iterator[Event]:
    """Return the events that set names and order of processes and tracks."""
    processes = {CPU: f"CPU, {cpu_mhz:g} MHz"}
    if compiled.compiled.npu:
        processes[NPU] = f"{system.npu}, {system.clock_hz / 1e6:g} MHz"
    for process, name in processes.items():
        yield _about(Track(process, 0), "process_name", name=name)
        yield _about(Track(process, 0), "process_sort_index", sort_index=process)
    for track, name in NAMES.items():
        if track.process in processes:
            yield _about(track, "thread_name", name=name)
            yield _about(track, "thread_sort_index", sort_index=track.thread)


def _about(track: Track, what: str, **values: Any) -> Event:
    return {"ph": "M", "name": what, "pid": track.process, "tid": track.thread, "args": values}


def _slice(track: Track, name: str, begin: float, end: float, **values: Any) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": NAMES[track],
        "pid": track.process,
        "tid": track.thread,
        "ts": round(begin, 4),
        "dur": round(end - begin, 4),
        "args": values,
    }


# --- The NPU -------------------------------------------------------------------


class _Call(NamedTuple):
    """A command stream: its events, with times since its start, and its length in us."""

    events: list[Event]
    duration: float

    def at(self, begin: float) -> list[Event]:
        """Return the events of a call that begins at this time."""
        return [{**event, "ts": round(event["ts"] + begin, 4)} for event in self.events]


def _calls(compiled: ModelFile, estimate: Latency | None) -> list[_Call]:
    if estimate is None:
        return []
    names = Names(compiled).of(estimate.operations)
    rows = zip(table.with_streams(estimate.operations), estimate.layers, names, strict=True)
    streams = itertools.groupby(rows, key=lambda row: row[0][0])
    per_us = estimate.system.clock_hz / 1e6
    return [
        _call([(operation, layer, name) for (_, operation), layer, name in group], per_us)
        for _, group in streams
    ]


def _call(rows: list[tuple[Operation, Layer, str]], per_us: float) -> _Call:
    events: list[Event] = []
    layers: list[tuple[str, float, float, int]] = []
    ended = 0  # end of the last kernel
    for operation, layer, name in rows:
        copy = operation.name == _COPY
        begin = operation.begin if copy else max(operation.begin, ended)
        begin_us, end_us = begin / per_us, operation.end / per_us
        events.append(
            _slice(
                COPIES if copy else KERNELS,
                operation.kind,
                begin_us,
                end_us,
                layer=name,
                **_arguments(operation, layer),
            )
        )
        if copy:
            continue
        ended = operation.end
        if layers and layers[-1][0] == name:
            layers[-1] = name, layers[-1][1], end_us, layers[-1][3] + 1
        else:
            layers.append((name, begin_us, end_us, 1))
    events += [_slice(LAYERS, name, a, b, operations=count) for name, a, b, count in layers]
    return _Call(events, sum(operation.cycles for operation, _, _ in rows) / per_us)


def _arguments(operation: Operation, layer: Layer) -> dict[str, Any]:
    """Return what an operation reads, writes and costs."""
    maps = {"IFM": operation.ifm, "IFM2": operation.ifm2, "OFM": operation.ofm}
    return {
        "operation": operation.index,
        "offset": operation.offset,
        **{name: _map(each) for name, each in maps.items() if each},
        **({"kernel": "x".join(map(str, operation.kernel))} if operation.kernel[0] else {}),
        "MACs": operation.macs,
        "cycles": operation.cycles,
        "begin_cycle": operation.begin,
        "end_cycle": operation.end,
        "bound": layer.bound,
        "busy_cycles": {unit: count for unit, count in layer.busy.items() if count},
        "bytes_read": dict(+layer.read),
        "bytes_written": dict(+layer.written),
    }


def _map(each: FeatureMap) -> str:
    place = f"chain {each.region}" if each.chained else f"region {each.region}"
    return f"{each.dtype} {'x'.join(map(str, each.shape))} {each.format}, {place}"


# --- The CPU -------------------------------------------------------------------


def _with_cpu(
    compiled: ModelFile, watched: Watched, clock: float, calls: list[_Call]
) -> tuple[list[Event], float]:
    """Return the events of CPU and NPU, and the end of the inference."""
    kernels = sum(event.what == processor.KERNEL for event in watched.events)
    starts = sum(event.what == processor.NPU_STARTS for event in watched.events)
    # Calls that initialise variables come first and run in the first inference only.
    own = calls[len(calls) - starts :]
    names = iter(processor.kernel_names(compiled, kernels))
    composer = Composer(clock, [call.duration for call in own], names)
    composer.follow(watched)
    events = [event for call, at in zip(own, composer.starts, strict=True) for event in call.at(at)]
    for span in composer.spans:
        track = INTERRUPTS if span.interrupt else OPERATORS
        events.append(
            _slice(track, span.name, span.begin, span.end, instructions=span.instructions)
        )
    return events, composer.now


def _without_cpu(compiled: ModelFile, calls: list[_Call]) -> tuple[list[Event], float]:
    """Line up the NPU's calls; an operator on the CPU takes no time."""
    events: list[Event] = []
    now, waiting = 0.0, iter(calls)
    for name, on_npu in _order(compiled, len(calls)):
        if on_npu:
            call = next(waiting, None)
            if call:
                events += call.at(now)
                now += call.duration
        else:
            track = {"pid": OPERATORS.process, "tid": OPERATORS.thread, "s": "t"}
            events.append({"ph": "i", "name": name, "ts": round(now, 4), **track})
    return events, now


def _order(compiled: ModelFile, calls: int) -> list[tuple[str, bool]]:
    """List the operators of a compiled model; of a program only those on the NPU."""
    return Names(compiled).operators or [("", True)] * calls
