# SPDX-License-Identifier: MIT
"""`ethosu qemu`: start an emulated board and print how to connect to it."""

import argparse
import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import boards
from ..base import addons, paths
from ..base.deadline import wait_for_end
from ..base.errors import BoardError, BoardResetError, BoardTimeoutError, InputError, UsageError
from ..base.ui import Ui, positive_number
from ..boards import coherence, targets
from ..boards.setup import AS_CHIP_VARIABLE, CONSOLES, BoardSetup, emulated
from ..link.board import Board
from ..link.emulator import firmware_run, qemu
from ..model import romfs

EPILOG = """\
The board runs until Ctrl-C. Meanwhile, in another terminal:

    mpremote connect PORT repl            open its prompt
    mpremote connect PORT mount .         mount this directory on it
    ethosu run model_vela.tflite --on PORT --input in.npz --output out.npz

The console is the board's own UART (--console uart) or a faster one that only the emulator has.
Files in the --romfs directory appear on the board under /rom, where the NPU uses models in place.
Set ETHOSU_QEMU to use a QEMU that is not on PATH.

Third-party firmware (bare metal, Zephyr, ExecuTorch, another MicroPython) runs to its end. Its
output on the UART or by semihosting becomes the output of this command, and its semihosting exit
code the exit code. The run also ends at the character EOT (the next byte is the exit code), or at
the text of --until on stdout or stderr (the exit code is 0). With --console uart, the UART is a
serial port instead, for example for a MicroPython that has its prompt there:

    ethosu qemu --firmware tflm.elf --npu ethos-u55-256
    ethosu qemu --firmware zephyr.elf --until "PROJECT EXECUTION SUCCESSFUL"
    ethosu qemu --firmware runner.elf --argument=-m --argument=model.pte --timeout 300
    ethosu qemu --firmware micropython.elf --console uart
"""

_OF_FOREIGN = ("until", "argument", "timeout", "vectors", "semihosting", "no-semihosting")
# This is enough for a fault report and a few lines of QEMU.
_LOG_LINES = 14


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    boards.add_option(parser, "the board", foreign=True)
    targets.add_npu_option(parser, "NPU (default: the board's)", default=None)
    targets.add_npu_option(parser, "a second NPU (default: none)", default=None, option="--npu1")
    parser.add_argument(
        "--console",
        choices=CONSOLES,
        help="console of the board (default: fast; for third-party firmware, the output of this "
        "command)",
    )
    coherence.add_option(parser)
    parser.add_argument(
        "--as-chip",
        action="store_const",
        const=True,
        help="run the image as its chip would: without the emulator's registers, with the UART as "
        f"console (default: ${AS_CHIP_VARIABLE}, any text)",
    )
    rom = parser.add_mutually_exclusive_group()
    rom.add_argument(
        "--romfs", type=Path, metavar="DIR|IMAGE", help="content of the board's ROM file system"
    )
    rom.add_argument(
        "--examples",
        action="store_const",
        const=True,
        help="put the examples and their models for ethos-u55-128 into the ROM file system: run "
        "one with `import image`, for example",
    )
    for name, addon in addons.every("rom").items():
        parser.add_argument(f"--{name}", action="store_const", const=True, help=addon.HELP)
    parser.add_argument(
        "--timed",
        action="store_true",
        help="an inference takes the time that `ethosu check` reports for the board (default: "
        "the time that its simulation takes)",
    )
    parser.add_argument("--firmware", type=Path, help="firmware image to run (ELF)")
    foreign = parser.add_argument_group("third-party firmware")
    foreign.add_argument(
        "--until", metavar="TEXT", help="text on stdout or stderr that ends the run, exit code 0"
    )
    foreign.add_argument(
        "--timeout",
        type=positive_number,
        metavar="SECONDS",
        help=f"time limit, in processor time of QEMU (default: {firmware_run.TIMEOUT_S:g})",
    )
    foreign.add_argument(
        "--argument",
        action="append",
        metavar="WORD",
        help="word of the semihosting command line; may be repeated",
    )
    semihosting = foreign.add_mutually_exclusive_group()
    semihosting.add_argument(
        "--semihosting",
        type=Path,
        metavar="DIR",
        help="folder of the files that the firmware may use by semihosting (default: the current "
        "one)",
    )
    semihosting.add_argument(
        "--no-semihosting",
        action="store_const",
        const=True,
        help="no semihosting: no files, no output by it, and its calls are faults",
    )
    foreign.add_argument(
        "--vectors",
        type=_address,
        metavar="ADDRESS",
        help="the vector table after a reset (INITSVTOR), if it is not where the board has it",
    )


def _address(text: str) -> int:
    with contextlib.suppress(ValueError):
        if 0 <= (address := int(text, 0)) < 1 << 32:
            return address
    raise argparse.ArgumentTypeError(f"expected an address, such as 0x10000000, found {text!r}")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start a board, print its port, and wait for its end."""
    _check_options(args)
    files = None if args.no_semihosting else args.semihosting or Path()
    if files is None:
        _refuse(args, ("argument",), "needs semihosting")
    foreign = args.firmware is not None and not firmware_run.is_ours(qemu.check_elf(args.firmware))
    if not foreign:
        _refuse(args, _OF_FOREIGN, "is only for third-party firmware")
    elif args.console is None:
        return _run(args, files, ui)
    else:
        _refuse(
            args,
            ("until", "timeout", "vectors"),
            "needs the output of the firmware: leave out --console",
        )
    place = _setup(args)
    image = _rom(args, place)
    firmware = args.firmware
    if _of_rom(args) and firmware is None:
        firmware = paths.firmware_with_ulab(place.name)
    # SIGTERM acts like Ctrl-C, which a shell disables for commands started with `&`.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with qemu.Machine(
        replace(place, image=firmware),
        romfs=image,
        timed=args.timed,
        plugin_options=firmware_run.semihosting_files(files) if foreign else (),
        more_options=firmware_run.semihosting(
            None, args.argument or (), enabled=foreign and files is not None
        ),
    ) as machine:
        data = {
            "port": machine.port,
            "board": machine.board.name,
            "npu": machine.npu,
            "npu1": args.npu1,
            "pid": machine.process.pid,
            "notes": _notes(args, machine, firmware),
        }
        fault = None
        try:
            fault = None if foreign else _check_start(machine, rom=image is not None)
            data |= {"fault": str(fault)} if fault else {}
            ui.result(data, render_start(data, fault, examples=bool(args.examples)))
            code = wait_for_end(machine.process)
        except KeyboardInterrupt:
            if fault:
                raise fault from None
            return {**data, "ended": "stopped"}
        raise BoardError(f"QEMU ended by itself (exit code {code}): {machine.log_tail()}")


def _setup(args: argparse.Namespace) -> BoardSetup:
    return emulated(
        args.board,
        args.npu,
        npu1=args.npu1,
        firmware=args.firmware,
        coherence=args.coherence,
        as_chip=args.as_chip,
        console=args.console,
    )


def _rom(args: argparse.Namespace, place: BoardSetup) -> bytes | None:
    """Build the image of the ROM file system; errors about its size name the files."""
    content = paths.examples() if args.examples else args.romfs
    is_folder = content is not None and content.is_dir()
    if not (addon := _of_rom(args)) and not is_folder:
        return romfs.load_image(content) if content else None
    if not is_folder:
        raise UsageError(f"--{addon} needs --romfs DIR, a folder with models and frames/")
    tree = romfs.read_tree(content)
    image = romfs.build(addons.load("rom", addon).tree_of(tree) if addon else tree)
    qemu.rom_span(place.board, image)
    return image


def _of_rom(args: argparse.Namespace) -> str | None:
    """Return the add-on whose files the ROM file system gets, too."""
    return next((name for name in addons.offers("rom") if getattr(args, name)), None)


def _notes(args: argparse.Namespace, machine: qemu.Machine, firmware: Path | None) -> list[str]:
    """Return notes on limits that users would otherwise discover later."""
    notes = []
    board = machine.board
    if machine.romfs != board.romfs:
        notes.append(
            f"/rom is in memory that only the emulator maps; on hardware /rom holds at most "
            f"{board.romfs.size:,} bytes."
        )
    if _of_rom(args) and firmware is None:
        notes.append(
            "This firmware has no ulab, so scripts that import it fail. Build firmware with ulab: "
            f"make -C firmware BOARD={board.name} ULAB=yes"
        )
    return notes


def _check_start(machine: qemu.Machine, *, rom: bool) -> BoardError | None:
    """Check that the board answers, and has the ROM file system that it was given.

    Returns an error if there is no prompt; the board keeps running, for `ethosu doctor PORT`.
    """
    try:
        board = Board(machine.port, process=machine.process)
    except (BoardResetError, BoardTimeoutError) as error:
        return BoardError(f"{error}; its log ends: {machine.log_tail(_LOG_LINES)}")
    with board:
        if rom and not board.ask("import os\n_answer = 'rom' in os.listdir('/')"):
            raise InputError(
                f"the firmware has no /rom: it does not expect one at {machine.romfs.start:#x}, "
                f"where {machine.board.name} has it; select the firmware's board with --board"
            )
    return None


def _check_options(args: argparse.Namespace) -> None:
    """Reject options that a machine without firmware of this project lacks."""
    if (args.board or os.environ.get(boards.VARIABLE)) in boards.machines():
        _check_foreign(args)


def _check_foreign(args: argparse.Namespace) -> None:
    """Reject a machine without firmware of this project, unless it runs an image to its end."""
    name = boards.machine(args.board).name
    if args.firmware is None or firmware_run.is_ours(qemu.check_elf(args.firmware)):
        raise UsageError(
            f"{name} has no firmware of this project: add --firmware IMAGE, an ELF file"
        )
    _refuse(args, ("console",), f"is not possible on {name}, which runs an image to its end")


def _refuse(args: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    for name in names:
        if getattr(args, name.replace("-", "_")) is not None:
            raise UsageError(f"--{name} {reason}")


def _run(args: argparse.Namespace, files: Path | None, ui: Ui) -> dict[str, Any]:
    """Run third-party firmware to its end; with --json, its output is part of the result."""
    _refuse(
        args,
        ("npu1", "romfs", "examples", *addons.offers("rom")),
        "needs this project's firmware, or --console uart",
    )
    place = _setup(args)
    ended = firmware_run.run(
        place,
        until=args.until,
        timeout=args.timeout or firmware_run.TIMEOUT_S,
        arguments=args.argument or (),
        timed=args.timed,
        vectors=args.vectors,
        files=files,
        on_output=ui.pass_on,
    )
    return {
        "firmware": str(args.firmware),
        "board": place.name,
        "npu": place.npu,
        "exit_code": ended.exit_code,
        "output": ended.output,
        "log": ended.log,
    }


def render_start(
    data: dict[str, Any], fault: BoardError | None = None, *, examples: bool = False
) -> str:
    """Explain how to connect to the board, or why it cannot be used."""
    npus = " and ".join(npu for npu in (data["npu"], data["npu1"]) if npu)
    lines = [f"An emulated {data['board']} with {npus} is at {data['port']}"]
    if fault:
        lines += [f"It shows no prompt: {fault}", "To find the cause, run:"]
        lines += [f"    ethosu doctor {data['port']} --board {data['board']}"]
    else:
        lines += ["Try:", f"    mpremote connect {data['port']} repl"]
        lines += [f'    mpremote connect {data["port"]} exec "import image"'] if examples else []
    return "\n".join([*lines, "Press Ctrl-C to stop it.", *data["notes"]])


def render(data: dict[str, Any]) -> str:
    """Report how the board ended."""
    if "exit_code" in data:
        log = [line for line in data["log"].splitlines() if line.strip()]
        return "\n".join([*log, f"{data['firmware']} ended with exit code {data['exit_code']}"])
    return f"the board at {data['port']} is {data['ended']}"
