# SPDX-License-Identifier: MIT
"""Flashes with Alif's security toolkit, which writes the image and a table of contents to MRAM.

The chip's Secure Enclave writes the memory; the toolkit communicates with its UART. Two editions
differ in their options: MicroPython's works on any folder, Alif's release requires its input in its
own folders. Settings: `part`, `revision` if required, `cpu`, `address`, and `device_config`, a file
of MicroPython's edition. Sources: ports/alif of MicroPython 1.28 (Makefile, deploy.md,
alif_cfg.json.in), README of Alif's examples. Never tested on a chip.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import SetupError
from .common import Request, Step, Way, read_image, run_tool

VARIABLE = "ETHOSU_ALIF_TOOLKIT"
MISSING = (
    "Alif's security toolkit is needed: clone "
    "https://github.com/micropython/alif-security-toolkit and pass its folder toolkit/ with "
    f"--tools or {VARIABLE}; see ports/alif/boards/ALIF_ENSEMBLE/deploy.md of MicroPython"
)
_GENERATE, _WRITE = "app-gen-toc", "app-write-mram"
_CONFIG = "firmware.json"
# In Alif's edition: the chip's firewalls, clocks and pins after a reset.
_DEVICE_CONFIG = "app-device-config.json"


def contents(settings: Mapping[str, Any], binary: str, device_config: str) -> dict[str, Any]:
    """The table of contents: the device's configuration, and the image that a core starts."""
    return {
        "DEVICE": {
            "disabled": False,
            "binary": device_config,
            "version": "0.5.00",
            "signed": False,
        },
        "MICROPYTHON": {
            "disabled": False,
            "binary": binary,
            "version": "1.0.0",
            "mramAddress": f"{settings['address']:#010x}",
            "cpu_id": settings["cpu"],
            "flags": ["boot"],
            "signed": False,
        },
    }


def find(request: Request) -> tuple[Path, bool] | None:
    """Folder of the toolkit, and whether it is MicroPython's edition; None if not found."""
    on_path = (shutil.which(f"{_WRITE}{suffix}") for suffix in (".py", ""))
    named = request.tools or os.environ.get(VARIABLE) or next(filter(None, on_path), None)
    if not named:
        return None
    folder = Path(named).expanduser().resolve()
    folder = folder if folder.is_dir() else folder.parent
    for suffix in (".py", ""):
        if all((folder / f"{name}{suffix}").is_file() for name in (_GENERATE, _WRITE)):
            return folder, suffix == ".py"
    raise SetupError(f"{folder} has no {_GENERATE}.py and {_WRITE}.py: {MISSING}")


def steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write the table of contents, pack it with the image, write both to the board."""
    toolkit = find(request)
    folder, of_micropython = toolkit or (Path("TOOLKIT"), True)
    image, work = request.image(".bin"), request.work if of_micropython else folder
    generate: list[str | Path]
    write: list[str | Path]
    if of_micropython:
        copy, config = work / image.name, work / _CONFIG
        device_config = settings["device_config"]
        generate = [
            *(sys.executable, folder / f"{_GENERATE}.py", "--filename", config),
            *("--output-dir", work, "--firmware-dir", work, "--output", work / "firmware.toc.bin"),
        ]
        write = [
            *(sys.executable, folder / f"{_WRITE}.py", "--cfg-part", settings["part"]),
            *(("--cfg-rev", settings["revision"]) if "revision" in settings else ()),
            *("--port", request.port or "PORT"),
            *("--pad", "--images", f"file:{work / 'application_package.ds'}"),
        ]
    else:
        copy, config = folder / "build/images" / image.name, folder / "build/config" / _CONFIG
        device_config = _DEVICE_CONFIG
        generate = [folder / _GENERATE, "-f", config.relative_to(folder)]
        write = [folder / _WRITE, "-p"]

    def prepare() -> None:
        if toolkit is None:
            raise SetupError(MISSING)
        if of_micropython:
            request.needs_port()
        _copy_input(image, copy, config, contents(settings, image.name, device_config))

    return [
        Step(f"copy {image} to {copy}, for {settings['address']:#x}; write {config}", prepare),
        _command(generate, work),
        _command(write, work),
    ]


def _copy_input(image: Path, copy: Path, config: Path, table: Mapping[str, Any]) -> None:
    """Copy the image and its table of contents to where the toolkit expects them."""
    data = read_image(image)
    for path in (copy, config):
        path.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(data)
    config.write_text(json.dumps(table, indent=2))


def _command(words: Sequence[str | Path], folder: Path) -> Step:
    return Step(" ".join(map(str, words)), lambda: run_tool(words, folder))


WAY = Way(
    "alif",
    "written to MRAM by Alif's security toolkit, over the chip's SE UART",
    steps,
    frozenset({"part", "device_config", "cpu", "address"}),
    frozenset({"revision"}),
)
