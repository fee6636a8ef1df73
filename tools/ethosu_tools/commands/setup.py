# SPDX-License-Identifier: MIT
"""`ethosu setup`: make a Python environment for models of other formats, and for labgrid."""

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
    executorch    PyTorch: ExecuTorch and PyTorch, 1.8 GB; on Linux PyPI's PyTorch brings another
                  3 GB of CUDA unless --pip "--extra-index-url URL" names PyTorch's CPU builds
    labgrid       ports labgrid:PLACE

These packages do not fit into one environment with the tools' own. The environment is made in the
user's data folder ($XDG_DATA_HOME, else ~/.local/share), and the other commands find it there. The
result is the path of its Python, so that a script may use it too:

    $(ethosu setup convert) train.py

An environment that is there already is kept, unless another version of the tools needs other
releases. To make one yourself, for --python, install what --requirements prints.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("extra", choices=sorted(other_python.KITS), help="what it is for")
    parser.add_argument(
        "--requirements", action="store_true", help="print the packages, and install nothing"
    )
    parser.add_argument(
        "--pip", type=shlex.split, default=[], metavar="OPTIONS", help="more options for pip"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Make the environment, unless it is there."""
    pins = other_python.pins(args.extra)
    if args.requirements:
        return {"requirements": pins}
    python = other_python.environment(args.extra)
    if python is None:
        _make(args.extra, pins, args.pip, ui)
        python = other_python.environment(args.extra)
    return {"python": python, "requirements": pins}


def _make(extra: str, pins: Sequence[str], more: Sequence[str], ui: Ui) -> None:
    kit, folder = other_python.KITS[extra], paths.environment(extra)
    python = str(folder / "bin/python")
    ui.note(f"installing {kit.title} in {folder}; this takes some minutes")
    shutil.rmtree(folder, ignore_errors=True)  # of other releases, or not complete
    _run([sys.executable, "-m", "venv", str(folder)], ui)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", *more]
    _run([*pip, *pins], ui)
    other_python.require(python, kit.look, kit.title, extra)
    other_python.mark(extra)


def _run(command: Sequence[str], ui: Ui) -> None:
    """Run a command and show its lines as they come; SetupError has the reason why it failed."""
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
