# SPDX-License-Identifier: MIT
"""`ethosu build`: build the firmware of a board."""

import argparse
import subprocess
import sys
from typing import Any

from .. import boards, paths
from ..errors import SetupError
from ..ui import Ui

EPILOG = """\
It runs `make firmware BOARD=BOARD` in the source tree, which says what is missing. The image is
build/firmware/BOARD/firmware.elf, with firmware.bin next to it where tools that flash want that.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument(
        "board", type=boards.argument, metavar="BOARD", help=", ".join(boards.names())
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Have make build it; what it prints is progress, and so goes to stderr."""
    if not paths.can_build():
        raise SetupError(
            f"{paths.root()} is no source tree to build in: set ETHOSU_ROOT to one. "
            f"The image of {args.board} that is here: {paths.firmware(args.board)}"
        )
    command = ["make", "--no-print-directory", "firmware", f"BOARD={args.board}"]
    output = subprocess.DEVNULL if args.quiet else sys.stderr.fileno()
    try:
        done = subprocess.run(command, cwd=paths.root(), stdout=output, check=False)
    except FileNotFoundError:
        raise SetupError("make is not installed; on Debian: apt-get install make") from None
    if done.returncode:
        raise SetupError(f"the firmware for {args.board} did not build; make's lines say why")
    folder = paths.firmware(args.board).parent
    files = [
        path for path in map(folder.joinpath, ("firmware.elf", "firmware.bin")) if path.is_file()
    ]
    return {
        "board": args.board,
        "files": [str(path) for path in files],
        "bytes": [path.stat().st_size for path in files],
    }


def render(data: dict[str, Any]) -> str:
    """Say what was made."""
    return "\n".join(
        f"{path}  {size:,} bytes" for path, size in zip(data["files"], data["bytes"], strict=True)
    )
