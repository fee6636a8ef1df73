# SPDX-License-Identifier: MIT
"""`ethosu doctor`: show what is installed, what is missing, and which boards are connected."""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import accel, boards, library, other_python, paths, qemu
from ..board import Board
from ..errors import SetupError, ToolError
from ..port import usb_ports
from ..ui import Ui

EPILOG = """\
Most commands need only the simulator and Vela; the other lines show in parentheses what each
component is for. Serial ports are listed as the operating system describes them. --ask opens each
port and identifies the board, which interrupts the program running on it.
"""

# Python packages, the extra that installs them, and what needs them.
_PACKAGES = (
    ("ethos-u-vela", "", "ethosu compile"),
    ("mpremote", "", "boards"),
    ("ai-edge-litert", "oracle", "--reference, --selftest"),
    ("pymicro-wakeword", "demo", "ethosu demo"),
    ("pytest", "", "the fixtures `board` and `firmware_run`"),
    ("tensorflow", "convert", "ethosu compile of Keras and SavedModel"),
    ("onnx2tf", "convert", "ethosu compile of ONNX"),
    ("executorch", "executorch", "ethosu compile of PyTorch"),
    ("labgrid", "labgrid", "ports labgrid:PLACE"),
)
# Programs, their Debian packages, and what needs them.
_PROGRAMS = (
    ("espeak-ng", "espeak-ng", "ethosu demo"),
    ("sox", "sox", "ethosu demo"),
    ("dtc", "device-tree-compiler", "ethosu qemu --machine virt"),
    ("dfu-util", "dfu-util", "ethosu flash by USB"),
)
_ASK = """\
import ethosu, sys
_answer = [sys.implementation._machine, list(ethosu.npus()), ethosu.__version__]
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--ask", action="store_true", help="identify the board at each port")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Check everything; a missing component is not an error here."""
    return {
        "version": version("ethosu-tools"),
        "python": f"{sys.version.split()[0]}, {sys.executable}",
        "files": str(paths.root()),
        "checks": [*_checks()],
        "boards": [_port(port, ask=args.ask) for port in usb_ports()],
    }


def _checks() -> Iterator[dict[str, Any]]:
    yield _check("simulator", "--on sim", lambda: str(library.load_sim() and paths.host_library()))
    yield _check("QEMU", "--on qemu", _qemu)
    yield _check("QEMU plugin", "--on qemu", lambda: str(paths.qemu_plugin()))
    yield _check("firmware", "--on qemu", _images)
    yield _check("examples", "ethosu qemu --examples", lambda: str(paths.examples()))
    yield _check("accel library", "--on accel", lambda: str(paths.accel_library()))
    yield _check("accel device", "--on accel", _devices)
    for package, extra, use in _PACKAGES:
        yield _check(package, use, partial(_package, package, extra))
    for program, package, use in _PROGRAMS:
        yield _check(program, use, partial(_program, program, package))


def _check(name: str, use: str, locate: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "for": use, "found": locate(), "missing": None}
    except ToolError as error:
        return {"name": name, "for": use, "found": None, "missing": str(error)}


def _qemu() -> str:
    program = qemu.find_qemu()
    return f"{'.'.join(map(str, qemu.version(program)))}, {program}"


def _images() -> str:
    names = [board.name for board in boards.every() if board.qemu]
    built = [name for name in names if paths.firmware_file(name).is_file()]
    if not built:
        paths.firmware(boards.chosen().name)  # the error explains what to do
    absent = [name for name in names if name not in built]
    return ", ".join(built) + (f"; not built: {', '.join(absent)}" if absent else "")


def _devices() -> str:
    return ", ".join(map(str, accel.devices()))


def _package(name: str, extra: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        python = other_python.environment(extra) if extra in other_python.KITS else None
        if python:
            return python
        command = f"pip install {name}" if not extra else other_python.install(extra)
        if extra in other_python.KITS:
            command = f"ethosu setup {extra}"
        raise SetupError(f"not installed: {command}") from None


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SetupError(f"not installed: sudo apt install {package}")
    return path


def _port(port: Any, *, ask: bool) -> dict[str, Any]:
    """Describe a port and, if asked to, the board there."""
    row: dict[str, Any] = {
        "port": port.device,
        "usb": f"{port.vid:04x}:{port.pid:04x}",
        "serial_number": port.serial_number,
        "description": " ".join(filter(None, (port.manufacturer, port.product))),
    }
    if not ask:
        return row
    try:
        with Board(port.device) as board:
            machine, npus, module = board.ask(_ASK)
    except ToolError as error:
        return {**row, "error": str(error)}
    return {**row, "machine": machine, "npus": npus, "module": module}


def render(data: dict[str, Any]) -> str:
    """One line for each component and port."""
    lines = [
        f"ethosu-tools {data['version']}, Python {data['python']}",
        f"files in {data['files']}",
        "",
    ]
    for check in data["checks"]:
        state = check["found"] if check["missing"] is None else f"MISSING  {check['missing']}"
        lines.append(f"{check['name']:<18}{state}  ({check['for']})")
    lines += ["", *(map(_render_port, data["boards"]))]
    return "\n".join(lines if data["boards"] else [*lines, "no board is connected (USB serial)"])


def _render_port(row: dict[str, Any]) -> str:
    if "machine" in row:
        what = f"{row['machine']}; {', '.join(row['npus']) or 'no NPU'}; ethosu {row['module']}"
    else:
        what = row.get("error") or "run `ethosu doctor --ask` to identify it"
    return f"{row['port']:<18}{row['usb']}  {row['description']}: {what}"
