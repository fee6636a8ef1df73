# SPDX-License-Identifier: MIT
"""`ethosu strip`: remove the parts of an ExecuTorch program that no board needs."""

import argparse
from pathlib import Path
from typing import Any

from .. import verification
from ..errors import InputError
from ..executorch import strip_checked
from ..files import write_whole
from ..model import PROGRAM, reading
from ..ui import Ui
from ..vela_versions import open_model
from .inspect import add_data_option

EPILOG = """\
Exporters leave unused constants in ExecuTorch programs and, in compile specs, options of the
compiler and paths of the machine that it ran on. Both programs are run on the simulated NPU, and
their outputs must be equal.

    ethosu strip kws.pte -o kws_small.pte
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help=f"an ExecuTorch program ({PROGRAM.suffix})")
    add_data_option(parser)
    verification.add_option(parser)
    parser.add_argument(
        "-o", "--output", type=Path, help="stripped program (default: MODEL itself)"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Strip it, compare, write it."""
    file = open_model(ui, args.model, args.data)
    if file.kind is not PROGRAM:
        raise InputError(
            f"{file} is not an ExecuTorch program ({PROGRAM.suffix}), so it cannot be stripped"
        )
    with reading(file):
        result = strip_checked(file).data
    output = args.output or args.model
    write_whole(output, result)
    return {
        "model": str(args.model),
        "output": str(output),
        "bytes": len(result),
        "before": len(file.data),
    }


def render(data: dict[str, Any]) -> str:
    """Report the size saved."""
    return (
        f"{data['output']}: {data['bytes']:,} bytes, {data['before'] - data['bytes']:,} fewer; "
        "its outputs are the same"
    )
