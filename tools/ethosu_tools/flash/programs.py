# SPDX-License-Identifier: MIT
"""Flashes with a program on PATH: dfu-util, SEGGER's J-Link, pyOCD, or OpenOCD.

Settings of DFU: `device`, vendor and product of the boot loader; `partition`, the number of the
alternate setting for the image; `largest`, its bytes; `address`, its start; `how`, how to start the
boot loader. Source for OpenMV's boot loader: its boot_config.h and its page on dfu-util. Settings
of the probes: SEGGER's name of the `device` and the `address`, or pyOCD's name of the `target`, or
OpenOCD's files for the `interface` and the `target`, the `address`, and the flash `loader`. Source
for OpenOCD's commands: the makefile of Infineon's MicroPython port for PSOC Edge.
"""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import SetupError
from .common import Request, Step, Way, read_image, run_tool, tool_folder

_DFU_MISSING = (
    "dfu-util is not on PATH: install the package dfu-util, see https://dfu-util.sourceforge.net"
)
_JLINK = ("JLinkExe", "JLink")
_JLINK_MISSING = (
    "JLinkExe is not on PATH: install SEGGER's J-Link software, see "
    "https://www.segger.com/downloads/jlink"
)
_PYOCD_MISSING = (
    "pyocd is not on PATH: run pip install pyocd, then pyocd pack install TARGET; see "
    "https://pyocd.io/docs"
)


def _call(command: Sequence[str | Path], missing: str, image: Path, largest: int | None) -> Step:
    """A program that writes the image; raises SetupError with `missing` if it is not installed."""

    def write() -> None:
        read_image(image, largest)
        if shutil.which(command[0]) is None:
            raise SetupError(missing)
        run_tool(command)

    return Step(" ".join(map(str, command)), write)


def dfu_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """The user starts the boot loader; dfu-util waits for it and writes."""
    image = request.image(".bin")
    # Before the comma would be the ID of the running firmware.
    command = ["dfu-util", "-w", "-d", f",{settings['device']}", "-a", str(settings["partition"])]
    command += ["--reset", "-D", str(image)]
    return [
        Step(f"when dfu-util is waiting: {settings['how']}", lambda: None),
        _call(command, _DFU_MISSING, image, settings["largest"]),
    ]


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
    program = next(filter(None, map(shutil.which, _JLINK)), _JLINK[0])

    def write() -> None:
        script.write_text("\n".join(lines) + "\n")

    return [
        Step(f"write {script}: {'; '.join(lines)}", write),
        _call([program, "-NoGui", "1", "-CommandFile", script], _JLINK_MISSING, image, None),
    ]


def pyocd_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write the ELF file, which contains the addresses, with pyOCD."""
    target = settings["target"]
    command: list[str | Path] = ["pyocd", "load", "--target", target, request.firmware]
    return [_call(command, _PYOCD_MISSING.replace("TARGET", target), request.firmware, None)]


_OPENOCD_MISSING = (
    "openocd is not on PATH: install Infineon's, see https://github.com/Infineon/openocd/releases"
)
_LOADER_MISSING = (
    "the folder with {} is needed: name it with --tools or ETHOSU_OPENOCD_LOADER; it is bsp-cfg of "
    "the board in Infineon's MicroPython port, see https://github.com/Infineon/micropython-psoc-edge"
)
_LOADER_VARIABLE = "ETHOSU_OPENOCD_LOADER"


def openocd_steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write and verify firmware.bin at its address, with a flash loader of the vendor."""
    image, loader = request.image(".bin"), settings["loader"]

    def command(folder: Path | str) -> list[str | Path]:
        at = f'"{image}" {settings["address"]:#x}'
        lines = (
            f"set QSPI_FLASHLOADER {{{folder}/{loader}}}",
            f"source [find {settings['interface']}]",
            "transport select swd",
            f"source [find {settings['target']}]",
            "init",
            "reset init",
            f"flash write_image erase {at} bin",
            f"verify_image {at} bin",
            "reset run",
            "shutdown",
        )
        return ["openocd", "-s", folder, *(word for line in lines for word in ("-c", line))]

    def write() -> None:
        read_image(image)
        if shutil.which("openocd") is None:
            raise SetupError(_OPENOCD_MISSING)
        missing = _LOADER_MISSING.format(loader)
        run_tool(command(tool_folder(request, _LOADER_VARIABLE, loader, missing)))

    return [Step(shlex.join(map(str, command(request.tools or "FOLDER"))), write)]


DFU = Way(
    "dfu",
    "written over USB by the board's own boot loader (DFU)",
    dfu_steps,
    frozenset({"device", "partition", "largest", "how"}),
    frozenset({"address"}),
)
JLINK = Way("jlink", "written by a J-Link probe", jlink_steps, frozenset({"device", "address"}))
PYOCD = Way(
    "pyocd", "written by a debug probe that pyOCD supports", pyocd_steps, frozenset({"target"})
)
OPENOCD = Way(
    "openocd",
    "written by the board's debug probe with Infineon's OpenOCD",
    openocd_steps,
    frozenset({"interface", "target", "loader", "address"}),
)
