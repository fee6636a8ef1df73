# SPDX-License-Identifier: MIT
"""Finds calls between the sources of a room from the symbols of its objects."""

import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
Graph = Mapping[str, Mapping[str, Set[str]]]
_LINE = re.compile(r"(?P<object>.+?\.o):\s*[0-9a-f]* (?P<kind>\w) (?P<name>\S+)")
# Symbols that an object gives to others; weak ones give way to others.
_GIVEN, _WEAK, _TAKEN = "TDBRSGCiV", "W", "Uw"


def table(name: str) -> dict[str, Any]:
    """Read rooms.toml or addons.toml."""
    return tomllib.loads((REPO / "host_tests/tree" / name).read_text())


def calls(root: Path, room: Path, tool: str = "nm") -> Graph:
    """Return symbols by caller and definer; sources are relative to `root`, without .o.

    A table of functions counts as calls of each. Objects without a source, in the room or generated
    beside them, are those of another build, such as one with a sanitizer, or older than a move.
    """
    objects = [
        path
        for path in sorted(root.rglob("*.o"))
        if any((at / path.relative_to(root)).with_suffix(".c").is_file() for at in (room, root))
    ]
    command = [tool, "-A", "-g", *map(str, objects)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    owner: dict[str, str] = {}
    wanted = []
    for match in _LINE.finditer(text):
        source = str(Path(match["object"]).relative_to(root))[: -len(".o")]
        if match["kind"] in _GIVEN:
            owner[match["name"]] = source
        elif match["kind"] in _WEAK:
            owner.setdefault(match["name"], source)
        if match["kind"] in _TAKEN:
            wanted.append((source, match["name"]))
    graph: dict[str, dict[str, set[str]]] = {
        str(path.relative_to(root))[: -len(".o")]: defaultdict(set) for path in objects
    }
    for source, name in wanted:
        if name in owner and owner[name] != source:
            graph[source][owner[name]].add(name)
    return graph


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Find groups of sources that all reach each other by calls, the largest first (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(source: str) -> None:
        index[source] = low[source] = len(index)
        stack.append(source)
        for target in graph.get(source, ()):
            if target not in index:
                visit(target)
            if target in stack:
                low[source] = min(low[source], low[target])
        if low[source] == index[source]:
            at = stack.index(source)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for source in graph:
        if source not in index:
            visit(source)
    return sorted((each for each in found if len(each) > 1), key=len, reverse=True)


def folder(source: str) -> str:
    """Return the folder of a source in its room; "" at the top."""
    return str(Path(source).parent).removeprefix(".")
