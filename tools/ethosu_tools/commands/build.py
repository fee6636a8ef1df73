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
Runs `make firmware BOARD=BOARD` in the source tree, which reports missing prerequisites. The image
is build/firmware/BOARD/firmware.elf, with firmware.bin next to it if the board's flash tool needs
it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    boards.add_positional(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run make; its output is progress and therefore goes to stderr."""
    if not paths.can_build():
        raise SetupError(
            f"{paths.root()} is not a source tree; set ETHOSU_ROOT to one. "
            f"A prebuilt image of {args.board}: {paths.firmware(args.board)}"
        )
    command = ["make", "--no-print-directory", "firmware", f"BOARD={args.board}"]
    output = subprocess.DEVNULL if args.quiet else sys.stderr.fileno()
    try:
        done = subprocess.run(command, cwd=paths.root(), stdout=output, check=False)
    except FileNotFoundError:
        raise SetupError("make is not installed; on Debian: apt-get install make") from None
    if done.returncode:
        raise SetupError(f"the firmware for {args.board} failed to build; see the output of make")
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
    """List the files that were built."""
    return "\n".join(
        f"{path}  {size:,} bytes" for path, size in zip(data["files"], data["bytes"], strict=True)
    )
