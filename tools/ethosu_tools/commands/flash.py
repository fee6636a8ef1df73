# SPDX-License-Identifier: MIT
"""`ethosu flash`: write firmware to a board."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import boards
from ..base import paths
from ..base.errors import InputError, SetupError, UsageError
from ..base.files import read_whole
from ..base.ui import Ui
from ..boards.facts import BoardFacts
from ..link import flash, rom_files
from ..link.flash import WAYS, Request, Way, archive
from ..link.flash.common import read_image
from ..model import romfs
from ..sim import fit

EPILOG = f"""\
The board's folder defines its flashing methods and the default one; --way selects another:

{"".join(f"    {way.name:<8}{way.summary}{chr(10)}" for way in WAYS.values())}
--dry-run only prints the steps. After flashing, check the board with `ethosu doctor PORT`.

    make firmware BOARD=BOARD && ethosu flash BOARD
    ethosu compile kws.tflite --board GROVE_VISION_AI_V2
    ethosu flash GROVE_VISION_AI_V2 --port /dev/ttyACM0 --rom kws_vela.tflite
    ethosu flash BOARD --firmware micropython-ethosu-VERSION-BOARD.zip
    ethosu flash BOARD --way alif --port /dev/ttyACM0 --tools alif-security-toolkit/toolkit
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    boards.add_positional(parser)
    parser.add_argument("--way", choices=WAYS, help="flashing method (default: the board's)")
    parser.add_argument(
        "--port", help="serial port of the boot loader or of the chip's built-in flasher"
    )
    parser.add_argument(
        "--disk", type=Path, help="mount point of the board's disk, if it is not found"
    )
    parser.add_argument(
        "--tools",
        type=Path,
        metavar="FOLDER",
        help="folder of the vendor's tool (default: $ETHOSU_ALIF_TOOLKIT, $ETHOSU_WE2_TOOL or "
        "$ETHOSU_OPENOCD_LOADER)",
    )
    parser.add_argument(
        "--python", help="Python for Alif's tools (default: that of `ethosu doctor --install alif`)"
    )
    parser.add_argument(
        "--set",
        action="append",
        type=_setting,
        default=[],
        metavar="NAME=VALUE",
        help="replace a setting that the board has for this method, for example revision=A0",
    )
    parser.add_argument(
        "--firmware",
        type=Path,
        help="image to write, or the board's archive of a release, a .zip (default: the image of "
        "`make firmware BOARD=BOARD`)",
    )
    parser.add_argument(
        "--rom",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="send these files or directories, too, as the board's /rom; or the image of "
        "`ethosu deploy -o` (all words up to the next option are files: put BOARD before it)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the steps")


def _setting(text: str) -> tuple[str, str]:
    """Parse the value of --set."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    return name, value


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Carry out the steps, or only list them."""
    board = boards.load(args.board)
    firmware = args.firmware or paths.firmware_file(board.name)
    work = paths.work("flash") / board.name
    request = Request(
        *(board, firmware.absolute(), work, ui, args.port, args.disk, args.tools),
        python=args.python,
    )
    way = flash.choose(request, args.way)
    request, made = _with_rom(request, way, args.rom)
    steps = way.steps(request, way.check(board, dict(args.set)))
    data: dict[str, Any] = {
        "board": board.name,
        "way": way.name,
        "firmware": str(firmware),
        "dry_run": args.dry_run,
        "steps": [step.text for step in steps],
    }
    if not firmware.is_file():
        problem = f"{firmware} does not exist; build it with `make firmware BOARD={board.name}`"
        if not args.dry_run:
            raise (InputError if args.firmware else SetupError)(problem)
        ui.warn(problem)
    if args.dry_run:
        return data
    work.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (work / name).write_bytes(content)
    for step in steps:
        ui.note(step.text)
        data |= step.do() or {}
    return data


def _with_rom(request: Request, way: Way, rom: list[Path]) -> tuple[Request, dict[str, bytes]]:
    """Add the ROM file system to the request, the archive's or of these files.

    Also returns files that are to be in the work folder, then.
    """
    board, ui = request.board, request.ui
    made: dict[str, bytes] = {}
    if request.firmware.suffix == archive.SUFFIX and request.firmware.is_file():
        made = archive.read(request.firmware, board.name)
        request = replace(request, firmware=request.work / archive.ELF, rom=made[archive.ROM])
    if rom:
        if not way.rom:
            raise UsageError(
                f"{board.name} does not get /rom by {way.name}: after flashing, send the files "
                "with `ethosu deploy`"
            )
        request = replace(request, rom=_rom_image(rom, board, ui))
    elif request.rom and not way.rom:
        ui.warn(f"{way.name} writes the firmware alone, without the archive's /rom")
    if rom and way.rom == "joined" and request.rom:
        source = request.image(".bin")
        if made or source.is_file():
            binary = made[archive.BIN] if made else read_image(source)
            made[archive.BIN] = archive.joined(board, binary, request.rom)
        request = replace(request, firmware=request.work / archive.ELF)
    return request, {name: made[name] for name in (archive.ELF, archive.BIN) if name in made}


def _hint(paths: list[Path]) -> str:
    files = shlex.join(map(str, paths))
    return (
        f"To send it all the same, make an image with `ethosu deploy {files} --force -o IMAGE`, "
        "and pass --rom IMAGE"
    )


def _rom_image(paths: list[Path], board: BoardFacts, ui: Ui) -> bytes:
    """Build the ROM file system of these files, unless the only file is already an image."""
    if len(paths) == 1 and paths[0].is_file() and romfs.is_image(data := read_whole(paths[0])):
        image = data
    else:
        hint = _hint(paths)
        rom, room = rom_files.collect(paths, ui, hint=hint), fit.room_of(board)
        for name, need in rom.needs.items():
            if room:
                fit.refuse(fit.check(need, replace(room, rom=None)), name, hint)
        for warning in rom.warnings:
            ui.warn(warning)
        image = romfs.build(rom.tree)
    if len(image) > board.romfs.size:
        raise InputError(
            f"the image of /rom has {len(image):,} bytes, but {board.name} has room for "
            f"{board.romfs.size:,}"
        )
    return image


def render(data: dict[str, Any]) -> str:
    """List the steps, or report the result."""
    if data["dry_run"]:
        steps = "\n".join(f"{at:>3}. {text}" for at, text in enumerate(data["steps"], 1))
        return f"{data['board']} by {data['way']}:\n{steps}"
    facts = [f"{data['bytes']:,} bytes"] if "bytes" in data else []
    facts += [f"{data['rom_bytes']:,} bytes of /rom"] if "rom_bytes" in data else []
    facts += [data["checked"]] if "checked" in data else []
    facts += [f"{data['sent_again']} blocks sent again"] if data.get("sent_again") else []
    return f"{data['board']} flashed by {data['way']}" + "".join(f", {fact}" for fact in facts)
