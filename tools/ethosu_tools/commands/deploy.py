# SPDX-License-Identifier: MIT
"""`ethosu deploy`: copy files into a board's ROM file system."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import fit, romfs, verification
from ..board import Board
from ..deploy import deploy
from ..errors import InputError, SetupError, UsageError
from ..executorch import strip_checked
from ..files import write_whole
from ..fit import Need
from ..model import DATA, ModelFile, ProgramDescription, data_path, is_model
from ..ui import Ui
from ..vela_versions import warn

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
        "-o", "--output", type=Path, metavar="IMAGE", help="write the ROM image to this file"
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
        "--strip", action="store_true", help="strip ExecuTorch programs, as `ethosu strip` does"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Build the image, save it, send it."""
    if args.on is None and args.output is None:
        raise UsageError("deploy needs a board (--on PORT), a file for the image (-o), or both")
    if args.on in ("sim", "qemu", "web", "accel"):
        raise UsageError(
            f"--on {args.on} is not a port, which deploy needs: `ethosu qemu` starts an emulated "
            "board and prints its port"
        )
    files, warnings = dict(romfs.files(_read(args.files))), list[str]()
    models = _models(files)
    for model in models.values():
        warn(ui, model)
    if args.strip:  # before the sizes are checked
        models = {name: _strip(model, warnings) for name, model in models.items()}
        files |= {name: model.data for name, model in models.items()}
    needs = _check_models(models, warnings, force=args.force)
    tree = romfs.tree_of(files)
    image = romfs.build(tree)
    if args.output:
        write_whole(args.output, image)
    deployment = None
    if args.on:

        def check(board: Board) -> None:
            warnings.extend(_check_board(board, needs, force=args.force))

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
        "file_bytes": sum(map(len, files.values())),
        "bytes": deployment.size if deployment else len(image),
        "port": args.on,
        "image": str(args.output) if args.output else None,
        "kept": deployment.kept if deployment else [],
        "removed": deployment.removed if deployment else [],
        "warnings": warnings,
    }


def _read(paths: Sequence[Path]) -> romfs.Tree:
    """All files by name, including the data files of programs."""
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


def _models(files: dict[str, bytes]) -> dict[str, ModelFile]:
    """The models among the files, with their data files."""
    return {
        name: ModelFile(data, files.get(str(data_path(Path(name), data))), name=name)
        for name, data in files.items()
        if is_model(data)
    }


def _check_models(
    models: dict[str, ModelFile], warnings: list[str], *, force: bool
) -> dict[str, Need]:
    """Reject models that no board can run; return what the others need, and add warnings."""
    needs = {}
    for name, model in models.items():
        wrong = []
        try:
            description = model.compiled
            if isinstance(description, ProgramDescription):
                missing = (
                    f"operator {operator} is not in the firmware"
                    for operator in description.missing
                )
                absent = (
                    f"data {key} is not in a {DATA.suffix} with the program's name"
                    for key in description.external
                )
                wrong = [*missing, *absent]
                warnings += [f"{name}: {note}" for note in description.notes]
            if not wrong:
                needs[name] = fit.need_of(model)
        except InputError as error:
            wrong = [str(error).removeprefix(f"{name}: ")]
        except SetupError as error:
            warnings.append(f"{name} was not checked: {error}")
        if wrong and not force:
            raise InputError(f"{name} would not load: {'; '.join(wrong)}. {_FORCE}")
        warnings += [f"{name}: {reason}" for reason in wrong]
    return needs


def _check_board(board: Board, needs: dict[str, Need], *, force: bool) -> Iterator[str]:
    """Reject models that this board cannot run; with `force`, yield the reasons instead.

    Whether the files fit /rom is not checked here, because deploy() checks them all together.
    """
    room = fit.ask(board) if needs else None
    if needs and room is None:
        yield "models were not checked: the firmware has no module ethosu"
    for name, need in needs.items():
        comparison = fit.check(need, replace(room, rom=None)) if room else None
        if comparison and not force:
            fit.refuse(comparison, name, _FORCE)
        yield from (f"{name}: {reason}" for reason in (comparison.short if comparison else ()))


def _strip(model: ModelFile, warnings: list[str]) -> ModelFile:
    """A program that can be loaded is stripped."""
    try:
        return strip_checked(model)
    except InputError as error:  # _check_models() decides whether it is sent anyway
        warnings.append(f"{model} was not stripped: {error}")
        return model


def render(data: dict[str, Any]) -> str:
    """Report what was sent where, and which earlier files were kept or removed."""
    where = " and ".join(filter(None, (data["image"], data["port"])))
    lines = [
        f"{', '.join(data['files']) or 'no files'}: {data['file_bytes']:,} bytes",
        f"image      {data['bytes']:,} bytes in {where}",
    ]
    lines += [f"{key:<10} {', '.join(data[key])}" for key in ("kept", "removed") if data[key]]
    lines += [f"warning    {warning}" for warning in data["warnings"]]
    return "\n".join(lines)
