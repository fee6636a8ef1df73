# SPDX-License-Identifier: MIT
"""The data of each board: its board.toml, merged with the chip.toml that this inherits.

A board is called FOLDER, or FOLDER-VARIANT if it has variants: the cores of a chip. `make firmware
BOARD=`, the tools' commands and the emulated machine use this name. The tools also accept FOLDER
alone for the first variant, the usual core.
"""

import argparse
import hashlib
import os
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..base import paths
from ..base.errors import InputError, SetupError, checked_by
from ..base.ui import guess
from . import facts, files
from .facts import BlindPoint, BoardFacts

FILE = files.FILE
VARIABLE = "ETHOSU_BOARD"
DEFAULT = files.DEFAULT
# Help on the default of --board, for commands that emulate a board or need one with the NPU.
DEFAULT_HELP = f"the one that the model was compiled for, else ${VARIABLE}, else {DEFAULT}"
NPU_HELP = f"{DEFAULT_HELP}, if it has the model's NPU, else the first board that has it"


@dataclass(frozen=True)
class VelaFacts:
    """Vela's settings for a system: a file, and two sections of this file or of Vela's own."""

    config: Path
    system_config: str
    memory_mode: str


def names() -> list[str]:
    """List all boards, each variant separately."""
    return list(_index(paths.root()))


def full_name(name: str) -> str:
    """Complete the name of a folder with the usual core; return any other name unchanged."""
    return next((full for full in names() if full.partition("-")[0] == name), name)


@cache
def chips() -> dict[str, dict[str, Any]]:
    """Read the [estimate] of chips whose speed is known but that no board here has."""
    return tomllib.loads((Path(__file__).parent / "chips.toml").read_text())


def machines() -> list[str]:
    """List emulated machines without firmware here; `machine` reads their data."""
    return [path.parent.name for path in files.files(paths.root(), files.MACHINE_FILE)]


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
    """Return the board's name noted in a compiled file, if there is such a board here."""
    return name if name in names() else None


def machine(name: str | None = None) -> BoardFacts:
    """Return what third-party firmware runs on: a board as `chosen`, or one of `machines`."""
    name = name or os.environ.get(VARIABLE) or DEFAULT
    return _machine(name) if name in machines() else load(name)


@cache
def load(name: str, npu: str | None = None) -> BoardFacts:
    """Read the data of a board; raises InputError if it does not exist.

    The name of a folder means its usual core: the result has the full name.
    With the name of one of its NPUs, `vela` and `estimate` are for that NPU.
    """
    name = full_name(name)
    entries = table(name)
    with _wrong(_folder() / name.partition("-")[0] / FILE):
        return facts.of_table(name, entries, npu)


def table(name: str) -> dict[str, Any]:
    """Read all entries of a board's files; raises InputError if the board does not exist."""
    known = _index(paths.root())
    if name not in known and name in chips():
        raise InputError(
            f"{name} is a chip without a board here, but a board is needed: "
            f"expected one of {', '.join(names())}"
        )
    if name not in known:
        folder = [each for each in known if each.partition("-")[0] == name.partition("-")[0]]
        raise unknown("board", name, folder or list(known))
    return files.choose(_table(known[name]), name)


def unknown(what: str, name: str, known: Sequence[str]) -> InputError:
    """Return the error for an unknown name, with a guess at the known one."""
    return InputError(
        f"unknown {what} {name!r}; {guess(name, known)}expected one of {', '.join(known)}"
    )


def forget() -> None:
    """Read all boards again, after their files or the root have changed."""
    _index.cache_clear()
    _table.cache_clear()
    load.cache_clear()
    _machine.cache_clear()


def blind_point(name: str) -> BlindPoint | None:
    """Return a board's blind point; None if it has none, or the name is that of a chip."""
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
    return {name: path for path in files.files(root, FILE) for name in _names_in(path)}


def _names_in(path: Path) -> list[str]:
    with _wrong(path):
        return files.variants(path.parent.name, _table(path))


@cache
def _table(path: Path) -> dict[str, Any]:
    try:
        return files.read(path.parents[2], path)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"{path}: {error}") from None


@cache
def _vela_folder() -> tempfile.TemporaryDirectory[str]:
    """Folder of the generated Vela configuration files, for the lifetime of this process."""
    return tempfile.TemporaryDirectory(prefix="ethosu-boards-")


def vela_facts(board: BoardFacts) -> VelaFacts | None:
    """Write a board's [vela] as a Vela configuration file; None if there is no [vela].

    Boards with equal settings share a file, so a model is compiled once for them.
    """
    own = board.vela
    if own is None:
        return None
    entries = "".join(f"{key}={value}\n" for key, value in own.system.items())
    text = f"[System_Config.{own.system_config}]\n{entries}" if entries else ""
    return VelaFacts(_vela_file(own.system_config, text), own.system_config, own.memory_mode)


@cache
def _vela_file(name: str, text: str) -> Path:
    mark = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = Path(_vela_folder().name) / f"{name}-{mark}.ini"
    path.write_text(text)
    return path


@cache
def _machine(name: str) -> BoardFacts:
    path = _folder() / name / files.MACHINE_FILE
    with _wrong(path):
        return facts.of_machine(name, _table(path))


@contextmanager
def _wrong(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise SetupError(f"{path.parent}/{error}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise SetupError(f"{path}: an entry has another form than expected: {error}") from None
