# SPDX-License-Identifier: MIT
"""Lists and draws mutants, and seeds one into a tree."""

import contextlib
import functools
import io
import json
import random
import re
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


_NUMBER = re.compile(r"(0[xX][\da-fA-F]+|\d+(\.\d*)?([eE][-+]?\d+)?)[uUlLfF]*")
_PAIRS, _OPERATORS = ("()", "[]", "{}"), "<>=&|+-*/%"
_STATEMENT = re.compile(r"\s*(?!return\b)[\w>.*()\[\]-]+( [-+*/|&^<>]*= .*|\(.*\)|\+\+|--);$")


@dataclass(frozen=True)
class Mutant:
    """A changed line of a source."""

    room: str
    file: str
    line: int
    """The line's number, from 1."""
    before: str
    after: str


def is_plausible(before: str, after: str) -> bool:
    """Whether a line of C may compile, because universalmutator does not know tokens."""
    if "/*" in after and "/*" not in before:
        return bool(_STATEMENT.match(before.rstrip("\n")))
    pairs = [i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y]
    start = pairs[0] if pairs else min(len(before), len(after))
    removed, neighbours = before[start], (before[start - 1] + before[start + 1 : start + 2])
    words = re.findall(r"[\w.]+", after)
    return not (
        # Arguments or formats in another order mostly have wrong types.
        sorted(before.replace(" ", "")) == sorted(after.replace(" ", ""))
        or ('""' in after and '""' not in before and "%" in before)
        or (removed.isdigit() and re.search(r"[A-Za-z_]\d*$", before[:start]))
        or any(word[0].isdigit() and not _NUMBER.fullmatch(word) for word in words)
        or len(re.findall(r"\)\w", after)) > len(re.findall(r"\)\w", before))
        or any(
            before.count(a) - before.count(b) != after.count(a) - after.count(b) for a, b in _PAIRS
        )
        # This would change a pointer, an address, a sign, or a part of a longer operator.
        or (removed in "*&-" and not neighbours[-1:].isspace())
        or (removed in _OPERATORS and any(each in _OPERATORS for each in neighbours))
    )


def of(tree: Path, room: Room, file: Path) -> list[Mutant]:
    """Return all mutants of a file."""
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
        if room.rules != "c" or is_plausible(lines[number - 1], after)
    ]


@functools.cache
def drawn(tree: Path, room: Room, seed: int) -> list[Mutant]:
    """Draw mutants of a room in random order: one for each line, with equal probability."""
    choice = random.Random(f"{seed} {room.name}")
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for file in files(tree, room):
        for mutant in of(tree, room, file):
            by_line.setdefault((mutant.file, mutant.line), []).append(mutant)
    places = sorted(by_line)
    choice.shuffle(places)
    return [choice.choice(by_line[place]) for place in places]


def room_of(mutant: Mutant) -> Room:
    """Return the room in which a mutant was drawn."""
    return next(room for room in ROOMS if room.name == mutant.room)


def _file_in(tree: Path, mutant: Mutant) -> Path | None:
    """Find the file, or the one with this line if the tree has it elsewhere."""
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
    """Seed a mutant; yields the file's path, or None if the tree lacks the line."""
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
    """Read the rows of a file that `write()` makes."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def write(path: Path, mutant: Mutant, **result: object) -> dict:
    """Append a row with a mutant and its result; returns the row."""
    row = {**asdict(mutant), **result}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    return row
