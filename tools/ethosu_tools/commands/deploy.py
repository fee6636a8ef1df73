# SPDX-License-Identifier: MIT
"""`ethosu deploy`: copy files into a board's ROM file system."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from .. import romfs
from ..deploy import deploy_romfs
from ..errors import UsageError
from ..files import write_whole
from ..ui import Ui

EPILOG = """\
The ROM file system is replaced as a whole. On the board its files appear under /rom. Each file's
data is aligned to 16 bytes, so that the NPU reads a model's weights where they lie.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument("files", type=Path, nargs="+", help="files; of a directory its content")
    parser.add_argument("--on", metavar="PORT", help="serial port or pyserial URL of the board")
    parser.add_argument("-o", "--output", type=Path, metavar="IMAGE", help="keep the image here")


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
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        output = args.output or Path(work) / "romfs.img"
        write_whole(output, image)
        if args.on:
            ui.note(f"sending {len(image):,} bytes to {args.on}")
            deploy_romfs(args.on, str(output), image)
    return {
        "files": sorted(tree),
        "bytes": len(image),
        "port": args.on,
        "image": str(args.output) if args.output else None,
    }


def render(data: dict[str, Any]) -> str:
    """Say what went where."""
    where = " and ".join(str(place) for place in (data["image"], data["port"]) if place)
    return f"{', '.join(data['files']) or 'no files'}: {data['bytes']:,} bytes in {where}"
