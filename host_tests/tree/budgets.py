# SPDX-License-Identifier: MIT
"""Lines of each room, of its sources and its tests, against its budget.

python -m host_tests.tree.budgets    today's lines, in the form of rooms.toml and addons.toml
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .rooms import REPO, table
from .test_places import tracked

TESTS = "host_tests"
# The room of files that are in no other.
REST = "."
# A budget is a multiple of this many lines, so that not each change touches it.
STEP = 50
Lines = list[int]


def _addons() -> dict[str, Any]:
    """Return the rows of the add-ons that are there."""
    rows = table("addons.toml").items()
    return {
        name: row for name, row in rows if any((REPO / path).exists() for path in row["folders"])
    }


def budgets() -> dict[str, Lines]:
    """Return the lines of sources and of tests that each room, and each add-on, may have."""
    addons = {name: row["lines"] for name, row in _addons().items()}
    return {**table("rooms.toml")["budgets"], **addons}


def folders() -> dict[str, list[str]]:
    """Return the folders of each room; the tests of a room PATH are in host_tests/PATH."""
    own = {room: [room, f"{TESTS}/{room}"] for room in table("rooms.toml")["budgets"]}
    return {**own, **{name: row["folders"] for name, row in _addons().items()}}


def room_of(path: Path, rooms: Mapping[str, Sequence[str]]) -> tuple[str, bool]:
    """Return the room whose folder is the longest that has the file, and whether it is a test."""
    found = [
        (len(folder), room)
        for room, paths in rooms.items()
        for folder in paths
        if f"{path.as_posix()}/".startswith(f"{folder}/")
    ]
    return max(found, default=(0, REST))[1], path.parts[0] == TESTS


def lines() -> dict[str, Lines]:
    """Return the lines of sources and of tests that each room has."""
    rooms, counts = folders(), Counter[tuple[str, bool]]()
    new = "--others", "--cached", "--exclude-standard"  # files that are not added yet count, too
    for path in tracked(REPO, *new):
        counts[room_of(path, rooms)] += (REPO / path).read_bytes().count(b"\n")
    return {room: [counts[room, False], counts[room, True]] for room in rooms}


if __name__ == "__main__":
    for room, (source, test) in lines().items():
        print(f'"{room}" = [{-(-source // STEP) * STEP}, {-(-test // STEP) * STEP}]')
