# SPDX-License-Identifier: MIT
"""`ethosu web`: start the board that is a WebAssembly instance, in node."""

import argparse
import signal
from pathlib import Path
from typing import Any

from .. import romfs, vela
from ..board import Board
from ..deadline import wait_for_end
from ..errors import BoardError
from ..ui import Ui
from ..web import WebBoard

EPILOG = """\
The same board as in the page of `make web`, with its console on a pseudo-terminal; it stays until
Ctrl-C. Meanwhile, in another terminal:

    mpremote connect PORT repl            talk to it
    ethosu run model_vela.tflite --on PORT --input in.npz --output out.npz

The page itself is build/web, which any server of files can serve:

    python3 -m http.server --directory build/web
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    vela.add_npu_option(parser, "the NPU (default: ethos-u55-128)")
    vela.add_npu_option(parser, "a second NPU (default: none)", default=None, option="--npu1")
    parser.add_argument(
        "--romfs", type=Path, metavar="DIR|IMAGE", help="what the board's ROM file system holds"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start the board, say where it is, and wait for its end."""
    npus = [npu for npu in (args.npu, args.npu1) if npu]
    image = romfs.load_image(args.romfs) if args.romfs else None
    # SIGTERM ends it as Ctrl-C does, also where a shell's `&` made SIGINT ignored.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with WebBoard(npus, rom=image) as board:
        Board(board.port).close()  # it answers
        data = {"port": board.port, "npus": npus, "pid": board.process.pid}
        try:
            ui.result(data, render_start(data))
            wait_for_end(board.process)
        except KeyboardInterrupt:
            return {**data, "ended": "stopped"}
        raise BoardError(f"the board WEB ended by itself: {board.log_tail()}")


def render_start(data: dict[str, Any]) -> str:
    """Say how to reach the board."""
    return (
        f"A board WEB with {' and '.join(data['npus'])} waits at {data['port']}\nTry:\n"
        f"    mpremote connect {data['port']} repl\n"
        "Ctrl-C ends it."
    )


def render(data: dict[str, Any]) -> str:
    """Say how it ended."""
    return f"the board at {data['port']} is {data['ended']}"
