# SPDX-License-Identifier: MIT
"""Times, counters and the work of an inference, measured on a board.

"work" is a proxy for comparing models and compilers, not a measurement of energy. MAC, output, DMA,
ports and memories are figures of the simulator (tools/npu_sim/time).
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...base import verification
from ...base.errors import BoardError, UsageError
from ...boards.setup import BoardSetup
from ...boards.systems import System
from ...link.board import Board
from ...link.remote import COUNTED, EmulatedRunner, SerialRunner
from ...model import ModelFile
from ...sim import table
from .. import points
from ..points import Point
from ..subject import Subject

# Every NPU has at least four counters.
EVENTS = (
    ("NPU_ACTIVE", "MAC_ACTIVE", "AO_ACTIVE", "WD_ACTIVE"),
    ("AXI0_RD_DATA_BEAT_RECEIVED", "AXI0_WR_DATA_BEAT_WRITTEN", "AXI1_RD_DATA_BEAT_RECEIVED"),
)
_TIMEOUT_S = 300
# The runner's model, {name}, is replaced by this one, which keeps the NPU powered so that the
# counters cover the whole inference; the first inference warms up caches.
_PREPARE = (
    """\
import ethosu, gc, time
{name} = _npu = None
gc.collect()
_npu = ethosu.reserve(npu={npu!r}, powered=True)
_bench = ethosu.Model({model}{data}, npu=_npu{verify})
_bench.run_into()
def _time():
    begin = time.ticks_us()
    _bench.run_into()
    return time.ticks_diff(time.ticks_us(), begin)
def _emulated():
    with _npu.pmu() as counters:
        first, begin, end = _counted(_bench)
    return end - begin - (begin - first), counters.cycles
def _count(*events):
    with _npu.pmu(*events) as counters:
        _bench.run_into()
    return (counters.cycles,) + tuple(counters[i] for i in range(len(events)))
"""
    + COUNTED
)
_END = "_bench = None\n_npu.release()"


def check(on: str, chosen: BoardSetup) -> None:
    """Reject a system that is no board, or weights in a memory where a board cannot put them."""
    if on == "sim":
        return
    name, system = chosen.board.name, chosen.system
    usual = system.weight_memories[0]
    if system.weights.name not in (usual, system.tensors.name):
        raise UsageError(
            f"weights in {system.weights.name} cannot be measured: on {name} a program "
            f"finds them in {usual}, or reads them into {system.tensors.name}"
        )


def facts(examined: Subject) -> dict[str, Any]:
    """Return the figures that need no board."""
    return {
        "clock_mhz": examined.system.clock_hz / 1e6,
        "cpu_instructions": None,
        "work": _work(examined),
    }


def _work(examined: Subject) -> dict[str, Any]:
    """Sum up busy cycles of each unit, MACs, and bytes moved per memory."""
    if examined.estimate is None:
        return {"busy": {}, "macs": 0, "read": {}, "written": {}}
    work = table.total(examined.layers)
    return {
        "busy": dict(work.busy),
        "macs": work.macs,
        "read": dict(work.read),
        "written": dict(work.written),
    }


def measure(
    examined: Subject,
    on: str,
    count: int,
    chosen: BoardSetup,
    update: Callable[[int, int], None],
    *,
    named: bool,
) -> dict[str, Any]:
    """Measure times, counters and instructions; `named` if --board names the board."""
    emulated = on == "qemu"
    runner = (
        EmulatedRunner(examined.file, chosen, repeatable=True)
        if emulated
        else SerialRunner(examined.file, on)
    )
    with runner, _prepared(runner, examined):
        one = _emulated if emulated else _timed
        rows = []
        for done in range(count):
            update(done, count)
            rows.append(one(runner.board, examined.system))
        counted = _pmu(runner.board)
    times = sorted(time for time, _ in rows)
    instructions = [count for _, count in rows if count is not None]
    known = named or emulated  # otherwise the clock is unknown
    return counted | {
        "count": count,
        "cpu_mhz": examined.system.cpu_mhz if emulated else None,
        "cpu_instructions": round(statistics.median(instructions)) if instructions else None,
        "npu_ms": counted["npu_active"] / examined.system.clock_hz * 1e3 if known else None,
        "wall_ms": statistics.fmean(times),
        "median_ms": statistics.median(times),
        "slowest_ms": times[-1],
        # With fewer inferences there is no 99th percentile.
        "p99_ms": times[math.ceil(0.99 * len(times)) - 1] if len(times) >= 100 else None,
    }


def _timed(board: Board, _: System) -> tuple[float, None]:
    """Measure the milliseconds of an inference with the board's clock."""
    return board.ask("_answer = _time()", timeout=_TIMEOUT_S, kind=int) / 1e3, None


def _emulated(board: Board, system: System) -> tuple[float, int]:
    """Return the milliseconds computed from instructions and cycles, and the instructions."""
    instructions, cycles = board.ask("_answer = _emulated()", timeout=_TIMEOUT_S, kind=(int, int))
    time = instructions / (system.cpu_mhz * 1e3) + cycles / system.clock_hz * 1e3
    return time, instructions


@contextlib.contextmanager
def _prepared(runner: EmulatedRunner | SerialRunner, examined: Subject) -> Iterator[None]:
    """Load the model where the estimate has its weights, on its NPU, and keep the NPU reserved."""
    board, system = runner.board, examined.system
    moved = system.weights.name not in system.weight_memories[:1]
    path = repr(runner.path)
    model = f"open({path}, 'rb').read()" if moved else path
    try:
        board.ask(
            _PREPARE.format(
                name=runner.name,
                model=model,
                npu=examined.file.description.npu,
                data=f", data={runner.data_path!r}" if runner.data_path else "",
                verify=verification.board_argument(),
            ),
            timeout=_TIMEOUT_S,
        )
        yield
    finally:
        with contextlib.suppress(BoardError):  # after an error the board restarts without the model
            board.ask(_END)


def _pmu(board: Board) -> dict[str, Any]:
    """Count each group of events, with one inference per group."""
    pmu: dict[str, int] = {}
    cycles = 0
    for events in EVENTS:
        words = ", ".join(f"ethosu.PMU_{event}" for event in events)
        kind = (int,) * (1 + len(events))
        cycles, *counts = board.ask(f"_answer = _count({words})", timeout=_TIMEOUT_S, kind=kind)
        pmu |= dict(zip(events, counts, strict=True))
    return {"npu_cycles": cycles, "npu_active": pmu["NPU_ACTIVE"], "pmu": pmu}


def save(path: Path, model: ModelFile, data: dict[str, Any], system: System) -> None:
    """Add the measurement to a table of points."""
    digest = hashlib.sha256(model.data).hexdigest()
    point = Point(
        id=f"own-{digest[:8]}",
        model=Path(str(model)).name,
        sha256=digest,
        npu=system.npu,
        system=system.name,
        weights=system.weights.name,
        measured_ms=round(data["npu_ms"], 6),
        known="no",
        chip="emulated" if data["on"] == "qemu" else system.title,
        source=f"PMU on {data['on']}, {data['count']} inferences; "
        f"wall time {data['wall_ms']:.4f} ms",
    )
    points.append(point, path)


def lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Format measurements, counters and work."""
    return [*_measured(data), *_counted(data)]


def _measured(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "median_ms" not in data:
        return
    percentile = "" if data["p99_ms"] is None else f"99 % within {data['p99_ms']:.4f} ms, "
    yield (
        "measured",
        f"median {data['median_ms']:.4f} ms, {percentile}slowest {data['slowest_ms']:.4f} ms, of "
        f"{data['count']} inferences",
    )
    yield (
        "",
        "measured with the board's clock, including driver, runtime, CPU operators and Python call"
        if data["cpu_mhz"] is None
        else f"on the emulated board: the NPU's cycles, and one cycle at {data['cpu_mhz']:g} MHz "
        "per CPU instruction",
    )
    if data["npu_active"]:
        time = "" if data["npu_ms"] is None else f"{data['npu_ms']:.4f} ms at "
        time += f"{data['clock_mhz']:g} MHz, " if time else ""
        yield "NPU", f"{time}{data['npu_active']:,} active cycles"


def _counted(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    key = "PMU"
    for event, count in data.get("pmu", {}).items():
        yield key, f"{count:>13,}  {event}"
        key = ""
    key = "work"
    for unit, cycles in data["work"]["busy"].items():
        yield key, f"{cycles:>13,}  busy cycles of {unit}"
        key = ""
    work = data["work"]
    yield key, f"{work['macs']:>13,}  MACs"
    for kind in ("read", "written"):
        for memory, count in work[kind].items():
            yield "", f"{count:>13,}  bytes {kind}, {memory}"
    if data["cpu_instructions"] is not None:
        what = "driver, runtime, CPU operators, Python's call, on a reserved NPU"
        yield "", f"{data['cpu_instructions']:>13,}  instructions: {what}"
    yield "memory", f"{data['bytes']:>13,}  bytes of model"
    yield "", f"{data['arena']:>13,}  bytes of arena"
