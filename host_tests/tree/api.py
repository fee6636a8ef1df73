# SPDX-License-Identifier: MIT
"""The interface of a release, which later ones with the same second number must keep.

python -m host_tests.tree.api    writes releases/VERSION.json, at each release

It has the stubs of the modules and of the fixture `board`, what the C headers declare, the keys of
`--json`, and the options and exit codes of the commands.
"""

import argparse
import ast
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ethosu_tools import cli, commands
from ethosu_tools.base import errors

from host_tests.kit import headers

from .rooms import REPO

CHANGELOG = REPO / "CHANGELOG.md"
FOLDER = REPO / "host_tests/tree/releases"
KEYS = "tools/ethosu_tools/commands/keys.toml"
BOARD = "tools/ethosu_tools/link/board.py"
Interface = dict[str, dict[str, list[str]]]


def version() -> str:
    """Return the version of the tree."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def releases() -> dict[str, Interface]:
    """Return the interfaces that the version of the tree must keep."""
    series = ".".join(version().split(".")[:2])
    return {path.stem: json.loads(path.read_text()) for path in FOLDER.glob(f"{series}.*.json")}


def today() -> Interface:
    """Return the interface of the tree."""
    stubs = sorted(REPO.glob("modules/ethosu/*.pyi"))
    python = {path.stem: [*members(ast.parse(path.read_text()).body)] for path in stubs}
    python["board"] = [*members(_class(ast.parse((REPO / BOARD).read_text()), "Board").body)]
    tables = tomllib.loads((REPO / KEYS).read_text())
    keys = {name: text.split() for table in tables.values() for name, text in table.items()}
    codes = (each for each in vars(errors).values() if "exit_code" in getattr(each, "__dict__", ()))
    return {
        "python": python,
        "c": headers.interface(),
        "json": keys,
        "options": dict(_options()),
        "exit codes": {"ethosu": [f"{each.__name__} = {each.exit_code}" for each in codes]},
    }


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    (found,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)
    return found


def members(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Return names, signatures and types of what is public."""
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not node.target.id.startswith("_"):
                yield f"{prefix}{node.target.id}: {ast.unparse(node.annotation)}"
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from members(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") and not node.name.endswith("__"):
                continue
            if any(
                isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list
            ):
                yield f"{prefix}{node.name}: {ast.unparse(node.returns or ast.Constant(None))}"
                continue
            is_async = "async " * isinstance(node, ast.AsyncFunctionDef)
            result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield f"{is_async}{prefix}{node.name}({ast.unparse(node.args)}){result}"


def _options() -> Iterator[tuple[str, list[str]]]:
    """Return the options and the positional arguments of each command of the core."""
    for path in sorted(Path(commands.__path__[0]).glob("[a-z]*.py")):
        parser = argparse.ArgumentParser(add_help=False)
        cli.command_module(path.stem).add_arguments(parser)
        actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        words = [word for each in actions for word in each.option_strings or [each.dest]]
        yield path.stem, words


def broken(old: Interface, new: Interface) -> list[str]:
    """Describe what a program for `old` does not find in `new`; additions are none."""
    found = []
    for kind, parts in old.items():
        for part, entries in parts.items():
            now = new[kind].get(part)
            if kind == "c" and now is not None:
                entries, now = headers.reachable(parts, part), headers.reachable(new[kind], part)
            if now is None:
                found.append(f"{kind} {part} is gone")
            else:
                keeps = _keeps if kind == "python" else _has
                found += [f"{part}: {each}" for each in entries if not keeps(each, now)]
    return found


def _has(entry: str, now: list[str]) -> bool:
    """Whether a key or option is there; what was optional may be in every output."""
    return entry in now or entry.replace("?", "") in now


def _keeps(entry: str, now: list[str]) -> bool:
    """Whether a constant has its type, or a function takes what it took and returns the same."""
    if "(" not in entry:
        return entry in now
    name = entry.partition("(")[0]
    same = (each for each in now if each.partition("(")[0] == name)
    return any(_takes(_parsed(each), _parsed(entry)) for each in same)


def _parsed(entry: str) -> tuple[ast.arguments, str]:
    call = entry.partition("(")
    (function,) = ast.parse(f"def f({call[2]}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args, ast.unparse(function.returns) if function.returns else ""


def _takes(new: tuple[ast.arguments, str], old: tuple[ast.arguments, str]) -> bool:
    """Whether each call that is valid for `old` is valid for `new`, with the same defaults."""
    (now, result), (before, expected) = new, old
    mine, theirs = _positional(now), _positional(before)
    names, keywords = dict(mine), _keywords(now)
    more = [default for _, default in mine[len(theirs) :]]
    more += [default for name, default in keywords.items() if name not in _keywords(before)]
    kept = {**keywords, **{name: names[name] for name in names}}
    return (
        result == expected
        and mine[: len(theirs)] == theirs
        and all(kept.get(name) == default for name, default in _keywords(before).items())
        and all(more)
        and bool(now.vararg) >= bool(before.vararg)
        and bool(now.kwarg) >= bool(before.kwarg)
    )


def _positional(given: ast.arguments) -> list[tuple[str, str]]:
    """Return names and defaults; "" is none. A name of a positional-only one means nothing."""
    every = [*given.posonlyargs, *given.args]
    defaults = [""] * (len(every) - len(given.defaults)) + [*map(ast.unparse, given.defaults)]
    names = ["/"] * len(given.posonlyargs) + [each.arg for each in given.args]
    return list(zip(names, defaults, strict=True))


def _keywords(given: ast.arguments) -> Mapping[str, str]:
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return {each.arg: ast.unparse(default) if default else "" for each, default in pairs}


def write() -> None:
    """Write the interface of this version, a line for each part."""
    kinds = (
        f'"{kind}": {{\n'
        + ",\n".join(f"{json.dumps(part)}: {json.dumps(rows)}" for part, rows in parts.items())
        + "\n}"
        for kind, parts in today().items()
    )
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{version()}.json").write_text("{\n" + ",\n".join(kinds) + "\n}\n")


if __name__ == "__main__":
    write()
