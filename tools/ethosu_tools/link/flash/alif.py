# SPDX-License-Identifier: MIT
"""Flashes with Alif's security toolkit, which writes the image and a table of contents to MRAM.

The chip's Secure Enclave writes the memory; the toolkit communicates with its UART. The options of
two editions differ: MicroPython's works on any folder and takes the chip as an option, Alif's
release requires its input in its own folders and is configured for one chip. Settings: `part`,
`revision` of the chip, `cpu`, `address`, and `device_config`, a file of MicroPython's edition.
Sources: ports/alif of MicroPython 1.28 (Makefile, deploy.md, alif_cfg.json.in), and the toolkit
itself, which was run until it missed the port. This was never tested on a chip.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...base import other_python
from ...base.errors import SetupError
from ...base.files import read_whole
from .common import Request, Step, Tool, Way, read_image, run_tool

VARIABLE = "ETHOSU_ALIF_TOOLKIT"
MISSING = (
    "Alif's security toolkit is needed: git clone "
    "https://github.com/micropython/alif-security-toolkit, and pass its folder toolkit/ with "
    f"--tools or {VARIABLE}; see ports/alif/boards/ALIF_ENSEMBLE/deploy.md of MicroPython"
)
# The extra of pyproject.toml with the packages that the toolkit imports.
KIT = "alif"
_GENERATE, _WRITE = "app-gen-toc", "app-write-mram"
_IMAGE, CONFIG, _CONTENTS = "firmware.bin", "firmware.json", "firmware.toc.bin"
# Files of Alif's edition: firewalls, clocks and pins after a reset, and the configured chip.
_DEVICE_CONFIG = "app-device-config.json"
_CHIP = Path("utils/global-cfg.db")
# In the first release of MicroPython's edition, only one of the two programs has this option.
_PART = "--cfg-part"


def contents(settings: Mapping[str, Any], binary: str, device_config: str) -> dict[str, Any]:
    """Return the table of contents: the device's configuration and the image of a core."""
    common = {"disabled": False, "signed": False}
    return {
        "DEVICE": common | {"binary": device_config, "version": "0.5.00"},
        "MICROPYTHON": common
        | {
            "binary": binary,
            "version": "1.0.0",
            "mramAddress": f"{settings['address']:#010x}",
            "cpu_id": settings["cpu"],
            "flags": ["boot"],
        },
    }


def table(settings: Mapping[str, Any], device_config: str) -> str:
    """Return the text of the file CONFIG."""
    return json.dumps(contents(settings, _IMAGE, device_config), indent=2)


@dataclass(frozen=True)
class Toolkit:
    """A copy of the toolkit: the suffix of its programs, whether it is MicroPython's edition."""

    folder: Path
    suffix: str
    of_micropython: bool

    def program(self, name: str, python: str) -> list[str | Path]:
        """Return the command that starts a program."""
        path = self.folder / f"{name}{self.suffix}"
        return [python, path] if self.suffix else [path]

    def takes(self, name: str, option: str) -> bool:
        """Whether a program, if it is a script, has an option."""
        return bool(self.suffix) and option in read_whole(self.folder / f"{name}.py").decode()


def find(tools: Path | None) -> Toolkit | None:
    """Find the toolkit that is named or on PATH; None if there is none."""
    on_path = (shutil.which(f"{_WRITE}{suffix}") for suffix in (".py", ""))
    named = tools or os.environ.get(VARIABLE) or next(filter(None, on_path), None)
    if not named:
        return None
    folder = Path(named).expanduser().resolve()
    folder = folder if folder.is_dir() else folder.parent
    for suffix in (".py", ""):
        if all((folder / f"{name}{suffix}").is_file() for name in (_GENERATE, _WRITE)):
            toolkit = Toolkit(folder, suffix, of_micropython=False)
            return replace(toolkit, of_micropython=toolkit.takes(_WRITE, _PART))
    raise SetupError(f"{folder} has no {_GENERATE}.py and {_WRITE}.py: {MISSING}")


def _locate(settings: Mapping[str, Any]) -> str:
    toolkit = find(None)
    if toolkit is None:
        raise SetupError(MISSING)
    _refuse_another_chip(toolkit, settings)
    return str(toolkit.folder)


def _refuse_another_chip(toolkit: Toolkit, settings: Mapping[str, Any]) -> None:
    """Raise SetupError if the toolkit would make the contents for another chip than the board's."""
    part, revision = settings["part"], settings["revision"]
    if toolkit.of_micropython:
        if not toolkit.takes(_GENERATE, _PART):
            raise SetupError(
                f"{toolkit.folder} is too old: its {_GENERATE}.py has no option {_PART}; take the "
                "branch work-v1.110.0 or a later one"
            )
        return
    try:
        device = json.loads(read_whole(toolkit.folder / _CHIP))["DEVICE"]
        found = device["Part#"], device["Revision"]
    except (ValueError, LookupError, TypeError):
        raise SetupError(f"{toolkit.folder / _CHIP} does not name a chip") from None
    if part not in found[0] or revision != found[1]:
        raise SetupError(
            f"{toolkit.folder} is set to {' '.join(found)}, expected {part} {revision}: choose "
            "that with its tools-config"
        )


@dataclass(frozen=True)
class _Plan:
    """The paths of the toolkit's input, and the options of its two programs, run in `folder`."""

    folder: Path
    copy: Path
    config: Path
    device_config: str
    generate: Sequence[str]
    write: Sequence[str]


def _plan_of_micropythons(request: Request, settings: Mapping[str, Any]) -> _Plan:
    """Plan with names without a folder, because the toolkit separates paths by spaces."""
    chip = [_PART, settings["part"], "--cfg-rev", settings["revision"]]
    return _Plan(
        *(request.work, request.work / _IMAGE, request.work / CONFIG, settings["device_config"]),
        generate=[
            *("--filename", CONFIG, "--output-dir", ".", "--firmware-dir", "."),
            *("--output", _CONTENTS, *chip),
        ],
        write=[
            *(*chip, "--port", request.port or "PORT"),
            *("--pad", "--images", "file:application_package.ds"),
        ],
    )


def _plan_of_alifs(request: Request, folder: Path) -> _Plan:
    config = Path("build/config", CONFIG)
    return _Plan(
        *(folder, folder / "build/images" / _IMAGE, folder / config, _DEVICE_CONFIG),
        generate=["-f", str(config)],
        write=["-p", *(("-c", request.port) if request.port else ())],
    )


def steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Write the table of contents, pack it with the image, write both to the board."""
    toolkit = find(request.tools)
    shown = toolkit or Toolkit(Path("TOOLKIT"), ".py", of_micropython=True)
    named = other_python.absolute(request.python) if request.python else None
    python = named or other_python.environment(KIT) or sys.executable
    image = request.image(".bin")
    plan = (
        _plan_of_micropythons(request, settings)
        if shown.of_micropython
        else _plan_of_alifs(request, shown.folder)
    )

    def prepare() -> None:
        if toolkit is None:
            raise SetupError(MISSING)
        _refuse_another_chip(toolkit, settings)
        if toolkit.suffix:
            kit = other_python.kits()[KIT]
            other_python.require(python, kit.probe, kit.title, KIT)
        if toolkit.of_micropython:
            request.needs_port()
        data = read_image(image)
        for path in (plan.copy, plan.config):
            path.parent.mkdir(parents=True, exist_ok=True)
        plan.copy.write_bytes(data)
        plan.config.write_text(table(settings, plan.device_config))

    what = f"copy {image} to {plan.copy}, for {settings['address']:#x}; write {plan.config}"
    return [
        Step(what, prepare),
        *(
            _command(request, [*shown.program(name, python), *options], plan.folder)
            for name, options in ((_GENERATE, plan.generate), (_WRITE, plan.write))
        ),
    ]


def _command(request: Request, words: Sequence[str | Path], folder: Path) -> Step:
    """Run a program of the toolkit; answer "no" if it asks whether to accept another chip."""
    text = f"cd {shlex.quote(str(folder))}; {shlex.join(map(str, words))}"
    return Step(text, lambda: run_tool(words, request.ui, folder, answer="n\n"))


WAY = Way(
    "alif",
    "written to MRAM by Alif's security toolkit, over the chip's SE UART",
    steps,
    frozenset({"part", "revision", "device_config", "cpu", "address"}),
    tools=(Tool("Alif's toolkit", _locate),),
    options="--port PORT --tools FOLDER",
)
