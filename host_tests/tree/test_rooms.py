# SPDX-License-Identifier: MIT
"""Rooms of C have one direction, small circles, and few sources in a folder: rooms.toml."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from . import rooms
from .rooms import REPO
from .test_places import ADDONS, tracked

# That of an add-on may be gone.
ROOMS = {
    name: room
    for name, room in rooms.table("rooms.toml")["rooms"].items()
    if (REPO / room["path"]).is_dir() or name not in ADDONS
}
SOURCES_MAX = 15
INCLUDE = re.compile(r'^#include "(?:[\w/]*/)?([\w/]+\.h)"', re.MULTILINE)


def may_call(room) -> dict[str, set[str]]:
    """Return what each folder may call, and itself; "*" stands for all folders listed above it."""
    allowed: dict[str, set[str]] = {}
    for name, others in room["folders"].items():
        allowed[name] = {name, *(allowed if others == "*" else others)}
    return allowed


@pytest.fixture(scope="module")
def graph_of(repo):
    def graph(room):
        (root, *_) = [*repo.glob(room["objects"])] or [None]
        if root is None or not shutil.which(room.get("nm", "nm")):
            pytest.fail(f"there is nothing in {room['objects']}: `make build` builds it")
        return rooms.calls(root, repo / room["path"], room.get("nm", "nm"))

    return graph


@pytest.mark.parametrize("name", ROOMS)
def test_no_circle_is_large(graph_of, name):
    """A large circle of sources that call each other can only be understood as a whole."""
    graph = graph_of(ROOMS[name])
    assert len(graph) > 5 and any(graph.values())
    hooks = ROOMS[name].get("hooks", ())
    plain = {one: [two for two in graph[one] if f"{one} -> {two}" not in hooks] for one in graph}
    found = [each for each in rooms.circles(plain) if len(each) > ROOMS[name]["circle"]]
    assert found == [], {
        (one, two): sorted(graph[one][two])
        for each in found for one in each for two in graph[one] if two in each
    }  # fmt: skip


@pytest.mark.parametrize("name", ROOMS)
def test_no_call_goes_up(graph_of, name):
    graph, allowed = graph_of(ROOMS[name]), may_call(ROOMS[name])
    up = {
        f"{source} -> {target}": sorted(names)
        for source, targets in graph.items()
        for target, names in targets.items()
        if rooms.folder(target) not in allowed[rooms.folder(source)]
    }
    hooks = ROOMS[name].get("hooks", {})
    assert {arrow: names for arrow, names in up.items() if arrow not in hooks} == {}
    assert [arrow for arrow in hooks if arrow not in up] == [], "exceptions that are not needed"


@pytest.mark.parametrize("name", ROOMS)
def test_no_include_goes_up(repo, name):
    room, allowed = repo / ROOMS[name]["path"], may_call(ROOMS[name])
    places = {path.name: rooms.folder(str(path.relative_to(room))) for path in room.rglob("*.h")}
    up = [
        f"{path.relative_to(room)} includes {header}"
        for path in sorted([*room.rglob("*.c"), *room.rglob("*.h")])
        if (own := rooms.folder(str(path.relative_to(room)))) in allowed
        for header in INCLUDE.findall(path.read_text())
        if places.get(header, own) not in allowed[own]
    ]
    assert up == []


@pytest.mark.parametrize("name", ROOMS)
def test_each_source_is_in_a_folder_of_the_table(repo, name):
    paths = [Path(path) for path in tracked(repo, f"{ROOMS[name]['path']}/*.c")]
    folders = Counter(str(path.parent.relative_to(ROOMS[name]["path"])) for path in paths)
    listed = {each or "." for each in ROOMS[name]["folders"]}
    assert set(folders) - listed - set(ROOMS[name].get("others", ())) == set()
    assert {each for each, count in folders.items() if count > SOURCES_MAX} == set()


def test_circles_are_found():
    graph = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": ["d"], "f": ["a"]}
    assert rooms.circles(graph) == [["a", "b", "c"], ["d", "e"]]
