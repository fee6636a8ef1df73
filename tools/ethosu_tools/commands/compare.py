# SPDX-License-Identifier: MIT
"""`ethosu compare`: compare two models, or one on two NPUs or boards, layer by layer."""

import argparse
from pathlib import Path
from typing import Any

from .. import arrays, sim, vela
from ..errors import InputError, UsageError
from ..estimate import systems
from ..layers import subject, views
from ..layers.subject import Subject
from ..layers.views import cell
from ..ui import Ui, positive
from ..vela_versions import open_model

EPILOG = """\
Layers with the same name share a row; "-" marks a layer that one of the models does not have. A
model that is not compiled is compiled first. If both models take the same inputs, their outputs are
compared on the simulator.

    ethosu compare model.tflite --npu ethos-u55-128 --other-npu ethos-u55-256
    ethosu compare model.tflite pruned.tflite --board BOARD
    ethosu compare today_vela.tflite yesterday_vela.tflite
"""
_HEAD = ("layer", "A cycles", "B cycles", "B - A", "A bytes", "B bytes", "A bound", "B bound")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="A", help="a .tflite file, compiled or not")
    parser.add_argument("other", type=Path, metavar="B", nargs="?", help="another one (default: A)")
    systems.add_options(parser)
    systems.add_board(parser, "--other-board", "that of A")
    vela.add_npu_option(parser, "NPU of B (default: that of A)", default=None, option="--other-npu")
    parser.add_argument(
        "--steps", type=positive, default=3, help="number of random inputs to compare (default: 3)"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Estimate both models and compare their outputs."""
    if not (args.other or args.other_board or args.other_npu):
        raise UsageError(
            "nothing to compare with: pass a second model, --other-npu or --other-board"
        )
    model = open_model(ui, args.model)
    other = open_model(ui, args.other) if args.other else model
    npu = args.other_npu or (None if args.other_board else args.npu)
    pair = (
        (model, systems.chosen(model, args.board, args.npu)),
        (other, systems.chosen(other, args.other_board or args.board, npu)),
    )
    both: list[Subject] = []
    for file, system in pair:
        ui.note(f"estimating {file} on {system.npu}")
        both.append(subject.examine(file, system))
    a, b = both
    return {
        "a": a.as_dict(),
        "b": b.as_dict(),
        "layers": side_by_side(a, b),
        "outputs": compare_outputs(a, b, args.steps),
    }


def side_by_side(a: Subject, b: Subject) -> list[dict[str, Any]]:
    """One row per layer name, in A's order, followed by the layers that only B has."""
    rows: dict[str, dict[str, Any]] = {}
    for key, model in (("a", a), ("b", b)):
        peak = views.peak(model.system.npu)
        for layer in model.layers:
            row = rows.setdefault(layer.name, {"name": layer.name, "a": None, "b": None})
            row[key] = views.as_dict(layer, model.cycles, peak)
    return list(rows.values())


def compare_outputs(a: Subject, b: Subject, steps: int) -> dict[str, Any]:
    """How far outputs differ for the same inputs; "why" is the reason if they were not compared."""
    try:
        given = arrays.random_steps(a.file.description.inputs, steps)
        return subject.difference(sim.outputs(a.file, given), sim.outputs(b.file, given))
    except InputError as error:
        return {"why": str(error)}


def render(data: dict[str, Any]) -> str:
    """The layers, followed by the totals."""
    lines = [views.text(_HEAD, [_row(row) for row in data["layers"]], *_HEAD[1:6]), ""]
    for name, model in (("A", data["a"]), ("B", data["b"])):
        lines.append(f"{name}  {model['model']} on {model['npu'] or 'the CPU'}, {model['system']}")
    for key in ("cycles", "arena", "bytes"):
        first, second = data["a"][key], data["b"][key]
        change = f" ({second / first - 1:+.1%})" if first else ""
        lines.append(f"{key:<10} {first:,} -> {second:,}{change}")
    figures = data["outputs"]
    outputs = f"not compared: {figures['why']}" if "why" in figures else views.difference(figures)
    return "\n".join([*lines, f"outputs    {outputs}"])


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    both = row["a"], row["b"]
    cycles = [layer and layer["cycles"] for layer in both]
    return (
        row["name"],
        *(cell(layer, "cycles") for layer in both),
        "" if None in cycles else f"{cycles[1] - cycles[0]:+,}",
        *(cell(layer, "bytes") for layer in both),
        *(cell(layer, "bound") for layer in both),
    )
