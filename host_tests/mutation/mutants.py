# SPDX-License-Identifier: MIT
"""Mutants: lists them, draws some, and seeds one into a tree."""

import contextlib
import functools
import io
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from host_tests.mutation.rooms import ROOMS, Room, files

_RULES = {"c": ["universal.rules", "c_like.rules"], "python": ["universal.rules", "python.rules"]}
# Lines whose mutants change no behaviour, or do not compile: preprocessor, texts, declarations.
_IGNORED = [
    r"^\s*[{}]*;?$", r"^[a-z].*[),]$", r"^\s*(-?(0x)?[0-9A-Fa-f]+u?, )+",
    r"^\s*#", r"^\s*//", r"^\s*/?\*", r"^\s*(import|from)\s", r'^\s*r?f?"""',
    r"^\s*(static |const |extern )*(struct|enum|union|typedef)\b[^=()]*[;{]$", r"^\s*assert",
]  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A changed line."""

    room: str
    file: str
    line: int
    """From 1."""
    before: str
    after: str


def of(tree: Path, room: Room, file: Path) -> list[Mutant]:
    """All mutants of a file."""
    from universalmutator import mutator

    lines = (tree / file).read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        made = mutator.mutants_regexp(
            lines, _RULES[room.rules], ignorePatterns=_IGNORED, ignoreStringOnly=True
        )
    return [
        Mutant(room.name, str(file), number, lines[number - 1], after)
        for number, after, *_ in made
        if after.split() != lines[number - 1].split() and "\n" not in after.rstrip("\n")
    ]


@functools.cache
def drawn(tree: Path, room: Room, seed: int) -> list[Mutant]:
    """Mutants of a room in random order: all lines of code are equally likely, and mutated once."""
    choice = random.Random(f"{seed} {room.name}")
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for file in files(tree, room):
        for mutant in of(tree, room, file):
            by_line.setdefault((mutant.file, mutant.line), []).append(mutant)
    places = sorted(by_line)
    choice.shuffle(places)
    return [choice.choice(by_line[place]) for place in places]


def room_of(mutant: Mutant) -> Room:
    """Its file and line."""
    return next(room for room in ROOMS if room.name == mutant.room)


def _file_in(tree: Path, mutant: Mutant) -> Path | None:
    """The file, or, if the tree has moved it, the file that contains the line."""
    own = tree / mutant.file
    if own.is_file() and mutant.before in own.read_text().splitlines(keepends=True):
        return own
    found = [
        path
        for path in (tree / each for each in files(tree, room_of(mutant)))
        if mutant.before in path.read_text().splitlines(keepends=True)
    ]
    same_name = [path for path in found if path.name == own.name]
    found = same_name or found
    return found[0] if len(found) == 1 else None


@contextlib.contextmanager
def seeded(tree: Path, mutant: Mutant) -> Iterator[Path | None]:
    """The tree with the mutant; yields the file's path from the root, or None without that line."""
    path = _file_in(tree, mutant)
    if path is None:
        yield None
        return
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    same = [number for number, line in enumerate(lines) if line == mutant.before]
    nearest = min(same, key=lambda number: abs(number - (mutant.line - 1)))
    lines[nearest] = mutant.after
    path.write_text("".join(lines))
    try:
        yield path.relative_to(tree)
    finally:
        path.write_text(text)


def read(path: Path) -> list[dict]:
    """Rows of a file that `write()` makes."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def write(path: Path, mutant: Mutant, **result: object) -> None:
    """Append a row: the mutant and its fate."""
    with path.open("a") as file:
        file.write(json.dumps({**asdict(mutant), **result}) + "\n")
