# SPDX-License-Identifier: MIT
"""Flashes with a program on PATH: dfu-util, SEGGER's J-Link, or pyOCD.

Settings of DFU: `device`, vendor and product of the boot loader; `partition`, the number of the
alternate setting for the image; `largest`, its bytes; `address`, its start; `how`, how to start the
boot loader. Source for OpenMV's boot loader: its boot_config.h and its page on dfu-util. Settings
of the probes: SEGGER's name of the `device` and the `address`, or pyOCD's name of the `target`.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import SetupError
from .common import Request, Step, Way, read_image, run_tool

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
