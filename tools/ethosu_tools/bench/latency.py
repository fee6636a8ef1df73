# SPDX-License-Identifier: MIT
"""`ethosu bench latency`: measure the time, the counters and the work of an inference.

`ethosu bench MODEL` is short for it. With --save the result becomes a point for
`ethosu bench silicon --points`.
"""

import argparse
import contextlib
import hashlib
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import verification
from ..board import Board
from ..errors import BoardError, UsageError
from ..estimate import points, systems, text
from ..estimate.points import Point
from ..estimate.systems import System
from ..layers import subject, table
from ..layers.subject import Subject
from ..remote import COUNTED, EmulatedRunner, SerialRunner
from ..ui import Ui, positive
from ..vela_versions import open_model

EPILOG = """\
A board at a port is measured with its own clock. The time of an emulated board is the sum of the
NPU's estimated cycles and the CPU's instructions, at one per cycle. It repeats exactly, whatever
else the host does.
`--on sim` runs only the NPU, in this process: it gives an estimate, and nothing about a CPU.

"work" is the work that determines the energy of an inference: busy cycles of each unit of the NPU,
bytes moved, and CPU instructions. It is a proxy for comparing models and compilers, not a
measurement of energy. MAC, output, DMA, ports and memories are figures of the simulator
(tools/npu_sim: cycles.c, timing.c, traffic.c). Units work in parallel, so their sum is not a time.
PMU lists the NPU's own counters on that board.

    ethosu bench kws.tflite
    ethosu bench kws_vela.tflite --on /dev/ttyACM0 --board BOARD
"""
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
_npu = ethosu.reserve(powered=True)
_bench = ethosu.Model({path!r}{data}, npu=_npu{verify})
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a .tflite file, compiled or not")
    parser.add_argument(
        "--on",
        default="qemu",
        metavar="qemu|sim|PORT",
        help="an emulated board, the simulated NPU alone, or a board's port (default: qemu)",
    )
    systems.add_options(parser, npu=False)
    parser.add_argument("--weights", metavar="MEMORY", help="memory that holds the model")
    parser.add_argument(
        "--count", type=positive, default=20, help="number of inferences (default: 20)"
    )
    verification.add_option(parser)
    parser.add_argument("--save", type=Path, metavar="CSV", help="add the point to this table")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Estimate the model, run it on the board."""
    if args.save and (args.on == "sim" or not args.board):
        raise UsageError("--save needs a measurement on a board: select it with --on and --board")
    model = open_model(ui, args.model)
    system = systems.chosen(model, args.board, weights=args.weights)
    ui.note(f"estimating for {system.name}")
    examined = subject.examine(model, system)
    if examined.estimate is None and args.save:
        raise UsageError(f"{args.model} has no NPU operators, so there is no point to save")
    facts = examined.as_dict()
    data = {
        "model": str(args.model),
        "on": args.on,
        "system": system.name,
        "npu": facts["npu"],
        "clock_mhz": system.clock_hz / 1e6,
        **{key: facts[key] for key in ("bytes", "arena", "estimate")},
        "estimated_ms": examined.estimate and examined.estimate.milliseconds,
        "cpu_instructions": None,
        "work": _work(examined),
    }
    if args.on != "sim":
        data |= _measure(args, examined, ui)
    if args.save:
        points.append(_point(args, model.data, data, system), args.save)
        data["saved"] = str(args.save)
    return data


def _work(examined: Subject) -> dict[str, Any]:
    """Busy cycles of each unit, MACs, and bytes moved per memory."""
    if examined.estimate is None:
        return {"busy": {}, "macs": 0, "read": {}, "written": {}}
    work = table.total(examined.layers)
    return {
        "busy": dict(work.busy),
        "macs": work.macs,
        "read": dict(work.read),
        "written": dict(work.written),
    }


def _measure(args: argparse.Namespace, examined: Subject, ui: Ui) -> dict[str, Any]:
    """Times, counters and instructions, measured on the board."""
    emulated = args.on == "qemu"
    runner = (
        EmulatedRunner(examined.file, board=examined.system.name, repeatable=True)
        if emulated
        else SerialRunner(examined.file, args.on)
    )
    with runner:
        board = runner.board
        with _prepared(runner), ui.progress("inferences") as update:
            measure = _emulated if emulated else _timed
            rows = []
            for done in range(args.count):
                update(done, args.count)
                rows.append(measure(board, examined.system))
            counted = _pmu(board)
    times = sorted(time for time, _ in rows)
    instructions = [count for _, count in rows if count is not None]
    known = args.board or emulated  # otherwise the clock is unknown
    return counted | {
        "count": args.count,
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
    """Milliseconds of an inference, measured with the board's clock."""
    return board.ask("_answer = _time()", timeout=_TIMEOUT_S, kind=int) / 1e3, None


def _emulated(board: Board, system: System) -> tuple[float, int]:
    """Milliseconds of an inference computed from instructions and cycles, and the instructions."""
    instructions, cycles = board.ask("_answer = _emulated()", timeout=_TIMEOUT_S, kind=(int, int))
    time = instructions / (system.cpu_mhz * 1e3) + cycles / system.clock_hz * 1e3
    return time, instructions


@contextlib.contextmanager
def _prepared(runner: EmulatedRunner | SerialRunner) -> Iterator[None]:
    """Load the model on an NPU and keep the NPU reserved."""
    board = runner.board
    try:
        board.ask(
            _PREPARE.format(
                name=runner.name,
                path=runner.path,
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
    """Counters of each group of events, one inference per group."""
    pmu: dict[str, int] = {}
    cycles = 0
    for events in EVENTS:
        words = ", ".join(f"ethosu.PMU_{event}" for event in events)
        kind = (int,) * (1 + len(events))
        cycles, *counts = board.ask(f"_answer = _count({words})", timeout=_TIMEOUT_S, kind=kind)
        pmu |= dict(zip(events, counts, strict=True))
    return {"npu_cycles": cycles, "npu_active": pmu["NPU_ACTIVE"], "pmu": pmu}


def _point(args: argparse.Namespace, model: bytes, data: dict[str, Any], system: System) -> Point:
    digest = hashlib.sha256(model).hexdigest()
    return Point(
        id=f"own-{digest[:8]}",
        model=args.model.name,
        sha256=digest,
        npu=system.npu,
        system=system.name,
        weights=system.weights.name,
        measured_ms=round(data["npu_ms"], 6),
        known="no",
        chip="emulated" if args.on == "qemu" else system.title,
        source=f"PMU on {args.on}, {args.count} inferences; wall time {data['wall_ms']:.4f} ms",
    )


def render(data: dict[str, Any]) -> str:
    """Measurements, estimate and counters."""
    lines = [*_measured(data), *_estimated(data), *_counted(data)]
    lines += [("saved", data["saved"])] if "saved" in data else []
    return "\n".join(f"{key:<10} {line}".rstrip() for key, line in lines)


def _measured(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "median_ms" not in data:
        yield "latency", "not measured without a CPU; use --on qemu or a port"
        return
    percentile = "" if data["p99_ms"] is None else f"99 % within {data['p99_ms']:.4f} ms, "
    yield (
        "latency",
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


def _estimated(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if data["estimate"] is None:
        yield "estimate", "none: the CPU computes everything"
        return
    row = data["estimate"]
    yield (
        "estimate",
        f"{text.figure(row)} for the NPU at {row['clock_mhz']:g} MHz, weights in "
        f"{row['weights']}, tensors in {row['tensors']} ({row['system']})",
    )
    yield "", row["basis"]


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
