# SPDX-License-Identifier: MIT
"""By a debug probe: SEGGER's J-Link, or whatever pyOCD drives.

Settings: `device` in SEGGER's words and `address`, or `target` in pyOCD's.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import SetupError
from .job import Job, Step, Way, read_image, run_tool

_JLINK = ("JLinkExe", "JLink")
_JLINK_MISSING = (
    "JLinkExe is not on PATH: get SEGGER's J-Link software, "
    "https://www.segger.com/downloads/jlink explains it"
)
_PYOCD_MISSING = (
    "pyocd is not on PATH: run pip install pyocd, then pyocd pack install TARGET; "
    "https://pyocd.io/docs explains it"
)


def _found(names: tuple[str, ...]) -> str:
    """Path of a program, else its name, for a step that is only printed."""
    return next(filter(None, map(shutil.which, names)), names[0])


def _run(command: list[str | Path], missing: str) -> None:
    if shutil.which(command[0]) is None:
        raise SetupError(missing)
    run_tool(command)


def jlink_steps(job: Job, settings: Mapping[str, Any]) -> list[Step]:
    """Write a script of commands, have J-Link follow it."""
    image, script = job.image(".bin"), job.work / "flash.jlink"
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
    command: list[str | Path] = [_found(_JLINK), "-NoGui", "1", "-CommandFile", script]

    def write() -> None:
        read_image(image)
        script.write_text("\n".join(lines) + "\n")

    return [
        Step(f"write {script}: {'; '.join(lines)}", write),
        Step(" ".join(map(str, command)), lambda: _run(command, _JLINK_MISSING)),
    ]


def pyocd_steps(job: Job, settings: Mapping[str, Any]) -> list[Step]:
    """Have pyOCD write the ELF file, which says itself what goes where."""
    command: list[str | Path] = [_found(("pyocd",)), "load", "--target", settings["target"]]
    command.append(job.firmware)
    missing = _PYOCD_MISSING.replace("TARGET", settings["target"])

    def write() -> None:
        read_image(job.firmware)
        _run(command, missing)

    return [Step(" ".join(map(str, command)), write)]


JLINK = Way("jlink", "written by a J-Link probe", jlink_steps, frozenset({"device", "address"}))
PYOCD = Way(
    "pyocd", "written by a debug probe that pyOCD drives", pyocd_steps, frozenset({"target"})
)
