# SPDX-License-Identifier: MIT
"""`ethosu fvp`: install programs with the names of Arm's FVPs, which run firmware in QEMU."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from ...base.errors import InputError, NotHereError
from ...base.ui import Ui
from .models import MODELS

EPILOG = """\
    ethosu fvp install ~/fvp
    PATH=~/fvp:$PATH examples/arm/run.sh

Each program takes the command line of the FVP of its name; --help and --list-params show what has
an effect. They are not on PATH by themselves, so that they never hide Arm's own programs.
"""
# This line identifies our programs.
_MARK = "# Written by `ethosu fvp install`."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the action and the folder."""
    parser.add_argument("action", choices=["install"], help="write the programs")
    parser.add_argument("folder", type=_folder, metavar="DIR", help="folder for the programs")


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("expected a folder, found an empty name")
    return Path(text)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Write a program for each model."""
    if sys.platform != "linux":
        raise NotHereError("an emulated board")
    folder: Path = args.folder.absolute()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, expected a folder")
    paths = [folder / name for name in MODELS]
    for path in paths:
        if path.exists() and _MARK.encode() not in path.read_bytes():
            raise InputError(f"{path} exists and is another program: choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            path.unlink(missing_ok=True)
            path.write_text(_program(path.name))
            path.chmod(0o755)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror}") from None
    return {"folder": str(folder), "programs": [path.name for path in paths]}


def _program(name: str) -> str:
    """Return a program that runs this installation of the tools from any folder."""
    python = shlex.quote(sys.executable)
    return f'#!/bin/sh\n{_MARK}\nexec {python} -P -m ethosu_tools.addons.fvp {name} "$@"\n'


def render(data: dict[str, Any]) -> str:
    """List the programs, and say how to use them."""
    lines = [f"{data['folder']}/{name}" for name in data["programs"]]
    return "\n".join([*lines, f'Put the folder first on PATH: PATH="{data["folder"]}:$PATH"'])
