# SPDX-License-Identifier: MIT
"""`ethosu doctor`: show what is installed and connected, check a new board, install packages."""

import argparse
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .. import boards
from ..base import addons, library, other_python, paths
from ..base.errors import BoardError, SetupError, ToolError, UsageError
from ..base.ui import Ui
from ..link import bringup, flash
from ..link.board import Board
from ..link.emulator import qemu
from ..link.port import usb_ports


def _about(name: str, kit: other_python.Kit) -> str:
    first, others = f"    {name:<14}", " " * 18
    return textwrap.fill(kit.about, 99, initial_indent=first, subsequent_indent=others)


EPILOG = f"""\
Most commands need only the simulator and Vela; the other lines show in parentheses what each
component is for. Serial ports are listed as the operating system describes them. --ask opens each
port and identifies the board, which interrupts the program running on it.

With PORT, a serial port or pyserial URL, it checks the board there, in the order in which things
fail:

{"".join(f"    {check.name:<12}{check.title}{chr(10)}" for check in bringup.CHECKS)}
A failed check explains what that usually means, and with --board what is most probable on this
board. The checks change nothing on the board, except that they write a file to / and remove it
again. The board is reset at the end.

--install KIT makes a Python environment, for packages that conflict with those of the tools, or
that only other programs need:

{chr(10).join(_about(name, kit) for name, kit in other_python.kits().items())}

It is created in the user's data folder ($XDG_DATA_HOME, else ~/.local/share), where the other
commands find it. The output is the path of its Python, for use in scripts:

    $(ethosu doctor --install convert) train.py

An existing environment is kept unless this version of the tools needs other releases. To create one
yourself, for --python, install the packages that --requirements prints.
"""
_WIDTH = 100
_INDENT = " " * 20

# Python packages, the extra that installs them, and what needs them.
_PACKAGES = (
    ("ethos-u-vela", "", "ethosu compile"),
    ("mpremote", "", "boards"),
    ("ai-edge-litert", "oracle", "--reference, --selftest"),
    ("pytest", "", "the fixtures `board` and `firmware_run`"),
    ("tensorflow", "convert", "ethosu compile of Keras and SavedModel"),
    ("onnx2tf", "convert", "ethosu compile of ONNX"),
    ("cryptography", "alif", "Alif's toolkit"),
)
_ASK = """\
import ethosu, sys
_answer = [sys.implementation._machine, list(ethosu.npus()), ethosu.__version__]
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("port", metavar="PORT", nargs="?", help="check the board at this port")
    boards.add_option(parser, "compare with the data of this board", None)
    parser.add_argument("--ask", action="store_true", help="identify the board at each port")
    kits = list(other_python.kits())
    parser.add_argument("--install", metavar="KIT", choices=kits, help="see below")
    parser.add_argument(
        "--requirements", action="store_true", help="only print the packages of the kit"
    )
    parser.add_argument(
        "--pip", type=shlex.split, default=[], metavar="OPTIONS", help="more options for pip"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Check everything; a missing component is not an error here, a failed check of a board is."""
    _refuse_what_does_not_belong(args)
    if args.install:
        return _install(args, ui)
    if args.port:
        return _bring_up(args, ui)
    return {
        "version": version("ethosu-tools"),
        "python": f"{sys.version.split()[0]}, {sys.executable}",
        "files": str(paths.root()),
        "checks": [*_checks()],
        "boards": [_port(port, ask=args.ask) for port in usb_ports()],
    }


def _refuse_what_does_not_belong(args: argparse.Namespace) -> None:
    for option, given, owner, there in (
        ("--board", args.board, "PORT", args.port),
        ("--requirements", args.requirements, "--install KIT", args.install),
        ("--pip", args.pip, "--install KIT", args.install),
    ):
        if given and not there:
            raise UsageError(f"{option} is for {owner}")
    asked = [args.port and "PORT", args.ask and "--ask", args.install and "--install"]
    if len(words := [word for word in asked if word]) > 1:
        raise UsageError(f"give only one of {', '.join(words)}")


def _install(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Create the environment unless it exists."""
    pins = other_python.pins(args.install)
    if args.requirements:
        return {"requirements": pins}
    return {"python": other_python.create(args.install, args.pip, ui), "requirements": pins}


def _bring_up(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the checks of a board; raises BoardError if one of them failed."""
    facts = boards.load(args.board) if args.board else None
    outcomes = []
    for outcome in bringup.run(lambda: Board(args.port), facts):
        outcomes.append(outcome)
        ui.note(f"{outcome.check.name}: {outcome.state}")
    failed = [each.check.name for each in outcomes if each.state == bringup.FAILED]
    data = {
        "port": args.port,
        "board": args.board,
        "passed": sum(each.state == bringup.OK for each in outcomes),
        "failed": len(failed),
        "not_run": sum(each.state == bringup.NOT_RUN for each in outcomes),
        "checks": [outcome.as_dict() for outcome in outcomes],
    }
    if failed:
        ui.result(data, render(data))
        raise BoardError(f"{len(failed)} of {len(outcomes)} checks failed: {', '.join(failed)}")
    return data


def _checks() -> Iterator[dict[str, Any]]:
    yield _check("simulator", "--on sim", lambda: str(library.load_sim() and paths.host_library()))
    yield _check("QEMU", "--on qemu", _qemu)
    yield _check("QEMU plugin", "--on qemu", lambda: str(paths.qemu_plugin()))
    yield _check("firmware", "--on qemu", _images)
    yield _check("examples", "ethosu qemu --examples", lambda: str(paths.examples()))
    others = addons.every("doctor").values()  # each has one or more of three tables
    for name, use, locate in _all(others, "CHECKS"):
        yield _check(name, use, locate)
    for package, extra, use in (*_PACKAGES, *_all(others, "PACKAGES")):
        yield _check(package, use, partial(_package, package, extra))
    for program, package, use in _all(others, "PROGRAMS"):
        yield _check(program, use, partial(_program, program, package))
    for way in flash.WAYS.values():
        yield from _flash_tools(way)


def _all(modules: Iterable[Any], table: str) -> list[Any]:
    """Join a table of all modules that have it; PROGRAMS: name, Debian's package, use."""
    return [row for module in modules for row in getattr(module, table, ())]


def _flash_tools(way: flash.Way) -> Iterator[dict[str, Any]]:
    """List the tools that a way of flashing needs, if a board has this way."""
    having = [board for board in boards.every() if way.name in board.flash]
    # All variants of a board need the same tools.
    names = ", ".join(sorted({board.name.partition("-")[0] for board in having}))
    for tool in way.tools if having else ():
        locate = partial(tool.locate, way.check(having[0], {}))
        yield _check(tool.name, f"ethosu flash --way {way.name}: {names}", locate)


def _check(name: str, use: str, locate: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "for": use, "found": locate(), "missing": None}
    except ToolError as error:
        return {"name": name, "for": use, "found": None, "missing": str(error)}


def _qemu() -> str:
    program = qemu.find_qemu()
    found = qemu.identify(program)
    return f"{'.'.join(map(str, found.version))} with plugin API {found.api}, {program}"


def _images() -> str:
    names = [board.name for board in boards.every() if board.qemu]
    built = [name for name in names if paths.firmware_file(name).is_file()]
    if not built:
        paths.firmware(boards.chosen().name)  # the error explains what to do
    absent = [name for name in names if name not in built]
    return ", ".join(built) + (f"; not built: {', '.join(absent)}" if absent else "")


def _package(name: str, extra: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        python = other_python.environment(extra) if extra in other_python.kits() else None
        if python:
            return python
        command = f"pip install {name}" if not extra else other_python.install(extra)
        if extra in other_python.kits():
            command = f"ethosu doctor --install {extra}"
        raise SetupError(f"not installed: {command}") from None


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        apt = "sudo apt " if sys.platform == "linux" else ""
        raise SetupError(f"not installed: {apt}install {package}")
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
    """One line for each component and port, or each check; or the new Python."""
    if "port" in data:
        return _render_checks(data)
    if "version" not in data:
        return data.get("python") or "\n".join(data["requirements"])
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


def _render_checks(data: dict[str, Any]) -> str:
    """One line for each check; a failed one is followed by its usual cause."""
    lines = []
    for check in data["checks"]:
        lines.append(f"{check['name']:<12}{check['state']:<8}{check['found']}")
        if "meaning" in check:
            lines += _wrapped(check["meaning"])
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )
