# SPDX-License-Identifier: MIT
"""`ethosu inspect`: show what models contain, and how their memory is used."""

import argparse
from pathlib import Path
from typing import Any

from ..answers import contents
from ..answers.pictures import arena, picture
from ..base.errors import UsageError
from ..base.files import Output
from ..base.ui import Ui
from ..model import ANY, ModelFile
from ..model.tflite import signatures
from ..model.vela_versions import add_data_option, warn

EPILOG = """\
--memory draws the arena over time: which tensor and which scratch is where, while each operator
runs. The plan is that of `ethosu compile`, and is not stored. ExecuTorch programs are planned by
their exporter; of these the NPU's scratch is drawn, and the line "in place" says how many inputs
and outputs of delegates are used without a copy.

    ethosu inspect model_vela.tflite --memory             as text
    ethosu inspect model_vela.tflite --memory arena.svg   or .html
    ethosu inspect build/*.tflite --memory                a table of sizes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help=ANY)
    add_data_option(parser)
    signatures.add_option(parser)
    parser.add_argument(
        "--memory",
        nargs="?",
        type=Output,
        const=True,
        metavar="FILE",
        help="show the arena over time, or draw it into this file (.svg or .html)",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Describe the models."""
    drawn = args.memory if isinstance(args.memory, Path) else None
    if drawn:
        picture.check_name(drawn)
    several = len(args.models) > 1
    if several and (drawn or args.signature):
        raise UsageError(f"a picture and --signature are of one model, not of {len(args.models)}")
    rows = []
    for model in args.models:
        whole = ModelFile(model, args.data)
        warn(ui, whole)
        file = signatures.select(whole, args.signature)
        memory = {"memory": arena.of(file)} if args.memory else {}
        rows.append(contents.describe(file) | memory)
        if drawn:
            arena.save(memory["memory"], drawn)
            rows[0]["picture"] = str(drawn)
    return {"models": rows} if several else rows[0]


def render(data: dict[str, Any]) -> str:
    """Format one model in full, several as a table."""
    return contents.table(data["models"]) if "models" in data else contents.text(data)
