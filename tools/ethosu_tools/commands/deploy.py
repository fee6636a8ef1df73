# SPDX-License-Identifier: MIT
"""`ethosu deploy`: copy files into a board's ROM file system."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import executorch, fit, models, romfs, verification
from ..board import Board
from ..deploy import deploy
from ..errors import InputError, SetupError, UsageError
from ..files import write_whole
from ..fit import Need
from ..model import DATA, ModelFile, data_path, is_model
from ..strip import strip_checked
from ..ui import Ui

EPILOG = """\
On the board the files appear under /rom, with those that are there already; --replace removes
those. A deploy that is cut off leaves the old files or the new ones; where the board has no room
for both, the command says so and wants --force. Each file's data is aligned to 16 bytes, so that
the NPU reads a model's weights where they lie.

A model that the board can't run is refused before anything is sent, with exit code 3: one that was
never compiled, or for another NPU, or whose arena is larger than the board's heap; of ExecuTorch
programs one with an operator that the firmware lacks, or with data that no file has. --force sends
it. The data file NAME.ptd goes with NAME.pte.

    ethosu deploy kws.pte --on /dev/ttyACM0 --strip
"""
_FORCE = "--force deploys it anyway"


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
        help="deploy even if what cuts it off would leave the board without files, and models that "
        "the board can't run",
    )
    verification.add_option(parser)
    parser.add_argument(
        "--strip", action="store_true", help="leave out of programs what `ethosu strip` does"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Build the image, keep it, send it."""
    if args.on is None and args.output is None:
        raise UsageError("deploy needs a board (--on PORT), a file for the image (-o), or both")
    if args.on in ("sim", "qemu", "web", "accel"):
        raise UsageError(
            f"--on {args.on} names no port, which deploy needs: `ethosu qemu` starts an emulated "
            "board and says its port"
        )
    files, warnings = dict(romfs.files(_read(args.files))), list[str]()
    if args.strip:  # first: what is sent has to fit
        files = {name: _strip(files, name, warnings) for name in files}
    needs = _check_models(files, warnings, force=args.force)
    tree = romfs.tree_of(files)
    image = romfs.build(tree)
    if args.output:
        write_whole(args.output, image)
    found = None
    if args.on:

        def check(board: Board) -> None:
            warnings.extend(_check_board(board, needs, force=args.force))

        with ui.progress(f"sending to {args.on}") as progress:
            found = deploy(
                *(args.on, tree),
                replace=args.replace,
                force=args.force,
                check=check,
                progress=progress,
            )
    return {
        "files": sorted(tree),
        "file_bytes": sum(map(len, files.values())),
        "bytes": found.size if found else len(image),
        "port": args.on,
        "image": str(args.output) if args.output else None,
        "kept": found.kept if found else [],
        "removed": found.removed if found else [],
        "warnings": warnings,
    }


def _read(paths: Sequence[Path]) -> romfs.Tree:
    """All files by name; a program's data file goes with it."""
    tree: dict[str, Any] = {}

    def add(path: Path) -> None:
        for name, content in romfs.read_tree(path).items():
            if name in tree:
                raise UsageError(f"two of the files are named {name}: {path} is the second")
            tree[name] = content

    for path in paths:
        add(path)
    for path in paths:
        data = data_path(path, tree[path.name]) if path.is_file() else None
        if data and data.is_file() and data not in paths:
            add(data)
    return tree


def _check_models(files: dict[str, bytes], warnings: list[str], *, force: bool) -> dict[str, Need]:
    """Refuse models that no board can run; return what the others need, and add warnings."""
    needs = {}
    for name, data in files.items():
        if not is_model(data):
            continue
        named, wrong = _data_file(files, name), []
        try:
            description = models.describe_compiled(data, named=named)
            if isinstance(description, executorch.Description):
                missing = (
                    f"operator {each} is not in the firmware" for each in description.missing
                )
                absent = (
                    f"data {each} is in no {DATA.suffix} of its name"
                    for each in description.external
                )
                wrong = [*missing, *absent]
                warnings += [f"{name}: {each}" for each in description.notes]
            if not wrong:
                needs[name] = fit.need_of(data, named)
        except InputError as error:
            wrong = [str(error).removeprefix("the model: ")]
        except SetupError as error:
            warnings.append(f"{name} was not checked: {error}")
        if wrong and not force:
            raise InputError(f"{name} would not load: {'; '.join(wrong)}. {_FORCE}")
        warnings += [f"{name}: {each}" for each in wrong]
    return needs


def _check_board(board: Board, needs: dict[str, Need], *, force: bool) -> Iterator[str]:
    """Refuse models that this board can't run; with `force` yield why it can't.

    Whether the files fit /rom is not asked here: deploy() checks them all together.
    """
    room = fit.ask(board) if needs else None
    if needs and room is None:
        yield "the firmware has no module ethosu: not checked whether it can run the models"
    for name, need in needs.items():
        found = fit.check(need, replace(room, rom=None)) if room else None
        if found and not force:
            fit.refuse(found, name, _FORCE)
        yield from (f"{name}: {each}" for each in (found.short if found else ()))


def _data_file(files: dict[str, bytes], name: str) -> bytes | None:
    """What a program's data file has, if there is one of its name."""
    return files.get(str(data_path(Path(name), files[name])))


def _strip(files: dict[str, bytes], name: str, warnings: list[str]) -> bytes:
    """The content of a file; of a program that loads without what no board needs."""
    data = files[name]
    try:
        is_program = is_model(data) and ModelFile(data).is_program
        return strip_checked(data, _data_file(files, name)) if is_program else data
    except InputError as error:  # whether it is sent all the same is decided with the other models
        warnings.append(f"{name} was not stripped: {error}")
        return data


def render(data: dict[str, Any]) -> str:
    """Say what went where, and what became of what was there."""
    where = " and ".join(str(place) for place in (data["image"], data["port"]) if place)
    lines = [
        f"{', '.join(data['files']) or 'no files'}: {data['file_bytes']:,} bytes",
        f"image      {data['bytes']:,} bytes in {where}",
    ]
    lines += [f"{key:<10} {', '.join(data[key])}" for key in ("kept", "removed") if data[key]]
    lines += [f"warning    {each}" for each in data["warnings"]]
    return "\n".join(lines)
