# SPDX-License-Identifier: MIT
"""`ethosu qemu`: start an emulated board and print how to connect to it."""

import argparse
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .. import boards, coherence, paths, qemu, romfs, vela, virt
from ..board import Board
from ..errors import BoardError, UsageError
from ..ui import Ui

EPILOG = """\
The board stays until Ctrl-C. Meanwhile, in another terminal:

    mpremote connect PORT repl            talk to it
    mpremote connect PORT mount .         let it see this directory
    ethosu run model_vela.tflite --on PORT --input in.npz --output out.npz

The console is the board's own UART (--console uart) or a faster one that only the emulator has.
Files of the directory given as --romfs appear on the board under /rom, and the NPU uses models
there without a copy. ETHOSU_QEMU names another QEMU than the one on PATH.

With --machine virt it boots Linux instead, for AArch64 or Arm, whose own driver (drivers/accel/
ethosu, from Linux 6.19 on) then finds an Ethos-U65 or U85. The kernel's console is this terminal;
Ctrl-A X ends it:

    ethosu qemu --machine virt --kernel vmlinuz --initrd initramfs.gz --npu ethos-u85-256
"""

# What is said for one machine and means nothing for the other.
_OF_BOARD = ("board", "npu1", "romfs", "examples", "firmware", "coherence")
_OF_VIRT = ("kernel", "initrd", "append", "memory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    boards.add_option(parser, "the board")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)
    vela.add_npu_option(parser, "a second NPU (default: none)", default=None, option="--npu1")
    parser.add_argument("--console", choices=qemu.CONSOLES, default="fast", help="(default: fast)")
    coherence.add_option(parser)
    rom = parser.add_mutually_exclusive_group()
    rom.add_argument(
        "--romfs", type=Path, metavar="DIR|IMAGE", help="what the board's ROM file system holds"
    )
    rom.add_argument(
        "--examples",
        action="store_const",
        const=True,
        help="it holds the examples and their models for ethos-u55-128: `import image`, say",
    )
    parser.add_argument(
        "--timed",
        action="store_true",
        help="an inference takes as long as `ethosu estimate` says of the board (default: as long "
        "as it takes to simulate)",
    )
    parser.add_argument("--firmware", type=Path, help="another firmware image (ELF)")
    linux = parser.add_argument_group("Linux")
    linux.add_argument(
        "--machine", choices=["board", "virt"], default="board", help="virt: boot a kernel"
    )
    linux.add_argument("--kernel", type=Path, help="Image of arm64, or zImage of arm")
    linux.add_argument("--initrd", type=Path, help="initramfs, which may be compressed")
    linux.add_argument("--append", metavar="WORDS", help="more of the kernel's command line")
    linux.add_argument("--memory", metavar="SIZE", help=f"RAM (default: {virt.DEFAULT_MEMORY})")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start a board, say where it is, and wait for its end; or boot a kernel."""
    _check_options(args)
    if args.machine == "virt":
        return _boot(args)
    content = paths.examples() if args.examples else args.romfs
    image = romfs.load_image(content) if content else None
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
        timed=args.timed,
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


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what the machine does not have."""
    other, reason = (
        (_OF_BOARD, "is for a board")
        if args.machine == "virt"
        else (_OF_VIRT, "needs --machine virt")
    )
    for name in other:
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} {reason}")
    if args.machine == "virt" and args.kernel is None:
        raise UsageError("--machine virt needs --kernel")


def _boot(args: argparse.Namespace) -> dict[str, Any]:
    """Boot a kernel, with its console on this terminal."""
    npu = args.npu or virt.DEFAULT_NPU
    with tempfile.TemporaryDirectory(prefix="ethosu-virt-") as folder:
        command = virt.command(
            args.kernel,
            args.initrd,
            Path(folder),
            npu=npu,
            append=args.append or "",
            memory=args.memory or virt.DEFAULT_MEMORY,
        )
        code = subprocess.run(command, check=False).returncode
    if code:
        raise BoardError(f"QEMU ended with exit code {code}")
    return {"machine": "virt", "npu": npu, "ended": "off"}


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
    if "machine" in data:
        return f"the machine {data['machine']} with {data['npu']} is {data['ended']}"
    return f"the board at {data['port']} is {data['ended']}"
