# SPDX-License-Identifier: MIT
"""`ethosu plan`: plan the arena of a compiled model, with scratch for CPU operators."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import boards, fit, plan, verification
from ..errors import InputError, UsageError
from ..files import Output, write_whole
from ..layers import memory, table
from ..model import ANY, ModelFile, ProgramDescription
from ..plan import picture
from ..sim import Simulation
from ..ui import Ui
from ..vela_versions import open_model
from .inspect import add_data_option

EPILOG = """\
`ethosu compile` does this as well; plan a model again if a newer runtime requires it. Without -o,
no model is written. Tensors that the NPU addresses stay where Vela put them. The plan is stored as
metadata of the file (OfflineMemoryAllocation and ethosu_plan). The rest of the file is unchanged,
so other runtimes can still read it. The last line says whether the planned model fits a board.

ExecuTorch programs are already planned by their exporter. For these no model is written; the
command shows the parts of the arena, what the NPU's operations write to its scratch over time, and
how many inputs and outputs of delegates are used in place, without a copy.

    ethosu plan model_vela.tflite                       show the plan
    ethosu plan model_vela.tflite --picture arena.svg
    ethosu plan build/*.tflite                          a table of sizes
    ethosu plan model_vela.tflite -o planned.tflite     save it; may overwrite the input file
    ethosu plan --overlap model_vela.tflite             let the CPU work while the NPU runs
    ethosu plan --cmsis-nn model_vela.tflite            for firmware with CMSIS-NN
    ethosu plan model_vela.tflite --board BOARD --reserve 300K      does it fit?
    ethosu plan model.pte --picture scratch.svg
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help=ANY)
    add_data_option(parser)
    boards.add_option(parser, "the board that it has to fit", boards.DEFAULT_HELP)
    fit.add_reserve_option(parser)
    verification.add_option(parser)
    parser.add_argument("-o", "--output", type=Path, help="save the planned model here")
    parser.add_argument(
        "--overlap",
        action="store_true",
        help="let the CPU work while the NPU runs, even if that needs a larger arena",
    )
    add_cmsis_option(parser)
    parser.add_argument(
        "--picture", type=Output, metavar="FILE", help="draw the arena over time (.svg or .html)"
    )


def add_cmsis_option(parser: argparse.ArgumentParser) -> None:
    """Declare --cmsis-nn."""
    text = "plan for firmware built with CMSIS_NN_DIR"
    parser.add_argument("--cmsis-nn", action="store_true", help=text)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Plan each model."""
    if len(args.models) > 1 and (args.output or args.picture):
        raise UsageError(f"--output and --picture take one model, not {len(args.models)}")
    files = [open_model(ui, model, args.data) for model in args.models]
    if any(file.is_program for file in files):
        return _plan_programs(args, files)
    if args.picture:
        picture.check_name(args.picture)
    rows = []
    with ui.progress("planning") as update:
        for index, file in enumerate(files):
            update(index, len(files))
            row: dict[str, Any] = {"model": str(file)}
            row["output"] = args.output and str(args.output)
            made, data = plan.plan_model(file, overlap=args.overlap, cmsis_nn=args.cmsis_nn)
            if args.output:
                write_whole(args.output, data)
            # Without -o, a model that needs no plan stays as it is.
            fitted = file.with_data(data) if args.output or plan.needs_plan(file) else file
            rows.append(row | made.as_dict() | _fit(args, fitted))
    if args.picture:
        picture.save(rows[0], args.picture)
        rows[0]["picture"] = str(args.picture)
    before = sum(row["arena_before"] or row["arena"] for row in rows)
    return {"models": rows, "gain": before - sum(row["arena"] for row in rows)}


def _fit(args: argparse.Namespace, planned: ModelFile) -> dict[str, Any]:
    """Whether it fits the board: the named one, the file's, or the default; or why not known."""
    if not planned.description.compiled:
        return {"unchecked": "whether it fits a board: it is not compiled"}
    if args.cmsis_nn:
        return {"unchecked": "whether it fits a board: the library of the PC has no CMSIS-NN"}
    name = args.board or planned.board or boards.chosen().name
    try:
        found = fit.on_board(fit.need_of(planned), name, args.reserve)
    except InputError as error:  # the plan is right, but the runtime rejects something else
        return {"unchecked": str(error)}
    return {"fit": found.as_dict()} if found else {"unchecked": f"{name} has no known heap"}


def render_fit(row: dict[str, Any]) -> list[str]:
    """The lines of "fit" or "unchecked", if there are any."""
    lines = [f"fits       {fit.describe(row['fit'])}"] if "fit" in row else []
    return lines + [f"{key:<10} {row[key]}" for key in ("refused", "unchecked") if key in row]


def _plan_programs(args: argparse.Namespace, files: Sequence[ModelFile]) -> dict[str, Any]:
    """Describe the plans of ExecuTorch programs, as stored in the file and as loaded."""
    if args.output or args.overlap or args.cmsis_nn:
        raise UsageError(
            "ExecuTorch programs are planned by their exporter: --output, --overlap and --cmsis-nn "
            "do not apply"
        )
    if args.picture:
        picture.check_name(args.picture)
    rows = []
    for file in files:
        description = file.description
        if not isinstance(description, ProgramDescription):
            raise UsageError(f"{file} is not an ExecuTorch program; plan it in a separate command")
        with Simulation(file) as simulation:
            info = simulation.info()
        operations = table.record(file)
        copies = info["cpu_steps"] - sum(description.cpu_operators.values())
        rows.append(
            {
                "model": str(file),
                "arena": info["arena_size"],
                "planned": description.planned_bytes,
                "scratch": info["scratch_size"],
                "fast_scratch": info["fast_scratch_size"],
                "state": description.state_bytes,
                "delegate_io": description.delegate_io,
                "copies": max(copies, 0),
                "npu": memory.scratch(file, operations, info["scratch_size"]),
                **_fit(args, file),
            }
        )
    if args.picture:
        picture.save(rows[0]["npu"], args.picture)
        rows[0]["picture"] = str(args.picture)
    return {"programs": rows}


def _render_program(row: dict[str, Any]) -> str:
    drawn = [picture.draw_text(row["npu"]), ""] if row["npu"]["blocks"] else []
    return "\n".join(
        [
            *drawn,
            f"model      {row['model']}",
            f"arena      {row['arena']:,} bytes: {row['planned']:,} planned by the exporter, "
            f"{row['scratch']:,} of scratch, {row['fast_scratch']:,} of fast scratch",
            f"state      {row['state']:,} bytes of the planned memory persist between runs",
            f"in place   {row['copies']} of {row['delegate_io']} inputs and outputs of delegates "
            "are copied",
            *render_fit(row),
            *([f"picture    {row['picture']}"] if "picture" in row else []),
        ]
    )


def render(data: dict[str, Any]) -> str:
    """One model in full, several as a table."""
    if "programs" in data:
        return "\n\n".join(map(_render_program, data["programs"]))
    rows = data["models"]
    if len(rows) > 1:
        return _table(rows, data["gain"])
    row = rows[0]
    lines = [picture.draw_text(row), "", f"arena      {render_sizes(row)}"]
    lines += [
        f"concurrent with operator {call} (ethos-u): {', '.join(names)}"
        for call, names in row["concurrent"].items()
    ]
    lines += render_fit(row)
    lines += [f"{key:<10} {row[key]}" for key in ("output", "picture") if row.get(key)]
    return "\n".join(lines)


def render_sizes(row: dict[str, Any]) -> str:
    """One line with sizes and gain."""
    text = f"{row['arena']:,} bytes"
    if row["largest_scratch"]:
        text += f", up to {row['largest_scratch']:,} for a CPU operator's scratch"
    if row["fast_scratch"]:
        text += f", and {row['fast_scratch']:,} of fast scratch, after the arena or elsewhere"
    if row["arena_before"] is None or not row["gain"]:
        return text
    change = "saved" if row["gain"] > 0 else "more, so that the CPU can work while the NPU runs"
    return f"{text}; {row['arena_before']:,} without a plan: {abs(row['gain']):,} bytes {change}"


def _table(rows: list[dict[str, Any]], gain: int) -> str:
    fits = [fit.in_a_word(row["fit"]) if "fit" in row else "-" for row in rows]
    wide = max(4, *map(len, fits))
    lines = [f"{'arena':>12} {'Vela + scratch':>15} {'gain':>10}  {'fits':<{wide}}  model"]
    for row, fitting in zip(rows, fits, strict=True):
        before, gained = (
            ("-", "-") if row["gain"] is None else (f"{row['arena_before']:,}", f"{row['gain']:,}")
        )
        sizes = f"{row['arena']:>12,} {before:>15} {gained:>10}"
        lines.append(f"{sizes}  {fitting:<{wide}}  {row['model']}")
    return "\n".join([*lines, f"{gain:>39,}  total"])
