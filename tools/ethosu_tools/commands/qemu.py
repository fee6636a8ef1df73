# SPDX-License-Identifier: MIT
"""`ethosu qemu`: start an emulated board and print how to connect to it."""

import argparse
import math
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import boards, coherence, firmware_run, openmv, paths, qemu, romfs, vela, virt
from ..board import Board
from ..deadline import wait_for_end
from ..errors import BoardError, BoardTimeoutError, InputError, UsageError
from ..ui import Ui

EPILOG = """\
The board stays until Ctrl-C. Meanwhile, in another terminal:

    mpremote connect PORT repl            talk to it
    mpremote connect PORT mount .         let it see this directory
    ethosu run model_vela.tflite --on PORT --input in.npz --output out.npz

The console is the board's own UART (--console uart) or a faster one that only the emulator has.
Files of the directory given as --romfs appear on the board under /rom, and the NPU uses models
there without a copy. ETHOSU_QEMU names another QEMU than the one on PATH.

OpenMV's scripts for `ml` run with --openmv, which adds its modules csi, image, audio and
time.clock: frames are the pictures in DIR/frames, sound is DIR/sound.wav. modules/ml/README.md says
more.

    ethosu qemu --board BOARD --romfs DIR --openmv

Firmware that is not this project's (bare metal, Zephyr, ExecuTorch, another MicroPython) runs here:
what it prints by its UART or by semihosting is this command's output, and the exit code of
semihosting is this command's. It ends as well with the character EOT (the byte after it is the exit
code), or with the text of --until, on stdout or stderr: the exit code is then 0, whatever comes
after the text.
With --console uart its UART is a serial port instead, as for a MicroPython that has a prompt there:

    ethosu qemu --firmware tflm.elf --npu ethos-u55-256
    ethosu qemu --firmware zephyr.elf --until "PROJECT EXECUTION SUCCESSFUL"
    ethosu qemu --firmware runner.elf --argument=-m --argument=model.pte --timeout 300
    ethosu qemu --firmware micropython.elf --console uart

With --machine virt it boots Linux instead, for AArch64 or Arm, whose own driver (drivers/accel/
ethosu, from Linux 6.19 on) then finds an Ethos-U65 or U85. The kernel's console is this terminal;
Ctrl-A X ends it:

    ethosu qemu --machine virt --kernel vmlinuz --initrd initramfs.gz --npu ethos-u85-256
"""

# What is said for one machine and means nothing for the other.
_OF_BOARD = (
    "board",
    "npu1",
    "romfs",
    "examples",
    "openmv",
    "firmware",
    "coherence",
    "until",
    "argument",
    "timeout",
)
_OF_FOREIGN = ("until", "argument", "timeout")
# The report of a fault has so many lines, and QEMU a few more.
_LOG_LINES = 14
_OF_VIRT = ("kernel", "initrd", "append", "memory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    boards.add_option(parser, "the board")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)
    vela.add_npu_option(parser, "a second NPU (default: none)", default=None, option="--npu1")
    parser.add_argument(
        "--console",
        choices=qemu.CONSOLES,
        help="(default: fast; of other firmware: this command's output)",
    )
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
        "--openmv",
        action="store_const",
        const=True,
        help="OpenMV's csi, image, audio and time.clock: frames and sound are files of --romfs; "
        "the firmware is the one with ulab, if it was built",
    )
    parser.add_argument(
        "--timed",
        action="store_true",
        help="an inference takes as long as `ethosu estimate` says of the board (default: as long "
        "as it takes to simulate)",
    )
    parser.add_argument("--firmware", type=Path, help="another firmware image (ELF)")
    foreign = parser.add_argument_group("firmware that is not this project's")
    foreign.add_argument(
        "--until", metavar="TEXT", help="the output, or stderr, that ends the run with exit code 0"
    )
    foreign.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help=f"of the emulator's time (default: {firmware_run.TIMEOUT_S:g})",
    )
    foreign.add_argument(
        "--argument",
        action="append",
        metavar="WORD",
        help="of the command line that semihosting gives; may be repeated",
    )
    linux = parser.add_argument_group("Linux")
    linux.add_argument(
        "--machine", choices=["board", "virt"], default="board", help="virt: boot a kernel"
    )
    linux.add_argument("--kernel", type=Path, help="Image of arm64, or zImage of arm")
    linux.add_argument("--initrd", type=Path, help="initramfs, which may be compressed")
    linux.add_argument("--append", metavar="WORDS", help="more of the kernel's command line")
    linux.add_argument("--memory", metavar="SIZE", help=f"RAM (default: {virt.DEFAULT_MEMORY})")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no time to wait")
    return seconds


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start a board, say where it is, and wait for its end; or boot a kernel."""
    _check_options(args)
    if args.machine == "virt":
        return _boot(args)
    foreign = args.firmware is not None and not firmware_run.is_ours(qemu.check_elf(args.firmware))
    if not foreign:
        _refuse(args, _OF_FOREIGN, "is for firmware that is not this project's")
    elif args.console is None:
        return _run(args, ui)
    else:
        _refuse(args, ("until", "timeout"), "needs the output here: leave --console out")
    image = _rom(args)
    firmware = args.firmware
    if args.openmv and firmware is None:
        firmware = paths.firmware_with_ulab(boards.chosen(args.board).name)
    # SIGTERM ends it as Ctrl-C does, also where a shell's `&` made SIGINT ignored.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with qemu.Machine(
        args.npu,
        board=args.board,
        console=args.console or "fast",
        romfs=image,
        firmware=firmware,
        npu1=args.npu1,
        coherence=args.coherence,
        timed=args.timed,
        more_options=firmware_run.semihosting(None, args.argument or ()) if foreign else (),
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
            fault = None if foreign else _look(machine, rom=image is not None)
            data |= {"fault": str(fault)} if fault else {}
            ui.result(data, render_start(data, fault))
            code = wait_for_end(machine.process)
        except KeyboardInterrupt:
            if fault:
                raise fault from None
            return {**data, "ended": "stopped"}
        raise BoardError(f"QEMU ended by itself (exit code {code}): {machine.log_tail()}")


def _rom(args: argparse.Namespace) -> bytes | None:
    """The image of the ROM file system; what is in it has to be whole files to be named."""
    content = paths.examples() if args.examples else args.romfs
    if not args.openmv and (content is None or not content.is_dir()):
        return romfs.load_image(content) if content else None
    if args.openmv and (content is None or not content.is_dir()):
        raise UsageError("--openmv needs --romfs DIR, a folder with models and frames/")
    tree = romfs.read_tree(content)
    image = romfs.build(openmv.tree_of(tree) if args.openmv else tree)
    qemu.rom_place(boards.chosen(args.board), image)
    return image


def _notes(args: argparse.Namespace, machine: qemu.Machine, firmware: Path | None) -> list[str]:
    """What a user would else find out later."""
    notes = []
    board = machine.board
    if machine.romfs != board.romfs:
        notes.append(
            f"/rom is in the board's flash chip, which only the emulator reads: on hardware /rom "
            f"takes {board.romfs.size:,} bytes."
        )
    if args.openmv and firmware is None:
        notes.append(
            "This firmware has no ulab: scripts that import it fail. Build one that has it: "
            f"make -C firmware BOARD={board.name} ULAB=yes"
        )
    return notes


def _look(machine: qemu.Machine, *, rom: bool) -> BoardError | None:
    """See that it answers, and has the ROM file system that it was given.

    Returns what is wrong with a board that gives no prompt: it stays, for `ethosu bringup`.
    """
    try:
        board = Board(machine.port, process=machine.process)
    except BoardTimeoutError as error:
        return BoardError(f"{error}; its log ends: {machine.log_tail(_LOG_LINES)}")
    with board:
        if rom and not board.ask("import os\n_answer = 'rom' in os.listdir('/')"):
            raise InputError(
                f"the firmware has no /rom: it does not look for it at {machine.romfs.start:#x}, "
                f"where {machine.board.name} has it; name the firmware's board by --board"
            )
    return None


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what the machine does not have."""
    other, reason = (
        (_OF_BOARD, "is for a board")
        if args.machine == "virt"
        else (_OF_VIRT, "needs --machine virt")
    )
    _refuse(args, other, reason)
    if args.machine == "virt" and args.kernel is None:
        raise UsageError("--machine virt needs --kernel")


def _refuse(args: argparse.Namespace, names: Sequence[str], reason: str) -> None:
    for name in names:
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} {reason}")


def _run(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run other firmware to its end; with --json what it prints is in the result."""
    _refuse(
        args,
        ("npu1", "romfs", "examples", "openmv"),
        "is for this project's firmware, or --console uart",
    )
    npu = args.npu or boards.chosen(args.board).npus[0]
    ended = firmware_run.run(
        args.firmware,
        board=args.board,
        npu=npu,
        until=args.until,
        timeout=args.timeout or firmware_run.TIMEOUT_S,
        arguments=args.argument or (),
        mode=args.coherence,
        timed=args.timed,
        on_output=ui.pass_on,
    )
    return {
        "firmware": str(args.firmware),
        "board": boards.chosen(args.board).name,
        "npu": npu,
        "exit_code": ended.exit_code,
        "output": ended.output,
        "log": ended.log,
    }


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


def render_start(data: dict[str, Any], fault: BoardError | None = None) -> str:
    """Say how to reach the board, or why it cannot be used."""
    npus = " and ".join(npu for npu in (data["npu"], data["npu1"]) if npu)
    state = "is" if fault else "waits"
    lines = [f"An emulated {data['board']} with {npus} {state} at {data['port']}"]
    if fault:
        lines += [f"It gives no prompt. {fault}", "What this usually means:"]
        lines += [f"    ethosu bringup {data['port']} --board {data['board']}"]
    else:
        lines += ["Try:", f"    mpremote connect {data['port']} repl"]
    return "\n".join([*lines, "Ctrl-C ends it.", *data["notes"]])


def render(data: dict[str, Any]) -> str:
    """Say how it ended."""
    if "exit_code" in data:
        log = [line for line in data["log"].splitlines() if line.strip()]
        return "\n".join([*log, f"{data['firmware']} ended with exit code {data['exit_code']}"])
    if "machine" in data:
        return f"the machine {data['machine']} with {data['npu']} is {data['ended']}"
    return f"the board at {data['port']} is {data['ended']}"
