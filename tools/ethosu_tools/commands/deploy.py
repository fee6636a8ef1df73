# SPDX-License-Identifier: MIT
"""`ethosu deploy`: copy files into a board's ROM file system."""

import argparse
from pathlib import Path
from typing import Any

from .. import romfs
from ..deploy import deploy
from ..errors import UsageError
from ..files import write_whole
from ..ui import Ui

EPILOG = """\
On the board the files appear under /rom, with those that are there already; --replace leaves those
out. A deploy that is cut off leaves the old files or the new ones; where the board cannot do that,
the command says so and wants --force. Each file's data is aligned to 16 bytes, so that the NPU
reads a model's weights where they lie.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("files", type=Path, nargs="+", help="files; of a directory its content")
    parser.add_argument("--on", metavar="PORT", help="serial port or pyserial URL of the board")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="IMAGE", help="write an image of FILES here"
    )
    parser.add_argument(
        "--replace", action="store_true", help="remove the files that are there already"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="deploy even if what cuts it off would leave the board without files",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Build the image, keep it, send it."""
    if args.on is None and args.output is None:
        raise UsageError("deploy needs a board (--on PORT), a file for the image (-o), or both")
    tree: dict[str, Any] = {}
    for path in args.files:
        for name, content in romfs.read_tree(path).items():
            if name in tree:
                raise UsageError(f"two of the files are named {name}: {path} is the second")
            tree[name] = content
    image = romfs.build(tree)
    if args.output:
        write_whole(args.output, image)
    found = None
    if args.on:
        with ui.progress(f"sending to {args.on}") as progress:
            found = deploy(args.on, tree, replace=args.replace, force=args.force, progress=progress)
    return {
        "files": sorted(tree),
        "bytes": found.size if found else len(image),
        "port": args.on,
        "image": str(args.output) if args.output else None,
        "kept": found.kept if found else [],
        "removed": found.removed if found else [],
    }


def render(data: dict[str, Any]) -> str:
    """Say what went where, and what became of what was there."""
    where = " and ".join(str(place) for place in (data["image"], data["port"]) if place)
    lines = [f"{', '.join(data['files']) or 'no files'}: {data['bytes']:,} bytes in {where}"]
    lines += [f"{key:<10} {', '.join(data[key])}" for key in ("kept", "removed") if data[key]]
    return "\n".join(lines)
