# SPDX-License-Identifier: MIT
"""The data of each board: the board.toml in its folder, and what that inherits.

A board is called FOLDER, or FOLDER-VARIANT if it has variants: the cores of a chip. This name is
used by `make firmware BOARD=`, by the commands of the tools, and for the emulated machine. The
tools also accept FOLDER alone for the first variant, the usual core.
"""

import argparse
import hashlib
import os
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..base import paths
from ..base.errors import InputError, SetupError, checked_by
from ..base.ui import guess
from . import board_files

FILE = board_files.FILE
VARIABLE = "ETHOSU_BOARD"
DEFAULT = board_files.DEFAULT
# The board of commands without --board: one to emulate, and one that has the model's NPU.
DEFAULT_HELP = f"the one that the model was compiled for, else ${VARIABLE}, else {DEFAULT}"
NPU_HELP = f"{DEFAULT_HELP}, if it has the model's NPU, else the first board that has it"

# Where the image has been shown to work.
SILICON, EMULATED, NOWHERE = "silicon", "emulated", "never ran"


@dataclass(frozen=True)
class Span:
    """A part of the address space; `start` is the CPU's address, `size` in bytes."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.start + self.size

    def holds(self, address: int, size: int) -> bool:
        """Whether `size` bytes from `address` on are inside."""
        return self.start <= address <= address + size <= self.end


@dataclass(frozen=True)
class Emulation:
    """How QEMU with the plugin emulates this board.

    With `any_npu`, the board has the NPU that a model was compiled for instead of a fixed one.
    `memories` are shared with the PC, by their names in the plugin's table: one holds the ROM file
    system, and one the `window` through which tensors are exchanged. `page` has the
    emulator registers. `romfs`, if any, is a memory that only the emulator maps, for ROM file
    systems that are too large for the board's own memory.
    """

    machine: str
    any_npu: bool
    page: int
    window: Span
    memories: Mapping[str, Span]
    romfs: Span | None = None


@dataclass(frozen=True)
class VelaFacts:
    """Vela's settings for a system: a file, and two sections of this file or of Vela's own."""

    config: Path
    system_config: str
    memory_mode: str


@dataclass(frozen=True)
class BlindPoint:
    """A measurement of the board's chip, found after the rules of the estimate had been chosen.

    `low_ms` and `estimated_ms` are the estimate for the same model, with the weights in `weights`.
    """

    model: str
    npu: str
    weights: str
    measured_ms: float
    measured_uj: float
    low_ms: float
    estimated_ms: float
    source: str

    @property
    def text(self) -> str:
        """The point on a line."""
        return (
            f"{self.model}, weights in {self.weights}, took {self.measured_ms:g} ms and "
            f"{self.measured_uj:g} uJ on this chip; the estimate for it is at least "
            f"{self.low_ms:.3g} ms (docs/latency.md)"
        )


@dataclass(frozen=True)
class BoardFacts:
    """One board.toml; the first of the NPUs is the default. `vela` and `estimate` are for that one.

    `heap` is the location of MicroPython's heap, None if unknown. `fast_memories`: bytes of memory
    for fast scratch alone, by the NPU that has it. `flash` has a table of settings
    for each flashing method (flash/), the default one first. `silicon` and `emulated`: the image
    has been shown to run on the chip, or in QEMU. `missing` lists features that a user would expect
    and the board lacks.
    """

    name: str
    title: str
    core: str
    clock_mhz: int
    npus: tuple[str, ...]
    romfs: Span
    heap: Span | None = None
    fast_memories: Mapping[str, int] = field(default_factory=dict)
    qemu: Emulation | None = None
    vela: VelaFacts | None = None
    flash: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    silicon: bool = False
    emulated: bool = False
    missing: tuple[str, ...] = ()
    estimate: Mapping[str, Any] = field(default_factory=dict)
    blind_point: BlindPoint | None = None

    @property
    def emulation(self) -> Emulation:
        """How QEMU emulates it; InputError if it does not."""
        if self.qemu is None:
            raise InputError(f"{self.name} is not emulated: its {FILE} has no [qemu]")
        return self.qemu

    @property
    def proof(self) -> str:
        """Where its image has been shown to work."""
        if self.silicon:
            return SILICON
        return EMULATED if self.emulated else NOWHERE


def names() -> list[str]:
    """All boards; of boards with variants, each variant."""
    return list(_index(paths.root()))


def full_name(name: str) -> str:
    """The name with its usual core, for the name of a folder; any other name as it is."""
    return next((full for full in names() if full.partition("-")[0] == name), name)


@cache
def chips() -> dict[str, dict[str, Any]]:
    """Chips whose speed is known, and that no board here has: like [estimate] of a board."""
    return tomllib.loads((Path(__file__).parent / "chips.toml").read_text())


def machines() -> list[str]:
    """Emulated machines for which there is no firmware here: `machine` has their data."""
    return [path.parent.name for path in files(board_files.MACHINE_FILE)]


def every() -> list[BoardFacts]:
    """Return all boards; raises SetupError if there are none, as next to an installed wheel."""
    known = names()
    if not known:
        raise SetupError(f"{_folder()} has no boards: set ETHOSU_ROOT to the project's source tree")
    return [load(name) for name in known]


def chosen(name: str | None = None) -> BoardFacts:
    """Return the named board; without a name, that of ETHOSU_BOARD, else the default."""
    return load(name or os.environ.get(VARIABLE) or DEFAULT)


def noted(name: str | None) -> str | None:
    """The name in a compiled file, if there is such a board here."""
    return name if name in names() else None


def machine(name: str | None = None) -> BoardFacts:
    """What third-party firmware runs on: a board as `chosen`, or one of `machines`."""
    name = name or os.environ.get(VARIABLE) or DEFAULT
    return _machine(name) if name in machines() else load(name)


@cache
def load(name: str, npu: str | None = None) -> BoardFacts:
    """Read the data of a board; raises InputError if it does not exist.

    The name of a folder means its usual core: the result has the full name.
    With the name of one of its NPUs, `vela` and `estimate` are for that NPU.
    """
    try:
        name = full_name(name)
        return _facts(name, table(name), npu)
    except (KeyError, TypeError, ValueError) as error:
        path = _folder() / name.partition("-")[0] / FILE
        raise SetupError(f"{path}: missing or misspelt setting of {name}: {error}") from None


def table(name: str) -> dict[str, Any]:
    """All entries of a board's files; raises InputError if it does not exist."""
    known = _index(paths.root())
    if name not in known and name in chips():
        raise InputError(
            f"{name} is a chip without a board here, but a board is needed: "
            f"expected one of {', '.join(names())}"
        )
    if name not in known:
        folder = [each for each in known if each.partition("-")[0] == name.partition("-")[0]]
        raise unknown("board", name, folder or list(known))
    return board_files.choose(_table(known[name]), name.partition("-")[2])


def unknown(what: str, name: str, known: Sequence[str]) -> InputError:
    """The error for a name that is not among the known ones, with a guess."""
    return InputError(
        f"unknown {what} {name!r}; {guess(name, known)}expected one of {', '.join(known)}"
    )


def forget() -> None:
    """Read all boards again, after their files or the root have changed."""
    _index.cache_clear()
    _table.cache_clear()
    load.cache_clear()
    _machine.cache_clear()


def files(name: str) -> list[Path]:
    """The files of this name in the folders of boards."""
    return board_files.files(paths.root(), name)


def blind_point(name: str) -> BlindPoint | None:
    """The blind point of the board of this name; None if it has none, or is not a board."""
    return load(name).blind_point if full_name(name) in names() else None


_LISTED = "`ethosu boards` lists them; without its core, the usual one"


def add_option(
    parser: argparse.ArgumentParser,
    purpose: str,
    default: str | None = f"${VARIABLE}, else {DEFAULT}",
    *,
    foreign: bool = False,
) -> None:
    """Declare --board; `default` describes the default, for the help text.

    With `foreign`, it may also be one of `machines`.
    """
    end = f" (default: {default})" if default else ""
    text = f"{purpose}; {_LISTED}{end}"
    if foreign:
        text += f"; for third-party firmware also {', '.join(machines())}"
    kind = _foreign_argument if foreign else _argument
    parser.add_argument("--board", type=kind, action=Named, metavar="BOARD", help=text)


def add_positional(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Declare a board that the command needs, or may have."""
    count = "?" if optional else None
    parser.add_argument(
        "board", type=_argument, action=Named, metavar="BOARD", nargs=count, help=_LISTED
    )


class Named(argparse.Action):
    """Takes the name of a board, or whatever else the option accepts.

    For a folder with several cores, the value is the full name of the usual one, and a remark about
    that is added to the namespace's `remarks`, which the command line interface prints.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store the full name."""
        name = values and full_name(str(values))
        setattr(namespace, self.dest, name)
        if name != values:
            others = [each for each in names() if each.partition("-")[0] == values]
            others.remove(str(name))
            said = f"{values} is taken as {name}, its usual core; it also has {', '.join(others)}"
            namespace.remarks = [*getattr(namespace, "remarks", ()), said]


_argument = checked_by(load)
_foreign_argument = checked_by(lambda text: text in machines() or load(text))


def _folder() -> Path:
    return paths.root() / "boards"


@cache
def _index(root: Path) -> dict[str, Path]:
    """The file of each board of a tree."""
    return {name: path for path in board_files.files(root, FILE) for name in _names_in(path)}


def _names_in(path: Path) -> list[str]:
    return board_files.variants(path.parent.name, _table(path))


@cache
def _table(path: Path) -> dict[str, Any]:
    try:
        return board_files.read(path.parents[2], path)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"{path}: {error}") from None


@cache
def _vela_folder() -> tempfile.TemporaryDirectory[str]:
    """Folder of the generated Vela configuration files, for the lifetime of this process."""
    return tempfile.TemporaryDirectory(prefix="ethosu-boards-")


def _vela_facts(table: Mapping[str, Any]) -> VelaFacts:
    """Write the settings of `table` as a Vela configuration file, one for all equal settings.

    A model is therefore compiled once for boards with the same settings.
    """
    entries = "".join(f"{key}={value}\n" for key, value in table.get("system", {}).items())
    text = f"[System_Config.{table['system_config']}]\n{entries}" if entries else ""
    mark = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = Path(_vela_folder().name) / f"{table['system_config']}-{mark}.ini"
    path.write_text(text)
    return VelaFacts(path, table["system_config"], table["memory_mode"])


# Settings that are facts as they are.
_REQUIRED, _OPTIONAL = ("title", "core", "clock_mhz"), ("flash", "silicon", "emulated", "estimate")


@cache
def _machine(name: str) -> BoardFacts:
    path = _folder() / name / board_files.MACHINE_FILE
    nothing = Span(0, 0)
    try:
        table = _table(path)
        return BoardFacts(
            **{key: table[key] for key in _REQUIRED},
            name=name,
            npus=tuple(table["npus"]),
            romfs=nothing,
            qemu=Emulation(table["machine"], any_npu=True, page=0, window=nothing, memories={}),
            missing=("firmware of this project",),
        )
    except KeyError as error:
        raise SetupError(f"{path}: missing setting: {error}") from None


def _facts(name: str, table: dict[str, Any], npu: str | None) -> BoardFacts:
    npu = npu if npu in table["npus"] else table["npus"][0]
    table = board_files.over(table, table.get("by_npu", {}).get(npu, {}))
    qemu, vela = table.get("qemu"), table.get("vela")
    return BoardFacts(
        **{key: table[key] for key in _REQUIRED},
        **{key: table[key] for key in _OPTIONAL if key in table},
        name=name,
        npus=tuple(table["npus"]),
        romfs=Span(**table["romfs"]),
        heap=Span(**table["heap"]) if "heap" in table else None,
        # A row for each NPU of the image; the emulator may have more rows than the board has NPUs.
        fast_memories={
            npu: row["fast_memory"]["size"]
            for npu, row in zip(table["npus"], table.get("npu_registers", ()), strict=False)
            if "fast_memory" in row
        },
        qemu=qemu
        and Emulation(
            machine=qemu["machine"],
            any_npu=qemu.get("any_npu", False),
            page=qemu["page"],
            window=Span(**qemu["window"]),
            memories={memory: Span(**span) for memory, span in qemu["memories"].items()},
            romfs=Span(**qemu["romfs"]) if "romfs" in qemu else None,
        ),
        vela=_vela_facts(vela) if vela else None,
        missing=tuple(table.get("missing", ())),
        blind_point=BlindPoint(**table["blind_point"]) if "blind_point" in table else None,
    )
