# SPDX-License-Identifier: MIT
"""`ethosu web`: start the WebAssembly board in node or wasmtime."""

import argparse
import signal
from pathlib import Path
from typing import Any

from ...base.deadline import wait_for_end
from ...base.errors import BoardError
from ...base.ui import Ui
from ...boards import targets
from ...model import romfs
from .board import WebBoard, WebLink

EPILOG = """\
The same board as in the page of `make web`, with its console on a pseudo-terminal, or, where node
or pseudo-terminals are missing, on a TCP port of this computer (socket://127.0.0.1:PORT). It runs
until Ctrl-C. Meanwhile, in another terminal:

    mpremote connect PORT repl            open its prompt
    ethosu run model_vela.tflite --on PORT --input in.npz --output out.npz

The page itself is in build/web, which any static file server can serve:

    python3 -m http.server --directory build/web
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    targets.add_npu_option(parser, "the NPU (default: ethos-u55-128)")
    targets.add_npu_option(parser, "a second NPU (default: none)", default=None, option="--npu1")
    parser.add_argument(
        "--romfs", type=Path, metavar="DIR|IMAGE", help="content of the board's ROM file system"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start the board, print its port, and wait for its end."""
    npus = [npu for npu in (args.npu, args.npu1) if npu]
    image = romfs.load_image(args.romfs) if args.romfs else None
    # SIGTERM acts like Ctrl-C, which a shell disables for commands started with `&`.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with WebBoard(npus, rom=image, shared=True) as board:
        WebLink(board).close()  # waits until the board answers
        data = {"port": board.port, "npus": npus, "pid": board.process.pid}
        try:
            ui.result(data, render_start(data))
            wait_for_end(board.process)
        except KeyboardInterrupt:
            return {**data, "ended": "stopped"}
        raise BoardError(f"the board WEB ended by itself: {board.log_tail()}")


def render_start(data: dict[str, Any]) -> str:
    """Explain how to connect to the board."""
    return (
        f"A board WEB with {' and '.join(data['npus'])} is at {data['port']}\nTry:\n"
        f"    mpremote connect {data['port']} repl\n"
        "Press Ctrl-C to stop it."
    )


def render(data: dict[str, Any]) -> str:
    """Report how the board ended."""
    return f"the board at {data['port']} is {data['ended']}"
