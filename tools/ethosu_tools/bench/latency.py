# SPDX-License-Identifier: MIT
"""`ethosu bench latency`: time of an inference on a board, by its NPU's counters and its clock.

With --save the result becomes a point for `ethosu bench silicon --points`.
"""

import argparse
import hashlib
import math
import statistics
from pathlib import Path
from typing import Any

from .. import models
from ..errors import BoardError, UsageError
from ..estimate import latency, points, systems
from ..estimate.points import Point
from ..remote import EmulatedRunner, SerialRunner
from ..ui import Ui

# The NPU stays on, so that the counters see all of it; the first inference warms caches up.
_MEASURE = """\
import ethosu, time
def _measure(count):
    with ethosu.reserve(powered=True) as npu:
        model = ethosu.Model({path!r}, npu=npu)
        model.run_into()
        with npu.pmu(ethosu.PMU_NPU_ACTIVE) as counters:
            times = []
            for _ in range(count):
                begin = time.ticks_us()
                model.run_into()
                times.append(time.ticks_diff(time.ticks_us(), begin))
        return counters.cycles / count, counters[0] / count, times
_answer = _measure({count})
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="what `ethosu compile --board` made")
    parser.add_argument("--on", required=True, metavar="PORT", help="serial port, or qemu")
    parser.add_argument("--board", required=True, help="the board or chip it is")
    parser.add_argument("--weights", metavar="MEMORY", help="memory that holds the model")
    parser.add_argument("--count", type=int, default=20, help="inferences (default: 20)")
    parser.add_argument("--save", type=Path, metavar="CSV", help="add the point to this table")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the model on the board, and estimate it."""
    if args.count < 1:
        raise UsageError(f"--count is {args.count}, expected at least 1")
    own = models.describe_compiled(args.model).npu
    if own is None and args.save:
        raise UsageError(f"{args.model} has nothing for an NPU: there is no point to save")
    system = systems.find(args.board, own, args.weights)
    ui.note(f"running {args.count} inferences on {args.on}")
    runner = (
        EmulatedRunner(args.model, board=args.board, timed=True)
        if args.on == "qemu"
        else SerialRunner(args.model, args.on)
    )
    with runner:
        code = _MEASURE.format(path=runner.path, count=args.count)
        answer = runner.board.ask(code, timeout=300)
    if not isinstance(answer, tuple) or len(answer) != 3 or not isinstance(answer[2], list):
        raise BoardError(f"the board answered {answer!r:.100}, expected two numbers and a list")
    cycles, active, times = float(answer[0]), float(answer[1]), sorted(map(float, answer[2]))
    microseconds = statistics.fmean(times)
    found = latency.estimate(args.model, system) if own else None
    measured = active / system.clock_hz * 1e3
    data = {
        "model": str(args.model),
        "system": system.name,
        "npu_cycles": cycles,
        "npu_active": active,
        "npu_ms": measured,
        "wall_ms": microseconds / 1e3,
        "median_ms": statistics.median(times) / 1e3,
        "p99_ms": times[math.ceil(0.99 * len(times)) - 1] / 1e3,
        "estimated_ms": found and found.milliseconds,
    }
    if args.save:
        text = f"PMU on {args.on}, {args.count} inferences; wall time {microseconds / 1e3:.4f} ms"
        points.append(
            Point(
                id=f"own-{hashlib.sha256(models.read(args.model)).hexdigest()[:8]}",
                model=args.model.name,
                sha256=hashlib.sha256(models.read(args.model)).hexdigest(),
                npu=system.npu,
                system=system.name,
                weights=system.weights.name,
                measured_ms=round(measured, 6),
                known="no",
                chip="emulated" if args.on == "qemu" else system.title,
                source=text,
            ),
            args.save,
        )
        data["saved"] = str(args.save)
    return data


def render(data: dict[str, Any]) -> str:
    """Measured and estimated."""
    lines = [
        f"NPU        {data['npu_ms']:.4f} ms ({data['npu_active']:,.0f} cycles active)",
        f"wall time  {data['wall_ms']:.4f} ms, with driver, runtime and CPU operators; median "
        f"{data['median_ms']:.4f}, 99 % within {data['p99_ms']:.4f}",
    ]
    if data["estimated_ms"] is not None:
        lines.append(f"estimate   {data['estimated_ms']:.4f} ms for {data['system']}")
    else:
        lines.append("estimate   none: the NPU has nothing to do, the CPU computes it all")
    lines += [f"saved      {data['saved']}"] if "saved" in data else []
    return "\n".join(lines)
