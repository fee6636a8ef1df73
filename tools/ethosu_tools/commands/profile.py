# SPDX-License-Identifier: MIT
"""`ethosu profile`: show where the time of an inference goes, layer by layer, and measure it."""

import argparse
from pathlib import Path
from typing import Any

from ..answers import subject, text, views
from ..answers.profile import measured, operations, side_by_side
from ..answers.subject import Subject
from ..answers.timeline import overlay, perfetto
from ..base import verification
from ..base.errors import UsageError
from ..base.files import Output
from ..base.ui import Ui, positive
from ..boards import setup, systems, targets
from ..model import ANY, ModelFile, arrays
from ..model.vela_versions import add_data_option, open_model

EPILOG = """\
A model that is not compiled is compiled first. The table has the estimated cycles of each layer
with the memories of the board; docs/latency.md explains the estimate. BOUND is what limits a layer:
the MAC array, the output unit, the issue of blocks, its start, a copy (DMA), a memory, or a port.

    ethosu profile kws.tflite --board BOARD

--on qemu runs the model on the emulated board, whose time is the sum of the NPU's cycles and the
CPU's instructions, at one per cycle. It repeats exactly, whatever else the host does. A board at a
port is measured with its own clock. "work" determines the energy of an inference: busy cycles of
each unit of the NPU, which work in parallel, bytes moved, and CPU instructions. PMU lists the NPU's
own counters.

    ethosu profile kws.tflite --on /dev/ttyACM0 --board BOARD

--operations lists the operations of the command stream: feature maps (type, height x width x depth,
@ region), bytes read and written, and cycles. Region 0 holds constants, region 1 tensors; region 2
is the fast scratch of memory mode Dedicated_Sram. Feature maps in a chain stay inside the NPU.

    ethosu profile kws.tflite --operations --maps maps.npz     # every output, as a numpy array

With a second model, NPU or board, both are shown layer by layer: those with the same name share a
row, and "-" marks a layer that one of them does not have. If both take the same inputs, their
outputs are compared on the simulator.

    ethosu profile kws.tflite --npu ethos-u55-128 --other-npu ethos-u55-256
    ethosu profile today_vela.tflite yesterday_vela.tflite

--perfetto draws one inference over time, with the instructions of each step of the CPU, counted on
an emulated board. Without an emulator, operators on the CPU take no time in the file, and a message
says so. Open it at https://ui.perfetto.dev, which keeps it in the browser, or with
chrome://tracing. --overlay writes what ExecuTorch's examples/arm/visualize.py takes as --trace; its
--tables is what `ethosu compile --debug-db FILE.xml` keeps.
"""
_HEAD = ("layer", "cycles", "share", "bound", "MACs", "bytes")
_LONGEST = 60  # longest name of a layer in the table
# Options that a comparison of two models does not support.
_OF_ONE = ("operations", "input", "maps", "perfetto", "overlay", "weights", "save")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help=ANY)
    parser.add_argument("other", type=Path, metavar="OTHER", nargs="?", help="compare it with this")
    add_data_option(parser)
    systems.add_options(parser)
    parser.add_argument("--weights", metavar="MEMORY", help="memory that holds the model")
    verification.add_option(parser)
    measure = parser.add_argument_group("measurement")
    measure.add_argument(
        "--on",
        default="sim",
        metavar="sim|qemu|PORT",
        help="estimate only, run on the emulated board, or on the board at a port (default: sim)",
    )
    measure.add_argument(
        "--count", type=positive, default=20, help="number of inferences (default: 20)"
    )
    measure.add_argument("--save", type=Path, metavar="CSV", help="add the point to this table")
    detail = parser.add_argument_group("operations of the NPU")
    detail.add_argument("--operations", action="store_true", help="list them")
    detail.add_argument(
        "--input", type=Path, metavar="NPZ", help="input arrays (default: random numbers)"
    )
    detail.add_argument(
        "--maps",
        type=Output,
        metavar="NPZ",
        help='save the OFM of each operation n here, under the key "n"',
    )
    others = parser.add_argument_group("time lines for other programs")
    others.add_argument(
        "--perfetto",
        type=Output,
        metavar="FILE",
        help="save NPU, DMA, CPU and interrupts on one time line here, for ui.perfetto.dev (.json, "
        "or .json.gz)",
    )
    others.add_argument(
        "--overlay",
        type=Output,
        metavar="JSON.GZ",
        help="save the NPU's read pointer over time here, for ExecuTorch's visualize.py --trace",
    )
    compare = parser.add_argument_group("comparison")
    systems.add_board(compare, "--other-board", "that of MODEL")
    targets.add_npu_option(
        compare, "NPU of the other (default: that of MODEL)", default=None, option="--other-npu"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Estimate the model by layer, and whatever else was asked for."""
    model = open_model(ui, args.model, args.data)
    if args.other or args.other_board or args.other_npu:
        return _compare(args, ui, model)
    if args.save and (args.on == "sim" or not args.board):
        raise UsageError("--save needs a measurement on a board: select it with --on and --board")
    if args.input and not (args.operations or args.maps):
        raise UsageError("--input is for --operations and --maps: the cycles do not depend on it")
    chosen = setup.resolve(model, args.board, args.npu, args.weights, ui=ui)
    measured.check(args.on, chosen)
    system = chosen.system
    ui.note(f"estimating for {system.name}")
    examined = subject.examine(model, system)
    if args.save and examined.estimate is None:
        raise UsageError(f"{args.model} has no NPU operators, so there is no point to save")
    facts = examined.as_dict()
    data = {"on": args.on, **facts, **measured.facts(examined)}
    if args.operations or args.maps:
        maps: dict[str, arrays.Array] = {}
        inputs = None
        if args.input:
            tensors = examined.file.description.inputs
            inputs = arrays.check(arrays.load(args.input), tensors).step(0)
        found = operations.record(examined, inputs, maps if args.maps else None)
        data |= found if args.operations else {}
        if args.maps:
            arrays.save(args.maps, maps)
    data |= _save_time_lines(args, ui, examined)
    if args.on != "sim":
        named = bool(args.board)
        with ui.progress("inferences") as update:
            data |= measured.measure(examined, args.on, args.count, chosen, update, named=named)
    if args.save:
        measured.save(args.save, model, data, system)
        data["saved"] = str(args.save)
    return data


def _compare(args: argparse.Namespace, ui: Ui, model: ModelFile) -> dict[str, Any]:
    """Estimate two models, and show them side by side."""
    wrong = [f"--{name}" for name in _OF_ONE if getattr(args, name)]
    wrong += ["--on"] if args.on != "sim" else []
    if wrong:
        raise UsageError(f"{' and '.join(wrong)} cannot be combined with a comparison")
    other = open_model(ui, args.other) if args.other else model
    npu = args.other_npu or (None if args.other_board else args.npu)
    both: list[Subject] = []
    for file, chosen in (
        (model, setup.resolve(model, args.board, args.npu, ui=ui)),
        (other, setup.resolve(other, args.other_board or args.board, npu, ui=ui)),
    ):
        system = chosen.system
        ui.note(f"estimating {file} on {system.npu}")
        both.append(subject.examine(file, system))
    return side_by_side.compare(*both)


def _save_time_lines(args: argparse.Namespace, ui: Ui, examined: Subject) -> dict[str, Any]:
    """Write the files of --perfetto and --overlay, with times on the board."""
    saved: dict[str, Any] = {}
    file, system = examined.file, examined.system
    if args.perfetto:
        ui.note("counting the CPU's instructions on an emulated board")
        timeline = perfetto.make(file, system)
        if timeline.unknown:
            ui.warn(timeline.unknown)
        perfetto.save(timeline.events, args.perfetto, timeline.facts)
        own = {"file": str(args.perfetto), "ms": timeline.milliseconds}
        saved["perfetto"] = own | timeline.facts
    if args.overlay:
        done = examined.estimate.operations if examined.estimate else []
        facts = {"model": str(file), "system": system.name, "unit": "cycles of the NPU"}
        perfetto.save(overlay.events(file, done), args.overlay, facts)
        saved["overlay"] = {"file": str(args.overlay), "system": system.name}
    return saved


def render(data: dict[str, Any]) -> str:
    """Format operations and layers as tables, followed by the times."""
    if "a" in data:
        return side_by_side.text(data)
    layers = [row | {"name": row["name"][:_LONGEST]} for row in data["layers"]]
    lines = [
        *(operations.text(data) if "operations" in data else []),
        views.text(_HEAD, views.cells(layers, _HEAD), *views.NUMBERS),
        "",
    ]
    estimate = data["estimate"]
    pairs = [("NPU", "none: the CPU computes everything")]
    if estimate:
        pairs = text.summary(estimate, measured="median_ms" in data)
    pairs += measured.lines(data)
    for name in ("perfetto", "overlay"):
        if name in data:
            time = f", {data[name]['ms']:.3g} ms" if "ms" in data[name] else ""
            pairs.append((name, f"{data[name]['file']}, on {data[name]['system']}{time}"))
    pairs += [("saved", data["saved"])] if "saved" in data else []
    return "\n".join([*lines, *(f"{key:<10} {line}".rstrip() for key, line in pairs)])
