# SPDX-License-Identifier: MIT
"""`ethosu report`: write one page about a model: layers, memory over time, traffic, proof."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..answers import answer, page, subject
from ..answers.on_boards import STEPS, Examination, Row
from ..answers.subject import Subject
from ..base import verification
from ..base.errors import MismatchError
from ..base.files import Output, write_whole
from ..base.ui import Ui, positive
from ..boards import setup, systems
from ..boards.setup import BoardSetup
from ..compile import load, reasons
from ..model import ANY, ModelFile
from ..model.vela_versions import open_model
from ..sim import fit, latency

EPILOG = """\
The page is a single file without scripts or network access. It begins with the answer of
`ethosu check`: which boards run the model, how fast, how exactly. Then come Vela's reasons for
operators on the CPU, and the layers on one board, or NPU: --board, --npu. A model that is not
compiled is compiled for each board; one of over 1 MB for this NPU only. Its outputs are
compared with TFLite's reference kernels. For a compiled model, pass the original with --reference.
If values differ from those of a quantised model, the page is still written, and the exit code is 6.

    ethosu report model.tflite --npu ethos-u55-128 -o report.html
    ethosu report model_vela.tflite --reference model.tflite --board BOARD
"""
# Bytes of a model above which Vela takes too long to compile it for each board.
_LARGE = 1 << 20
_ONCE = (
    "Boards with another NPU are not listed: a model of over 1 MB is compiled once here; "
    "`ethosu check` compiles it for each board."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help=ANY)
    parser.add_argument("-o", "--output", type=Output, metavar="HTML", help="default: MODEL.html")
    systems.add_options(parser)
    parser.add_argument(
        "--reference", type=Path, metavar="MODEL", help="the original model, before compilation"
    )
    parser.add_argument(
        "--steps",
        type=positive,
        default=STEPS,
        help=f"number of random inputs to compare (default: {STEPS})",
    )
    fit.add_reserve_option(parser)
    verification.add_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Analyse the model and write the page."""
    output = args.output or Path(f"{args.model.stem}.html")
    model = open_model(ui, args.model)
    chosen = setup.resolve(model, args.board, args.npu, ui=ui)
    system = chosen.system
    ui.note(f"estimating {args.model} on {system.npu}")
    reference = args.reference and ModelFile(args.reference)
    examined = subject.examine(model, system, reference, args.reserve)
    examination = _examination(model, examined, args, ui)
    once = examination.file is not model
    rows = [row for row in _rows(examination, examined, chosen) if not once or row.run is not None]
    run = examination.run(system)
    found: dict[str, Any] = {
        "boards": [row.as_dict() for row in rows],
        "runs": [each.as_dict() for each in examination.runs],
        "cpu_operators": examination.cpu_operators,
        "reasons": load.reasons_for(model, system),
        "note": _ONCE if once else "",
    }
    said = {"verdict": answer.verdict(found), "speed": answer.speed(found["boards"][0])}
    data = {**said, **examined.as_dict(), **found, "reference": run.proof, "output": str(output)}
    write_whole(output, page.build(examined, data).encode())
    if run.differing and examined.source and examined.source.is_quantised:
        ui.result(data, render(data))
        raise MismatchError(
            f"{run.differing:,} of {run.values:,} values differ from the reference "
            f"{examined.source}"
        )
    return data


def _examination(
    model: ModelFile, examined: Subject, args: argparse.Namespace, ui: Ui
) -> Examination:
    """Of the model for all boards; of a large one, only of the form that is compiled already."""
    file, source = model, examined.source
    if len(model.data) > _LARGE:
        file = latency.as_written(model, examined.file, examined.system.name)
    reference = source if file.description.compiled else None
    return Examination(file, reference, ui, steps=args.steps, reserve=args.reserve)


def _rows(examination: Examination, examined: Subject, chosen: BoardSetup) -> Iterator[Row]:
    """The system of the report, which may be a chip or have another NPU, then all boards."""
    yield examination.row(chosen, examined.estimate)
    one = examination.file.description.compiled  # a form for one NPU: a row for each board
    for each in setup.every(examination.file):
        if each.name != chosen.name or not (one or each.npu == chosen.npu):
            yield examination.row(each)


def render(data: dict[str, Any]) -> str:
    """The answer first, then why, then the figures, and where the page is."""
    cycles = f", {data['cycles']:,} cycles of {data['npu']}" if data["npu"] else ""
    lines = [*answer.wrapped(data["verdict"]), *answer.wrapped(data["speed"]), ""]
    lines += [*answer.lines(data), *answer.wrapped(data["note"]), ""]
    if data["reasons"]:
        rows = [line for group in reasons.text(data["reasons"]) for line in group]
        lines += ["Vela's reasons:", *(f"  {row}" for row in rows), ""]
    lines.append(
        f"{data['model']}: {len(data['layers'])} layers{cycles}, {data['arena']:,} of arena"
    )
    lines += [f"fits       {fit.describe(data['fit'])}"] if data["fit"] else []
    return "\n".join([*lines, f"report     {data['output']}"])
