# SPDX-License-Identifier: MIT
"""`ethosu deploy`: copy files into a board's ROM file system."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import executorch, models, romfs
from ..deploy import deploy
from ..errors import UsageError
from ..files import write_whole
from ..strip import strip_checked
from ..ui import Ui

EPILOG = """\
On the board the files appear under /rom, with those that are there already; --replace leaves those
out. A deploy that is cut off leaves the old files or the new ones; where the board cannot do that,
the command says so and wants --force. Each file's data is aligned to 16 bytes, so that the NPU
reads a model's weights where they lie.

Of ExecuTorch programs the data file NAME.ptd goes with NAME.pte. One that the firmware cannot run
(an operator that it lacks, data that no file has) is refused before anything is sent.

    ethosu deploy kws.pte --on /dev/ttyACM0 --strip
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
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
        help="deploy even if what cuts it off would leave the board without files, and programs "
        "that the firmware cannot run",
    )
    parser.add_argument(
        "--strip", action="store_true", help="leave out of programs what `ethosu strip` does"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Build the image, keep it, send it."""
    if args.on is None and args.output is None:
        raise UsageError("deploy needs a board (--on PORT), a file for the image (-o), or both")
    tree = _read(args.files)
    warnings = [*_check_programs(tree, args.strip, force=args.force)]
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
        "warnings": warnings,
    }


def _read(paths: Sequence[Path]) -> dict[str, Any]:
    """All files by name; a program's data file goes with it."""
    tree: dict[str, Any] = {}
    companions = [path.with_suffix(".ptd") for path in paths if path.suffix in (".pte", ".bpte")]
    for path in (*paths, *(each for each in companions if each.is_file() and each not in paths)):
        for name, content in romfs.read_tree(path).items():
            if name in tree:
                raise UsageError(f"two of the files are named {name}: {path} is the second")
            tree[name] = content
    return tree


def _check_programs(tree: dict[str, Any], strip: bool, *, force: bool) -> Iterator[str]:
    """Refuse programs that the firmware cannot run; yield what makes them slow."""
    for name, data in tree.items():
        if not isinstance(data, bytes) or not models.is_program(data):
            continue
        named = tree.get(str(Path(name).with_suffix(".ptd")))
        description = models.describe(data, named=named)
        assert isinstance(description, executorch.Description)
        wrong = [f"operator {each} is not in the firmware" for each in description.missing]
        wrong += [f"data {each} is in no .ptd of its name" for each in description.external]
        if wrong and not force:
            raise UsageError(
                f"{name} would not load: {'; '.join(wrong)}. --force deploys it nonetheless"
            )
        yield from (f"{name}: {each}" for each in (*wrong, *description.notes))
        if strip:
            tree[name] = strip_checked(data, named)


def render(data: dict[str, Any]) -> str:
    """Say what went where, and what became of what was there."""
    where = " and ".join(str(place) for place in (data["image"], data["port"]) if place)
    lines = [f"{', '.join(data['files']) or 'no files'}: {data['bytes']:,} bytes in {where}"]
    lines += [f"{key:<10} {', '.join(data[key])}" for key in ("kept", "removed") if data[key]]
    lines += [f"warning    {each}" for each in data["warnings"]]
    return "\n".join(lines)
