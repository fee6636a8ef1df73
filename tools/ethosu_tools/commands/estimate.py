# SPDX-License-Identifier: MIT
"""`ethosu estimate`: estimate how long an inference takes on a board, and what limits it."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .. import boards
from ..answers import cpu, roofline, text, views
from ..base import verification
from ..base.errors import InputError, UsageError
from ..base.files import Output
from ..base.ui import Ui
from ..boards import setup, systems, targets
from ..boards.systems import System
from ..compile import load
from ..model import ModelFile
from ..model.vela_versions import open_model
from ..sim import figures, fit, latency, table
from ..sim.latency import Latency
from ..sim.need import Need

EPILOG = """\
The estimate follows Vela's performance model, per operation, and adds what that model omits:
partial blocks at the edges, memory that is read again for each block, copies that overlap with
kernels, and the speeds of the chip's memories. docs/latency.md compares it with measurements of
chips. BOUND is what limits an operation: the MAC array, the output unit, the issue of blocks, its
start, a copy (DMA), a memory, or a port.

The interval comes from that comparison: 30 % below 0.2 ms, otherwise 20 %. Only a lower bound is
given where no chip was measured: for Ethos-U65 and U85, for weights or tensors outside the chip,
and for boards whose memory speeds are guesses. CPU time is not included; --cpu counts the CPU's
instructions and shows their time at one per cycle, and the minimum, at two per cycle. Slow memory
adds to it.

    ethosu estimate model.tflite --board BOARD
    ethosu estimate model.tflite --all
    ethosu estimate model.tflite --npu ethos-u55-128 --config mine.ini --system-config MY_CHIP
"""
# A hint must reduce the time at least by this factor.
WORTH = 0.95
_HEAD = ("layer", "cycles", "share", "bound", "MACs", "bytes")
_ALL_HEAD = ("system", "NPU", "MHz", "weights", "ms", "interval", "frames/s", "bound", "fits")
_LONGEST = 60  # of a layer's name in the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "models",
        type=Path,
        nargs="+",
        metavar="MODEL",
        help="a .tflite file, compiled or not; several only with --all",
    )
    systems.add_options(parser)
    parser.add_argument("--weights", metavar="MEMORY", help="memory that holds the weights")
    parser.add_argument("--all", action="store_true", help="compare all boards and all NPUs")
    parser.add_argument(
        "--config", type=Path, metavar="INI", help="your own Vela configuration file"
    )
    parser.add_argument("--system-config", help="section of that file: clock and memories")
    parser.add_argument(
        "--memory-mode",
        default="Shared_Sram",
        help="placement of weights and tensors (default: Shared_Sram)",
    )
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="count the instructions of driver, runtime and CPU operators on an emulated board",
    )
    fit.add_reserve_option(parser)
    verification.add_option(parser)
    parser.add_argument("--picture", type=Output, metavar="SVG", help="save a roofline plot here")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Compile the model if needed, and estimate."""
    if args.all:
        if args.board or args.config or args.weights or args.picture or args.cpu:
            raise UsageError(
                "--all compares all boards; it cannot be combined with --board, --config, "
                "--weights, --picture or --cpu"
            )
        return {"models": [str(model) for model in args.models], "all": list(_all(args, ui))}
    if len(args.models) > 1:
        raise UsageError(f"{len(args.models)} models are only accepted with --all")
    model = open_model(ui, args.models[0])
    system = _system(args, ui, model)
    file = load.compile_for(model, system)
    estimate = latency.estimate(file, system)
    rows = table.by_operator(file, estimate.operations, system.memories)
    peak = views.peak(system.npu)
    own: dict[str, Any] = {}
    if args.cpu:
        ui.note("counting instructions on an emulated board")
        count = cpu.instructions(file)
        time, least = cpu.milliseconds(count, system) if system.cpu_mhz else (None, None)
        clock = system.cpu_mhz
        own["cpu"] = {"instructions": count, "clock_mhz": clock, "ms": time, "low_ms": least}
        estimate = replace(estimate, cpu_ms=least or 0.0)
    data = {
        "model": str(model),
        **own,
        **estimate.as_dict(),
        "operators": [views.as_dict(row, estimate.cycles, peak) for row in rows],
        "hints": hints(model, file, estimate, args.reserve),
    }
    need = Need.of(latency.as_written(model, file, system.name))
    if fits := fit.on_board(need, system, args.reserve):
        data["fit"] = fits.as_dict()
    if point := boards.blind_point(system.name):
        data["blind_point"] = asdict(point)
    if args.picture:
        roofline.save(estimate, rows, args.picture)
        data["picture"] = str(args.picture)
    return data


def hints(model: ModelFile, compiled: ModelFile, estimate: Latency, reserve: int = 0) -> list[str]:
    """Suggest other memories for the weights, and the family's largest NPU, if they are faster."""
    system = estimate.system
    others = [
        (_with_weights(memory, system), compiled, system.with_weights(memory))
        for memory in system.weight_memories
        if memory != system.weights.name
    ]
    family = system.npu.rpartition("-")[0]
    largest = [npu for npu in targets.NPUS if npu.startswith(family)][-1]
    if largest != system.npu and compiled is not model:
        other = system.with_npu(largest)
        names = [board.name for board in boards.every() if largest in board.npus]
        change = f"with an {largest}" + (f" ({', '.join(names)})" if names else "")
        others.append((change, load.compile_for(model, other), other))
    lines = []
    for change, file, other in others:
        gain = latency.estimate(file, other)
        fits = _fit(model, file, other, reserve) if other.npu == system.npu else None
        if fits and fits["short"]:
            continue
        if not gain.is_bound and gain.milliseconds < WORTH * estimate.milliseconds:
            lines.append(f"{change}: {text.figure(gain.as_dict())}")
    return lines


def _with_weights(memory: str, system: System) -> str:
    """Describe weights in another memory, and how to put them there."""
    how = f"--weights {memory}"
    if memory == system.tensors.name:  # the heap's
        how += "; on the board: ethosu.Model(open('/rom/NAME', 'rb').read())"
    return f"with the weights in {memory} ({how})"


def _system(args: argparse.Namespace, ui: Ui, model: ModelFile) -> System:
    if args.config:
        if not (args.npu and args.system_config) or args.board or args.weights:
            raise UsageError(
                "--config needs --npu and --system-config, and excludes --board and --weights"
            )
        return systems.custom(args.npu, args.config, args.system_config, args.memory_mode)
    if args.system_config:
        raise UsageError("--system-config is a section of the file given by --config")
    return setup.resolve(model, args.board, args.npu, args.weights, ui=ui).system


def _all(args: argparse.Namespace, ui: Ui) -> Iterator[dict[str, Any]]:
    """A row for each model on each board, chip and placement, and each NPU in a typical system."""
    selected = [system for system in systems.every() if args.npu in (None, system.npu)]
    models = [open_model(ui, model) for model in args.models]
    pairs = [(model, system) for model in models for system in selected]
    with ui.progress("estimating") as update:
        for done, (model, system) in enumerate(pairs):
            update(done, len(pairs))
            row = {
                "model": str(model),
                "system": system.name,
                "npu": system.npu,
                "clock_mhz": system.clock_hz / 1e6,
                "weights": system.weights.name,
            }
            own = model.description.npu
            if own not in (None, system.npu):
                yield row | {"error": f"{model} is compiled for {own}; other NPUs are omitted"}
                continue
            try:
                compiled = load.compile_for(model, system)
                estimate = latency.estimate(compiled, system)
                fits = _fit(model, compiled, system, args.reserve)
            except InputError as error:  # such as too large for this system
                yield row | {"error": str(error)}
                continue
            row |= estimate.as_dict()
            del row["layers"]
            yield row | {"fit": fits}


def _fit(
    model: ModelFile, compiled: ModelFile, system: System, reserve: int
) -> dict[str, Any] | None:
    """The comparison with the board; None for a chip or example, whose heap is unknown."""
    if not system.board:
        return None
    need = Need.of(latency.as_written(model, compiled, system.name))
    found = fit.on_board(need, system, reserve)
    return found.as_dict() if found else None


def render(data: dict[str, Any]) -> str:
    """The table of layers, followed by the summary; with --all, one table of systems."""
    if "all" in data:
        one = len(data["models"]) == 1
        rows = [_row(row) for row in data["all"] if "error" not in row]
        lines = views.text(_ALL_HEAD, rows, "ms") if one else _pivot(data["models"], data["all"])
        errors = dict.fromkeys(row["error"] for row in data["all"] if "error" in row)
        return "\n".join([lines, "", *(errors if one else []), *text.LEGEND])
    layers = [row | {"name": row["name"][:_LONGEST]} for row in data["operators"]]
    return "\n".join(
        [
            views.text(_HEAD, views.cells(layers, _HEAD), *views.NUMBERS),
            "",
            *(f"{key:<10} {line}" for key, line in text.summary(data)),
        ]
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    outside = row["high_ms"] is None and row["basis"] != figures.UNCHECKED
    bound = next(iter(row["bounds"].items()), ("", 0.0))
    return (
        row["system"],
        row["npu"],
        f"{row['clock_mhz']:g}",
        row["weights"],
        "" if outside else f"{row['ms']:.3g}",
        text.interval(row),
        text.frames(row).removesuffix(" frames/s").replace("at most ", "<= "),
        f"{bound[0]} {bound[1]:.0%}",
        "" if row["fit"] is None else fit.in_a_word(row["fit"]),
    )


def _pivot(models: list[str], rows: list[dict[str, Any]]) -> str:
    """A line for each system, a column for each model."""
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        key = row["system"], row["npu"], f"{row['clock_mhz']:g}", row["weights"]
        cell = "-" if "error" in row else text.figure(row).replace("at least", ">=")
        lines.setdefault(key, {})[row["model"]] = cell.replace(" ms", "")
    head = ("system", "NPU", "MHz", "weights", *(Path(model).stem for model in models))
    return views.text(
        head, [(*key, *(cells.get(model, "-") for model in models)) for key, cells in lines.items()]
    )
