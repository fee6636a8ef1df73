# SPDX-License-Identifier: MIT
"""Runs scripts in another Python, with packages that these tools do not require.

The extras of pyproject.toml name the packages and their releases. Those of kits() conflict with the
packages of the tools, or only a program of others needs them, so `ethosu doctor --install`
creates an environment for each.
"""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import addons, paths
from .errors import SetupError
from .ui import Ui

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# Written last, with the releases: its presence shows that the environment is complete.
_MARK = "ethosu-requirements.txt"


@dataclass(frozen=True)
class Kit:
    """An extra with a separate environment; `probe` is a line of Python that needs the packages."""

    title: str
    probe: str
    about: str


_KITS = {
    "alif": Kit(
        "the packages of Alif's security toolkit",
        "import cryptography, serial",
        "`ethosu flash --way alif`: what Alif's security toolkit imports, 40 MB",
    ),
    "convert": Kit(
        "TensorFlow and onnx2tf",
        "import tensorflow, onnx, onnx2tf",
        "Keras, SavedModel, ONNX: TensorFlow and onnx2tf, 2.6 GB",
    ),
}


# Packages whose modules have other names.
_MODULES = {"ethosu": "ethos-u-vela", "serial": "pyserial"}


def distribution(module: str | None) -> str | None:
    """The package of these tools' requirements with a module that cannot be imported, or None."""
    from packaging.utils import canonicalize_name  # slow to load

    module = module or ""
    if _is_installed(module.rpartition(".")[0]):
        return None  # the package lacks the module
    name = module.partition(".")[0]
    name = canonicalize_name(_MODULES.get(name, name))
    needed = (each for extra in ("", *_extras()) for each in _requirements(extra))
    found = (each for each in needed if canonicalize_name(each.name) == name)
    return next((f"{each.name}{each.specifier}" for each in found), None)


def _is_installed(package: str) -> bool:
    """Whether a package has code; a mere folder of that name may be anything."""
    try:
        spec = importlib.util.find_spec(package) if package else None
    except ModuleNotFoundError:  # it is inside one that is not installed
        return False
    return spec is not None and spec.origin is not None


def _extras() -> list[str]:
    from importlib import metadata  # slow to load

    return metadata.metadata("ethosu-tools").get_all("Provides-Extra") or []


def _requirements(extra: str) -> "list[Requirement]":
    """What these tools require, with an extra or without one (""), for this Python and system."""
    from importlib import metadata  # slow to load

    from packaging.requirements import Requirement

    lines = map(Requirement, metadata.requires("ethosu-tools") or ())
    return [each for each in lines if not each.marker or each.marker.evaluate({"extra": extra})]


def kits() -> dict[str, Kit]:
    """All kits, with those of add-ons."""
    return dict(sorted((_KITS | addons.every("kit")).items()))


def pins(extra: str) -> list[str]:
    """The packages of an extra for this Python and system, with their releases."""
    always = _requirements("")
    return [f"{each.name}{each.specifier}" for each in _requirements(extra) if each not in always]


def install(extra: str) -> str:
    """The command that installs the packages of an extra here."""
    return shlex.join(["pip", "install", *pins(extra)])


def environment(extra: str) -> str | None:
    """The Python created by create(); None if it does not exist or has other releases."""
    folder = paths.environment(extra)
    try:
        ready = (folder / _MARK).read_text().split("\n") == pins(extra)
    except OSError:
        return None
    return _python(folder) if ready else None


def create(extra: str, options: Sequence[str], ui: Ui) -> str:
    """The Python of an extra, created with these options of pip unless it exists."""
    folder, kit, python = paths.environment(extra), kits()[extra], environment(extra)
    if python:
        return python
    python = _python(folder)
    ui.note_long(f"installing {kit.title} in {folder}; this can take 20 minutes")
    shutil.rmtree(folder, ignore_errors=True)  # other releases, or incomplete
    _show([sys.executable, "-m", "venv", str(folder)], ui)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", *options]
    _show([*pip, *pins(extra)], ui)
    require(python, kit.probe, kit.title, extra)
    mark(extra)
    return python


def _python(folder: Path) -> str:
    return str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))


def mark(extra: str) -> None:
    """Mark the environment of an extra as complete."""
    (paths.environment(extra) / _MARK).write_text("\n".join(pins(extra)))


def _show(command: Sequence[str], ui: Ui) -> None:
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


def find(requested: str | None, probe: str, package: str, extra: str) -> str:
    """Find a Python that can run the line `probe`, which needs the package.

    That is `requested`, if given, else the one of create(), else this one. Raises SetupError if it
    cannot run the line.
    """
    installed = None if requested else environment(extra)
    if installed:
        return installed  # create() has checked it
    require(requested or sys.executable, probe, package, extra)
    return requested or sys.executable


def require(interpreter: str, probe: str, package: str, extra: str, by: str = "--python") -> None:
    """Raise SetupError unless that Python can run the line `probe`, which needs the package.

    `extra` is the name of the kit that installs it, `by` the option that selects the Python.
    """
    try:
        done = _run(interpreter, ["-c", probe])
    except OSError as error:
        raise SetupError(f"{interpreter} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise SetupError(
            f"{interpreter} cannot load {package}: {reason(done)}. Create an environment with "
            f"`ethosu doctor --install {extra}`, or select another Python with {by}"
        )


def run(
    interpreter: str, script: Path, options: Mapping[str, Any], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run a script in `folder` with `options` as JSON argument; stdout includes its stderr."""
    return _run(interpreter, [str(script), json.dumps(options)], folder)


def absolute(interpreter: str) -> str:
    """The path of a Python, for a process in another folder; a name on PATH stays as it is."""
    path = os.path.expanduser(interpreter)  # noqa: PTH111  # may be a name, such as "python3"
    # Not resolve(): the Python of an environment is a link to one without its packages.
    return os.path.abspath(path) if os.sep in path else path  # noqa: PTH100


def _run(
    interpreter: str, arguments: Sequence[str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [absolute(interpreter), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=folder,
    )


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """The reason why a script failed, which is the last line of its output."""
    if done.returncode < 0:
        return f"it crashed (signal {-done.returncode})"
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit code {done.returncode}, no output"
