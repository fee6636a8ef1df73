# SPDX-License-Identifier: MIT
"""What is known of each board: the board.toml in its folder, and what that inherits.

A board is called FOLDER, or FOLDER-VARIANT if it has variants, such as the cores of a chip: the
name of `make firmware BOARD=`, of all commands of the tools, and of the emulated machine.
"""

import argparse
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from . import board_files, paths
from .errors import InputError, SetupError

FILE = board_files.FILE
VARIABLE = "ETHOSU_BOARD"
DEFAULT = board_files.DEFAULT
# Which board a command takes that is not told one.
DEFAULT_HELP = f"the one that the model was compiled for, else ${VARIABLE}, else {DEFAULT}"

# Where the image was seen to work.
SILICON, EMULATED, NOWHERE = "silicon", "emulated", "never ran"


@dataclass(frozen=True)
class Span:
    """A part of the address space: the CPU's address, and bytes."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.start + self.size

    def holds(self, address: int, size: int) -> bool:
        """Are so many bytes from there on inside?"""
        return self.start <= address <= address + size <= self.end


@dataclass(frozen=True)
class Emulation:
    """How QEMU with the plugin becomes this board.

    With `any_npu` it has the NPU that a model was compiled for, and not one of its own.
    `memories` are those that the PC shares with it, by their names in the plugin's table: one holds
    the ROM file system, and one the `window` in which tensors go back and forth. `page` is the
    emulator's register page. `romfs` is where a ROM file system is that the board's own memory for
    it is too small for: a memory that only the emulator maps. None: there is none.
    """

    machine: str
    any_npu: bool
    page: int
    window: Span
    memories: Mapping[str, Span]
    romfs: Span | None = None


@dataclass(frozen=True)
class VelaFacts:
    """What Vela is told of a system: a file, and two sections of this file or of Vela's own."""

    config: Path
    system_config: str
    memory_mode: str


@dataclass(frozen=True)
class BoardFacts:
    """One board.toml; the first of the NPUs is the board's, unless it is told otherwise.

    `heap` is where MicroPython's heap is, None if that is not known; `flash` has a table of
    settings for each way to flash it (flash/), the usual way first; `silicon` and `emulated`: its
    image was seen to run on the chip, in QEMU; `missing` says what a user would expect and does not
    get there.
    """

    name: str
    title: str
    core: str
    clock_mhz: int
    npus: tuple[str, ...]
    romfs: Span
    heap: Span | None
    qemu: Emulation | None
    vela: VelaFacts | None
    flash: Mapping[str, Mapping[str, Any]]
    silicon: bool
    emulated: bool
    missing: tuple[str, ...]
    estimate: Mapping[str, Any]

    @property
    def has_rom(self) -> bool:
        """Is there a /rom on the chip, too? Else the emulated board alone has it."""
        return not any(each.startswith("/rom on the chip") for each in self.missing)

    @property
    def proof(self) -> str:
        """Say where its image was seen to work."""
        if self.silicon:
            return SILICON
        return EMULATED if self.emulated else NOWHERE


def names() -> list[str]:
    """All boards, and for a board with variants each of them."""
    return [name for path in files(FILE) for name in _names_in(path)]


def every() -> list[BoardFacts]:
    """Return all boards; SetupError where there are none, as next to an installed wheel."""
    found = names()
    if not found:
        raise SetupError(f"{_folder()} has no boards: set ETHOSU_ROOT to the project's source tree")
    return [load(name) for name in found]


def chosen(name: str | None = None) -> BoardFacts:
    """Return the board asked for; without a name that of ETHOSU_BOARD, else the default."""
    return load(name or os.environ.get(VARIABLE) or DEFAULT)


@cache
def load(name: str) -> BoardFacts:
    """Read what is known of a board; InputError when there is none of that name."""
    folder, _, variant = name.partition("-")
    path = _folder() / folder / FILE
    found = _names_in(path) if path in files(FILE) else []
    if name not in found:
        raise InputError(f"there is no board {name!r}; there are {', '.join(found or names())}")
    try:
        return _facts(name, board_files.choose(_table(path), variant))
    except (KeyError, TypeError, ValueError) as error:
        raise SetupError(f"{path}: {name} lacks or misspells {error}") from None


def files(name: str) -> list[Path]:
    """The files of this name in the folders of boards, where there are any."""
    return board_files.files(paths.root(), name)


def add_option(
    parser: argparse.ArgumentParser, purpose: str, default: str = f"${VARIABLE}, else {DEFAULT}"
) -> None:
    """Declare --board; `default` says what decides without it."""
    parser.add_argument(
        "--board",
        type=argument,
        metavar="BOARD",
        help=f"{purpose}: {', '.join(names())} (default: {default})",
    )


def argument(text: str) -> str:
    """Name of a board on the command line; another one is a wrong command line."""
    try:
        return load(text).name
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _folder() -> Path:
    return paths.root() / "boards"


def _names_in(path: Path) -> list[str]:
    return board_files.variants(path.parent.name, _table(path))


def _table(path: Path) -> dict[str, Any]:
    try:
        return board_files.read(paths.root(), path)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"{path}: {error}") from None


@cache
def _vela_folder() -> tempfile.TemporaryDirectory[str]:
    """Where Vela's configuration files are while this process runs."""
    return tempfile.TemporaryDirectory(prefix="ethosu-boards-")


def _vela_facts(name: str, table: Mapping[str, Any]) -> VelaFacts:
    """Write what `table` says as the file that Vela reads."""
    entries = "".join(f"{key}={value}\n" for key, value in table.get("system", {}).items())
    path = Path(_vela_folder().name) / f"{name}.ini"
    path.write_text(f"[System_Config.{table['system_config']}]\n{entries}" if entries else "")
    return VelaFacts(path, table["system_config"], table["memory_mode"])


def _facts(name: str, table: dict[str, Any]) -> BoardFacts:
    qemu, vela = table.get("qemu"), table.get("vela")
    return BoardFacts(
        name=name,
        title=table["title"],
        core=table["core"],
        clock_mhz=table["clock_mhz"],
        npus=tuple(table["npus"]),
        romfs=Span(**table["romfs"]),
        heap=Span(**table["heap"]) if "heap" in table else None,
        qemu=qemu
        and Emulation(
            machine=qemu["machine"],
            any_npu=qemu.get("any_npu", False),
            page=qemu["page"],
            window=Span(**qemu["window"]),
            memories={memory: Span(**span) for memory, span in qemu["memories"].items()},
            romfs=Span(**qemu["romfs"]) if "romfs" in qemu else None,
        ),
        vela=_vela_facts(name, vela) if vela else None,
        flash=table.get("flash", {}),
        silicon=table.get("silicon", False),
        emulated=table.get("emulated", False),
        missing=tuple(table.get("missing", ())),
        estimate=table.get("estimate", {}),
    )
