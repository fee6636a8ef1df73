# SPDX-License-Identifier: MIT
"""`ethosu setup`: create a Python environment for other model formats, or for labgrid."""

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from .. import other_python, paths
from ..errors import SetupError
from ..ui import Ui

EPILOG = """\
    convert       Keras, SavedModel, ONNX: TensorFlow and onnx2tf, 2.6 GB
    executorch    PyTorch: ExecuTorch and PyTorch, 1.8 GB; on Linux, PyTorch from PyPI adds 3 GB of
                  CUDA, unless --pip "--extra-index-url URL" selects PyTorch's CPU builds
    labgrid       ports labgrid:PLACE

These packages conflict with those of the tools, so they get an environment of their own. It is
created in the user's data folder ($XDG_DATA_HOME, else ~/.local/share), where the other commands
find it. The output is the path of its Python, for use in scripts:

    $(ethosu setup convert) train.py

An existing environment is kept unless this version of the tools needs other releases. To create one
yourself, for --python, install the packages that --requirements prints.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    purposes = sorted(other_python.KITS)
    parser.add_argument("extra", metavar="PURPOSE", choices=purposes, help="see below")
    parser.add_argument("--requirements", action="store_true", help="only print the packages")
    parser.add_argument(
        "--pip", type=shlex.split, default=[], metavar="OPTIONS", help="more options for pip"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Create the environment unless it exists."""
    pins = other_python.pins(args.extra)
    if args.requirements:
        return {"requirements": pins}
    python = other_python.environment(args.extra)
    if python is None:
        _make(args.extra, pins, args.pip, ui)
        python = other_python.environment(args.extra)
    return {"python": python, "requirements": pins}


def _make(extra: str, pins: Sequence[str], options: Sequence[str], ui: Ui) -> None:
    kit, folder = other_python.KITS[extra], paths.environment(extra)
    python = str(folder / "bin/python")
    ui.note_long(f"installing {kit.title} in {folder}; this takes 5 to 20 minutes")
    shutil.rmtree(folder, ignore_errors=True)  # it has other releases, or is incomplete
    _run([sys.executable, "-m", "venv", str(folder)], ui)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", *options]
    _run([*pip, *pins], ui)
    other_python.require(python, kit.probe, kit.title, extra)
    other_python.mark(extra)


def _run(command: Sequence[str], ui: Ui) -> None:
    """Run a command and pass its output on; raises SetupError with the reason if it fails."""
    try:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            lines = []
            for line in process.stdout or ():
                ui.note(line.rstrip())
                lines.append(line.strip())
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be run: {error.strerror}") from error
    if process.returncode:
        errors = [line for line in lines if "error" in line.lower()] or lines or ["no reason"]
        raise SetupError(f"{shlex.join(command[1:])} failed: {errors[-1]}")


def render(data: dict[str, Any]) -> str:
    """The Python, or the packages."""
    return data.get("python") or "\n".join(data["requirements"])
