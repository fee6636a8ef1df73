# SPDX-License-Identifier: MIT
"""`ethosu report`: write one page about a model: layers, memory over time, traffic, proof."""

import argparse
from pathlib import Path
from typing import Any

from .. import fit, verification
from ..errors import MismatchError
from ..estimate import systems
from ..files import write_whole
from ..layers import page, subject
from ..model import ANY, ModelFile
from ..ui import Ui, positive
from ..vela_versions import open_model

EPILOG = """\
The page is a single file without scripts or network access. A model that is not compiled is
compiled for the NPU of the board or of --npu, and its outputs are compared with TFLite's reference
kernels. For a compiled model, pass the original with --reference. If values differ from those of a
quantised model, the page is still written, and the exit code is 6.

    ethosu report model.tflite --npu ethos-u55-128 -o report.html
    ethosu report model_vela.tflite --reference model.tflite --board BOARD
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help=ANY)
    parser.add_argument("-o", "--output", type=Path, metavar="HTML", help="default: MODEL.html")
    systems.add_options(parser)
    parser.add_argument(
        "--reference", type=Path, metavar="MODEL", help="the original model, before compilation"
    )
    parser.add_argument(
        "--steps", type=positive, default=3, help="number of random inputs to compare (default: 3)"
    )
    fit.add_reserve_option(parser)
    verification.add_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Analyse the model and write the page."""
    output = args.output or Path(f"{args.model.stem}.html")
    model = open_model(ui, args.model)
    system = systems.chosen(model, args.board, args.npu)
    ui.note(f"estimating {args.model} on {system.npu}")
    reference = args.reference and ModelFile(args.reference)
    examined = subject.examine(model, system, reference, args.reserve)
    ui.note("comparing with the reference kernels")
    proof = subject.compare_with_reference(examined, args.steps)
    write_whole(output, page.build(examined, proof).encode())
    data = {**examined.as_dict(), "reference": proof, "output": str(output)}
    if proof.get("differing") and examined.source and examined.source.is_quantised:
        ui.result(data, render(data))
        raise MismatchError(
            f"{proof['differing']:,} of {proof['values']:,} values differ from the reference "
            f"{examined.source}"
        )
    return data


def render(data: dict[str, Any]) -> str:
    """The figures, and where the page is."""
    cycles = f", {data['cycles']:,} cycles of {data['npu']}" if data["npu"] else ""
    return "\n".join(
        [
            f"{data['model']}: {len(data['layers'])} layers{cycles}, {data['arena']:,} of arena",
            *([f"fits       {fit.describe(data['fit'])}"] if data["fit"] else []),
            "reference  {}".format(page.verdict(data["reference"])[2]),
            f"report     {data['output']}",
        ]
    )
