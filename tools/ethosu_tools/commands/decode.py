# SPDX-License-Identifier: MIT
"""`ethosu decode`: explain a pasted error or fault report: layer, operator, cause."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import read_whole
from ..base.ui import Ui
from ..debug import decode
from ..model.vela_versions import open_model

EPILOG = """\
Paste output of the board: an exception, a fault report ("*** Fault: ..."), the log of Arm's driver,
or a message of TFLite Micro, OpenMV, SSCMA, ExecuTorch, Vela or an FVP. MODEL is the file that ran.
The debug table of a compiled one, which `ethosu compile` stores by default, gives the name of the
layer.

    ethosu decode kws_vela.tflite log.txt
    mpremote run app.py 2>&1 | ethosu decode kws_vela.tflite --firmware firmware.elf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="the model that ran")
    parser.add_argument(
        "text",
        type=_file,
        nargs="?",
        metavar="FILE",
        help="a file with the board's output (default: stdin)",
    )
    parser.add_argument(
        "--firmware",
        type=Path,
        metavar="ELF",
        help="firmware image, to name the functions in a fault report",
    )


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a file: expected a file with the board's output, or the text on stdin"
        )
    return Path(text)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Read the text and decode it."""
    text = read_whole(args.text).decode(errors="replace") if args.text else sys.stdin.read()
    file = open_model(ui, args.model)
    findings = decode.decode(text, file, args.firmware)
    if not file.description.compiled and any(" byte " in finding.message for finding in findings):
        ui.warn(f"{file} is not compiled: pass the file that runs on the board to see the layer")
    if not findings:
        raise InputError(
            f"no known message found (lines read: {len(text.splitlines())}): expected one of the "
            "driver (NPU stopped at byte ...), one of the runtime (operator ... of subgraph ...), "
            "a fault report (*** Fault: ...), or one of another runtime, whose rules "
            "`ethosu check MODEL` applies"
        )
    return {"model": str(args.model), "found": [asdict(finding) for finding in findings]}


def render(data: dict[str, Any]) -> str:
    """A few lines for each message."""
    return "\n\n".join(_lines(each) for each in data["found"])


def _lines(finding: dict[str, Any]) -> str:
    layer = finding["layer"] or ("unknown" if finding["operator"] else "none: not at an operator")
    rows = [
        ("message", finding["message"]),
        ("layer", layer),
        ("operator", finding["operator"]),
        ("cause", finding["cause"]),
        ("what to do", finding["advice"]),
    ]
    return "\n".join(f"{key:<11}{value}" for key, value in rows if value)
