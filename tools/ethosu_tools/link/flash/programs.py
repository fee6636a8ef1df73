# SPDX-License-Identifier: MIT
"""Flashes with a program on PATH: dfu-util, SEGGER's J-Link, pyOCD, or OpenOCD.

Settings of DFU: `device`, vendor and product of the boot loader; `partition`, the number of the
alternate setting for the image; `largest`, its bytes; `address`, its start; `how`, how to start the
boot loader. Source for OpenMV's boot loader: its boot_config.h and its page on dfu-util. Settings
of the probes: SEGGER's name of the `device` and the `address`, or pyOCD's name of the `target`, or
OpenOCD's files for the `interface` and the `target`, the `address`, the flash `loader` and the file
with the `layout` of the flash. Source for OpenOCD's commands: the makefile of Infineon's
MicroPython port for PSOC Edge.
"""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base.errors import SetupError
from .common import (
    Request,
    Step,
    Tool,
    Way,
    ask,
    named_folder,
    on_path,
    read_image,
    run_tool,
    tool_folder,
    with_version,
)

_DFU_MISSING = (
    "dfu-util is not on PATH: sudo apt install dfu-util, or see https://dfu-util.sourceforge.net"
)
_JLINK = ("JLinkExe", "JLink")
_JLINK_OPTIONS = ("-NoGui", "1", "-CommandFile")
_JLINK_MISSING = (
    "JLinkExe is not on PATH: install SEGGER's J-Link software, V9.46 or later, see "
    "https://www.segger.com/downloads/jlink"
)
_PYOCD_MISSING = (
    "pyocd is not on PATH: run pip install pyocd, then pyocd pack install {}; see "
    "https://pyocd.io/docs"
)


def _call(
    request: Request, command: Sequence[str | Path], missing: str, image: Path, largest: int | None
) -> Step:
    """Return a step that runs a program; raises SetupError with `missing` if not installed."""

    def write() -> None:
        read_image(image, largest)
        on_path(str(command[0]), missing)
        run_tool(command, request.ui)

    return Step(shlex.join(map(str, command)), write)


def dfu_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Ask the user to start the boot loader; dfu-util waits for it and writes."""
    image = request.image(".bin")
    # The part before the comma, the ID of running firmware, is empty.
    command = ["dfu-util", "-w", "-d", f",{settings['device']}", "-a", str(settings["partition"])]
    command += ["--reset", "-D", str(image)]
    return [
        Step(f"when dfu-util is waiting: {settings['how']}", lambda: None),
        _call(request, command, _DFU_MISSING, image, settings["largest"]),
    ]


def _jlink() -> str:
    """Find J-Link's program, by its name on this system."""
    return next(filter(None, map(shutil.which, _JLINK)), _JLINK[0])


def jlink_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write a script and run it with J-Link."""
    image, script = request.image(".bin"), request.work / "flash.jlink"
    lines = (
        "ExitOnError 1",
        f"Device {settings['device']}",
        "SelectInterface SWD",
        "Speed auto",
        "Connect",
        f'LoadFile "{image}",{settings["address"]:#x}',
        "Reset",
        "Go",
        "Exit",
    )
    program = _jlink()

    def write() -> None:
        script.write_text("\n".join(lines) + "\n")

    return [
        Step(f"write {script}: {'; '.join(lines)}", write),
        _call(request, [program, *_JLINK_OPTIONS, script], _JLINK_MISSING, image, None),
    ]


def pyocd_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write the ELF file, which contains the addresses, with pyOCD."""
    target = settings["target"]
    command: list[str | Path] = ["pyocd", "load", "--no-wait", "--target", target, request.firmware]
    return [_call(request, command, _PYOCD_MISSING.format(target), request.firmware, None)]


_OPENOCD_MISSING = (
    "openocd is not on PATH: install Infineon's, 5.8 or later, see "
    "https://github.com/Infineon/openocd/releases"
)
_TARGET_MISSING = (
    "{} has no {}: the openocd of Debian and of openocd.org knows neither probe nor chip; put "
    "Infineon's, 5.8 or later, first on PATH, see https://github.com/Infineon/openocd/releases"
)
_LOADER_MISSING = (
    "the folder with {} is needed: name it with --tools or ETHOSU_OPENOCD_LOADER; it is bsp-cfg of "
    "the board in Infineon's MicroPython port, see https://github.com/Infineon/micropython-psoc-edge"
)
_LOADER_VARIABLE = "ETHOSU_OPENOCD_LOADER"
# A user reported that the end of an image that is no multiple of this stayed unwritten.
_SECTOR = 4096


def openocd_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write and verify firmware.bin at its address, with a flash loader of the vendor."""
    image, whole = request.image(".bin"), request.work / "whole.bin"

    def prepare() -> None:
        data = read_image(image)
        _find_openocd(settings)
        _find_folder(request.tools, settings)
        whole.write_bytes(data + b"\xff" * (-len(data) % _SECTOR))

    def write() -> None:
        run_tool(_openocd(whole, _find_folder(request.tools, settings), settings), request.ui)

    shown = named_folder(request.tools, _LOADER_VARIABLE) or Path("FOLDER")
    return [
        Step(f"copy {image} to {whole}, filled up to whole sectors of {_SECTOR:,} bytes", prepare),
        Step(shlex.join(map(str, _openocd(whole, shown, settings))), write),
    ]


def _openocd(image: Path, folder: Path, settings: Mapping[str, Any]) -> list[str | Path]:
    """Return OpenOCD's command line; OpenOCD finds the flash's layout in the folder."""
    at = f'"{image}" {settings["address"]:#x}'
    lines = (
        f"set QSPI_FLASHLOADER {{{folder}/{settings['loader']}}}",
        f"source [find {settings['interface']}]",
        "transport select swd",
        f"source [find {settings['target']}]",
        "init",
        "reset init",
        "adapter speed 12000",
        f"flash write_image erase {at} bin",
        f"verify_image {at} bin",
        "reset run",
        "shutdown",
    )
    return ["openocd", "-s", folder, *(word for line in lines for word in ("-c", line))]


def _find_openocd(settings: Mapping[str, Any]) -> str:
    """Find OpenOCD; raises SetupError unless it has the board's configuration files.

    This does not access the probe.
    """
    path = on_path("openocd", _OPENOCD_MISSING)
    for file in (settings["interface"], settings["target"]):
        code, said = ask([path, "-c", f"find {file}", "-c", "shutdown"])
        if code:
            last = (said.strip().splitlines() or ["nothing"])[-1].strip()
            raise SetupError(f"{_TARGET_MISSING.format(path, file)} (it said: {last})")
    return path


def _find_folder(named: Path | None, settings: Mapping[str, Any]) -> Path:
    """Find the folder of loader and layout; without them, OpenOCD silently writes nothing."""
    files = settings["loader"], settings["layout"]
    missing = _LOADER_MISSING.format(" and ".join(files))
    folder, _ = (tool_folder(named, _LOADER_VARIABLE, file, missing) for file in files)
    return folder


DFU_TOOL = Tool("dfu-util", lambda _: with_version(on_path("dfu-util", _DFU_MISSING), "-V"))
JLINK_TOOL = Tool("J-Link", lambda _: on_path(_jlink(), _JLINK_MISSING))
PYOCD_TOOL = Tool(
    "pyocd",
    lambda settings: with_version(
        on_path("pyocd", _PYOCD_MISSING.format(settings["target"])), "--version"
    ),
)
OPENOCD_TOOLS = (
    Tool("openocd", lambda settings: with_version(_find_openocd(settings), "--version")),
    Tool("openocd's loader", lambda settings: str(_find_folder(None, settings))),
)

DFU = Way(
    "dfu",
    "written over USB by the board's own boot loader (DFU)",
    dfu_steps,
    frozenset({"device", "partition", "largest", "how"}),
    frozenset({"address"}),
    tools=(DFU_TOOL,),
)
JLINK = Way(
    "jlink",
    "written by a J-Link probe",
    jlink_steps,
    frozenset({"device", "address"}),
    tools=(JLINK_TOOL,),
)
PYOCD = Way(
    "pyocd",
    "written by a debug probe that pyOCD supports",
    pyocd_steps,
    frozenset({"target"}),
    tools=(PYOCD_TOOL,),
    rom="",
)
OPENOCD = Way(
    "openocd",
    "written by the board's debug probe with Infineon's OpenOCD",
    openocd_steps,
    frozenset({"interface", "target", "loader", "layout", "address"}),
    tools=OPENOCD_TOOLS,
    options="--tools FOLDER",
)
