# SPDX-License-Identifier: MIT
"""`ethosu trace`: show what the NPU does in an inference, operation by operation."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, verification
from ..errors import UsageError
from ..estimate import latency, systems
from ..files import Output, write_whole
from ..layers import table, views
from ..model import RUNNABLE, ModelFile
from ..sim import Simulation
from ..timeline import overlay, perfetto
from ..trace import Operation, traffic
from ..ui import Ui, counted
from ..vela_versions import open_model
from .inspect import add_data_option

EPILOG = """\
Each line is one operation of the command stream: its kind, feature maps (type, height x width x
depth, @ region), bytes read and written, and estimated cycles. Region 0 holds constants, region 1
tensors; region 2 is the fast scratch of memory mode Dedicated_Sram. Feature maps in a chain stay
inside the NPU, from one operation to the next. Cycles are what an operation adds to the inference
if memory is never the bottleneck; `ethosu estimate` takes the memories of boards into account.

    ethosu trace kws_vela.tflite --maps maps.npz     # every output, as a numpy array

--perfetto estimates the times of one inference on a board, as `ethosu estimate` does, and counts
the instructions of each step of the CPU on an emulated board, at one per cycle: a lower bound where
memory is slow. Without an emulator, operators on the CPU take no time in the file, and a message
says so. Open the file at https://ui.perfetto.dev, which keeps it in the browser, or with
chrome://tracing.

    ethosu trace kws_vela.tflite --perfetto kws.json.gz --board BOARD

--overlay writes what ExecuTorch's examples/arm/visualize.py takes as --trace, with the cycles of
the estimate instead of those of Arm's FVP. Its --tables is the debug database of Vela, which
`ethosu compile --debug-db FILE.xml` keeps.
"""

_LAYER_HEAD = ("layer", "operations", "cycles", "share")
_HEAD = ("#", "operation", "IFM", "IFM2", "OFM", "kernel", "MACs", "read", "written", "cycles")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help=RUNNABLE)
    add_data_option(parser)
    parser.add_argument(
        "--input", type=Path, metavar="NPZ", help="input arrays (default: random numbers)"
    )
    parser.add_argument("--output", type=Output, metavar="JSON", help="save the trace here")
    parser.add_argument(
        "--maps",
        type=Output,
        metavar="NPZ",
        help='save the OFM of each operation n here, under the key "n"',
    )
    views_of_others = parser.add_argument_group("time lines for other programs")
    views_of_others.add_argument(
        "--perfetto",
        type=Output,
        metavar="FILE",
        help="save NPU, DMA, CPU and interrupts on one time line here, for ui.perfetto.dev (.json, "
        "or .json.gz)",
    )
    views_of_others.add_argument(
        "--overlay",
        type=Output,
        metavar="JSON.GZ",
        help="save the NPU's read pointer over time here, for ExecuTorch's visualize.py --trace",
    )
    systems.add_options(parser, npu=False)
    verification.add_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run one inference and record the NPU's operations."""
    file = open_model(ui, args.model, args.data)
    description = file.compiled
    if args.input:
        feed = arrays.check(arrays.load(args.input), description.inputs)
        inputs = feed.step(0)
    else:
        inputs = arrays.random_inputs(description.inputs)
    operations: list[Operation] = []
    maps: dict[str, np.ndarray] = {}

    def note(operation: Operation) -> None:
        if args.maps and operation.ofm and not operation.ofm.chained:
            maps[str(len(operations))] = simulation.feature_map(operation.ofm)
        operations.append(operation)

    with Simulation(file) as simulation:
        simulation.observe(note)
        simulation.step(inputs)
    data = {
        "model": str(args.model),
        "npu": simulation.npu,
        "cpu_operators": description.cpu_operators,
        "macs": sum(operation.macs for operation in operations),
        "cycles": sum(operation.cycles for operation in operations),
        "commands": sum(operation.commands for operation in operations),
        "traffic": {str(region): sums for region, sums in traffic(operations).items()},
        "layers": _layers(file, operations),
        "operations": [operation.as_dict() for operation in operations],
    }
    data |= _save_time_lines(args, ui, file)
    if args.maps:
        arrays.save(args.maps, maps)
    if args.output:
        write_whole(args.output, (json.dumps(data, indent=2) + "\n").encode())
    return data


def _save_time_lines(args: argparse.Namespace, ui: Ui, file: ModelFile) -> dict[str, Any]:
    """Write what --perfetto and --overlay ask for, with times on the board."""
    saved: dict[str, Any] = {}
    if not (args.perfetto or args.overlay):
        if args.board:
            raise UsageError("--board is for the times of --perfetto and --overlay")
        return saved
    system = systems.chosen(file, args.board)
    if args.perfetto:
        ui.note("counting the CPU's instructions on an emulated board")
        timeline = perfetto.make(file, system)
        if timeline.unknown:
            ui.warn(timeline.unknown)
        perfetto.save(timeline.events, args.perfetto, timeline.facts)
        saved["perfetto"] = {
            "file": str(args.perfetto),
            "ms": timeline.milliseconds,
            **timeline.facts,
        }
    if args.overlay:
        operations = latency.estimate(file, system).operations
        facts = {"model": str(file), "system": system.name, "unit": "cycles of the NPU"}
        perfetto.save(overlay.events(file, operations), args.overlay, facts)
        saved["overlay"] = {"file": str(args.overlay), "system": system.name}
    return saved


def _layers(file: ModelFile, operations: list[Operation]) -> list[dict[str, Any]]:
    """Sums by operator of the model before compiling; empty if no table names the operators."""
    if not table.Names(file).entries:
        return []
    rows = [row for row in table.by_operator(file, operations) if row.on_npu]
    total = max(1, sum(row.cycles for row in rows))
    return [
        {
            "name": row.name,
            "operations": row.operations,
            "macs": row.macs,
            "cycles": row.cycles,
            "share": row.cycles / total,
        }
        for row in rows
    ]


def render(data: dict[str, Any]) -> str:
    """Format the operations as a table, with the totals below."""
    rows = [_row(index, each) for index, each in enumerate(data["operations"])]
    lines = [
        views.text(_HEAD, rows, "#", "MACs", "cycles"),
        "",
        f"{data['model']} on {data['npu']}: {len(rows)} operations, {data['macs']:,} MACs, "
        f"{data['cycles']:,} cycles (estimate)",
    ]
    for region, sums in data["traffic"].items():
        lines.append(f"region {region}: {sums['read']:,} bytes read, {sums['written']:,} written")
    lines.append(f"commands: {data['commands']:,} bytes read")
    if data["layers"]:
        lines += ["", views.text(_LAYER_HEAD, [_layer(row) for row in data["layers"]], "cycles")]
    if data["cpu_operators"]:
        lines.append(f"on the CPU, not in this table: {counted(data['cpu_operators'])}")
    for name in (key for key in ("perfetto", "overlay") if key in data):
        time = f", {data[name]['ms']:.3g} ms" if "ms" in data[name] else ""
        lines.append(f"{name}: {data[name]['file']}, on {data[name]['system']}{time}")
    return "\n".join(lines)


def _row(index: int, operation: dict[str, Any]) -> tuple[str, ...]:
    name = operation["name"].removeprefix("NPU_OP_")
    height, width = operation["kernel"]
    return (
        str(index),
        f"{name} {operation['mode']}" if operation["mode"] else name,
        *(_map(operation[key]) for key in ("ifm", "ifm2", "ofm")),
        f"{height}x{width}" if height else "",
        f"{operation['macs']:,}" if operation["macs"] else "",
        _traffic(operation["read"]),
        _traffic(operation["written"]),
        f"{operation['cycles']:,}",
    )


def _layer(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = row["operations"]
    if len(numbers) == 1:
        span = str(numbers[0])
    elif numbers == list(range(numbers[0], numbers[-1] + 1)):
        span = f"{numbers[0]} to {numbers[-1]}"
    else:
        span = f"{len(numbers)} operations"
    return (row["name"], span, f"{row['cycles']:,}", f"{row['share']:.1%}")


def _map(map_: dict[str, Any] | None) -> str:
    if map_ is None:
        return ""
    shape = "x".join(str(size) for size in map_["shape"])
    region = f"chain {map_['region']}" if map_["chained"] else f"@{map_['region']}"
    return f"{map_['dtype']} {shape} {region}"


def _traffic(amounts: dict[str, int]) -> str:
    return " ".join(f"{count:,}@{region}" for region, count in amounts.items())
