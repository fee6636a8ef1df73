# SPDX-License-Identifier: MIT
"""`ethosu decode`: say what a pasted error or fault report means: layer, operator, cause."""

import argparse
import sys
from pathlib import Path
from typing import Any

from .. import decode
from ..errors import InputError
from ..files import read_whole
from ..ui import Ui

EPILOG = """\
Paste what the board printed: an exception, a report of a fault ("*** Fault: ..."), or the log of
Arm's driver. MODEL is the compiled file that ran; its table of operators (`ethosu compile` stores
one) names the layer.

    ethosu decode kws_vela.tflite log.txt
    mpremote run app.py 2>&1 | ethosu decode kws_vela.tflite --firmware firmware.elf
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("model", type=Path, help="the compiled model that ran")
    parser.add_argument(
        "text",
        type=_file,
        nargs="?",
        metavar="FILE",
        help="a file with what was printed (default: stdin)",
    )
    parser.add_argument(
        "--firmware", type=Path, metavar="ELF", help="names the functions of a fault report"
    )


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(
            f"{text!r} is no file: expected a file with what was printed, or the text at stdin"
        )
    return Path(text)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Read the text, understand it."""
    text = read_whole(args.text).decode(errors="replace") if args.text else sys.stdin.read()
    found = decode.decode(text, args.model, args.firmware)
    if not found:
        raise InputError(
            f"no message is known in these {len(text.splitlines())} lines: expected one of the "
            "driver (NPU stopped at byte ...), of the runtime (operator ... of subgraph ...), or a "
            "report of a fault (*** Fault: ...)"
        )
    return {"model": str(args.model), "found": [each.as_dict() for each in found]}


def render(data: dict[str, Any]) -> str:
    """A few lines for each message."""
    return "\n\n".join(_lines(each) for each in data["found"])


def _lines(found: dict[str, Any]) -> str:
    layer = found["layer"] or ("not known" if found["operator"] else "none: not at an operator")
    rows = [
        ("message", found["message"]),
        ("layer", layer),
        ("operator", found["operator"]),
        ("cause", found["cause"]),
        ("what to do", found["advice"]),
    ]
    return "\n".join(f"{key:<11}{value}" for key, value in rows if value)
