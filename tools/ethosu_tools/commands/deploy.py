# SPDX-License-Identifier: MIT
"""`ethosu deploy`: copy files into a board's ROM file system."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base import verification
from ..base.errors import UsageError
from ..base.files import Output, write_whole
from ..base.ui import Ui
from ..link import rom_files
from ..link.board import Board
from ..link.deploy import deploy, free_room
from ..link.open import places
from ..model import romfs
from ..sim import fit
from ..sim.need import Need

EPILOG = """\
The files appear on the board under /rom. Existing files there are kept unless --replace is given.
An interrupted deploy leaves either the old files or the new ones. If the board does not have room
for both, the command reports this and requires --force. The data of each file is aligned to 16
bytes, so that the NPU can read weights in place.

A model that the board cannot run is rejected before anything is sent, with exit code 3: a model
that is not compiled, was compiled for another NPU, or has an arena larger than the board's heap; an
ExecuTorch program with an operator that the firmware lacks, or with external data that no file
contains. --force sends it anyway. The data file NAME.ptd is sent along with NAME.pte.

    ethosu deploy kws.pte --on /dev/ttyACM0 --strip
"""
_FORCE = "--force deploys it anyway"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", type=Path, nargs="+", help="files, or directories of files")
    parser.add_argument("--on", metavar="PORT", help="serial port or pyserial URL of the board")
    parser.add_argument(
        "-o", "--output", type=Output, metavar="IMAGE", help="write the ROM image to this file"
    )
    parser.add_argument(
        "--replace", action="store_true", help="remove the files that are already on the board"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="deploy even if an interruption would leave the board without files, or if the board "
        "cannot run a model",
    )
    verification.add_option(parser)
    parser.add_argument(
        "--strip",
        action="store_true",
        help="strip ExecuTorch programs as `ethosu compile --strip`",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Build the image, save it, send it."""
    if args.on is None and args.output is None:
        raise UsageError("deploy needs a board (--on PORT), a file for the image (-o), or both")
    if args.on in places():
        raise UsageError(
            f"--on {args.on} is not a port, which deploy needs: `ethosu qemu` starts an emulated "
            "board and prints its port"
        )
    rom = rom_files.collect(args.files, ui, strip=args.strip, force=args.force, hint=_FORCE)
    tree, warnings = rom.tree, rom.warnings
    image = romfs.build(tree)
    if args.output:
        write_whole(args.output, image)
    deployment = None
    if args.on:

        def check(board: Board) -> None:
            warnings.extend(_check_board(board, rom.needs, force=args.force))

        with ui.progress(f"sending to {args.on}") as progress:
            deployment = deploy(
                *(args.on, tree),
                replace=args.replace,
                force=args.force,
                check=check,
                progress=progress,
            )
    return {
        "files": sorted(tree),
        "file_bytes": sum(len(data) for _, data in romfs.files(tree)),
        "bytes": deployment.size if deployment else len(image),
        "port": args.on,
        "image": str(args.output) if args.output else None,
        "kept": deployment.kept if deployment else [],
        "removed": deployment.removed if deployment else [],
        "warnings": warnings,
    }


def _check_board(board: Board, needs: dict[str, Need], *, force: bool) -> Iterator[str]:
    """Reject models that this board cannot run; with `force`, yield the reasons instead.

    Whether the files fit /rom is not checked here, because deploy() checks that for all together.
    """
    room = free_room(board) if needs else None
    if needs and room is None:
        yield "models were not checked: the firmware has no module ethosu"
    for name, need in needs.items():
        comparison = fit.check(need, replace(room, rom=None)) if room else None
        if comparison and not force:
            fit.refuse(comparison, name, _FORCE)
        yield from (f"{name}: {reason}" for reason in (comparison.short if comparison else ()))


def render(data: dict[str, Any]) -> str:
    """Report what was sent where, and which earlier files were kept or removed."""
    board = data["port"] and f"/rom of the board at {data['port']}"
    where = " and in ".join(filter(None, (data["image"], board)))
    lines = [
        f"{', '.join(data['files']) or 'no files'}: {data['file_bytes']:,} bytes",
        f"image      {data['bytes']:,} bytes in {where}",
    ]
    models = [name for name in data["files"] if name.endswith((".tflite", ".pte", ".bpte"))]
    lines += [f"run it     import ethosu; ethosu.Model('/rom/{name}')" for name in models[:1]]
    lines += [f"{key:<10} {', '.join(data[key])}" for key in ("kept", "removed") if data[key]]
    lines += [f"warning    {warning}" for warning in data["warnings"]]
    return "\n".join(lines)
