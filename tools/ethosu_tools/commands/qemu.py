# SPDX-License-Identifier: MIT
"""`ethosu qemu`: start an emulated board and print how to connect to it."""

import argparse
import signal
from pathlib import Path
from typing import Any

from .. import boards, coherence, qemu, romfs, vela
from ..board import Board
from ..errors import BoardError
from ..ui import Ui

EPILOG = """\
The board stays until Ctrl-C. Meanwhile, in another terminal:

    mpremote connect PORT repl            talk to it
    mpremote connect PORT mount .         let it see this directory
    ethosu run model_vela.tflite --on PORT --input in.npz --output out.npz

The console is the board's own UART (--console uart) or a faster one that only the emulator has.
Files of the directory given as --romfs appear on the board under /rom, and the NPU uses models
there without a copy. ETHOSU_QEMU names another QEMU than the one on PATH.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    boards.add_option(parser, "the board")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)
    vela.add_npu_option(parser, "a second NPU (default: none)", default=None, option="--npu1")
    parser.add_argument("--console", choices=qemu.CONSOLES, default="fast", help="(default: fast)")
    coherence.add_option(parser)
    parser.add_argument(
        "--romfs", type=Path, metavar="DIR|IMAGE", help="what the board's ROM file system holds"
    )
    parser.add_argument("--firmware", type=Path, help="another firmware image (ELF)")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start a board, say where it is, and wait for its end."""
    image = romfs.load_image(args.romfs) if args.romfs else None
    # SIGTERM ends it as Ctrl-C does, also where a shell's `&` made SIGINT ignored.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with qemu.Machine(
        args.npu,
        board=args.board,
        console=args.console,
        romfs=image,
        firmware=args.firmware,
        npu1=args.npu1,
        coherence=args.coherence,
    ) as machine:
        Board(machine.port).close()  # it answers
        data = {
            "port": machine.port,
            "board": machine.board.name,
            "npu": machine.npu,
            "npu1": args.npu1,
            "pid": machine.process.pid,
        }
        try:
            ui.result(data, render_start(data))
            code = machine.process.wait()
        except KeyboardInterrupt:
            return {**data, "ended": "stopped"}
        raise BoardError(f"QEMU ended by itself (exit code {code}): {machine.log_tail()}")


def render_start(data: dict[str, Any]) -> str:
    """Say how to reach the board."""
    npus = " and ".join(npu for npu in (data["npu"], data["npu1"]) if npu)
    return (
        f"An emulated {data['board']} with {npus} waits at {data['port']}; try:\n"
        f"    mpremote connect {data['port']} repl\n"
        "Ctrl-C ends it."
    )


def render(data: dict[str, Any]) -> str:
    """Say how it ended."""
    return f"the board at {data['port']} is {data['ended']}"
