# SPDX-License-Identifier: MIT
"""Collects the documentation pages of the tree for mkdocs, with generated reference pages.

Usage: book.py FOLDER. Pages keep their paths, so that links between them stay valid; a link to a
file that is not a page becomes plain text. `make docs` runs this, then mkdocs with docs/book.yml.
"""

import argparse
import ast
import contextlib
import io
import os
import re
import sys
import tomllib
from collections.abc import Iterator, MutableMapping
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

from ethosu_tools import boards, cli
from ethosu_tools.base import addons
from ethosu_tools.base.ui import markdown

REPO = Path(__file__).resolve().parents[2]
# Modules for programs on a board; those written in Python have types and docstrings themselves.
_PACKAGES = addons.texts("board package")
_MODULES = (
    *("*.pyi", "modules/ethosu/binding/python/[!_]*.py"),
    *(f"{folder}/*.py" for folder in _PACKAGES.values()),
)
_CHIPS = "firmware/chips/*/README.md"
_NO_PAGES = {"build", ".venv", ".git", ".pytest_cache"}
"""Folders that are not searched, because other programs may change them meanwhile."""
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"^```(\w+) (.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def files(*patterns: str) -> list[Path]:
    """Find files whose path from the root matches one pattern; `*` also matches slashes."""
    pages: list[Path] = []
    for folder, subfolders, names in os.walk(REPO):
        subfolders[:] = [each for each in subfolders if each not in _NO_PAGES]
        pages += [(Path(folder) / name).relative_to(REPO) for name in names]
    return sorted(
        path for path in pages if any(fnmatch(path.as_posix(), each) for each in patterns)
    )


def convert(path: Path, known: set[Path]) -> str:
    """Convert a page to mkdocs' dialect."""
    text = (REPO / path).read_text()
    ends = [0, *(end for match in _FENCE.finditer(text) for end in match.span()), len(text)]
    parts = [text[begin:end] for begin, end in pairwise(ends)]
    for index in range(0, len(parts), 2):  # between fences
        parts[index] = _LINK.sub(lambda match: _link(match, path, known), parts[index])
        # Markdown requires an empty line before a list, GitHub does not.
        parts[index] = re.sub(r"(?m)^(?![-*|\s]|\d+\.)(.+)\n(?=[-*] )", r"\1\n\n", parts[index])
    return _OPENING.sub(_opening, "".join(parts))


def _opening(match: re.Match[str]) -> str:
    """Remove a fence's mark; only programs for the board keep a language that can be run."""
    language = "py" if match[1] == "python" and match[2] != "board" else match[1]
    return f"```{language}"


def _link(match: re.Match[str], page: Path, known: set[Path]) -> str:
    name, _, _ = match[2].partition("#")
    if not name or re.match(r"[a-z]+:", name):
        return match[0]
    target = (REPO / page.parent / name).resolve()
    if target.is_dir():
        target = target / "README.md"
        if target.relative_to(REPO) in known:
            return match[0].replace(name, f"{name.rstrip('/')}/README.md")
    return match[0] if target.relative_to(REPO) in known else match[1]


def module_name(path: Path) -> str:
    """Return the import name: the file's name, prefixed with its packages."""
    names = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)


def reference(path: Path) -> str:
    """Write a page of the declarations of a stub or Python module."""
    tree = ast.parse(path.read_text())
    lines = [f"# Module `{module_name(path)}`", ast.get_docstring(tree) or ""]
    hidden = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.startswith("_")
    }
    lines += _members(public(tree), 2, hidden)
    return "\n\n".join(lines) + "\n"


def public(tree: ast.Module) -> list[ast.stmt]:
    """Return a module's statements, without functions and classes missing in its __all__."""
    exported = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ),
        None,
    )
    if exported is None:
        return tree.body
    return [node for node in tree.body if getattr(node, "name", exported[0]) in exported]


def _members(body: list[ast.stmt], level: int, hidden: dict[str, ast.ClassDef]) -> Iterator[str]:
    """Format the declarations in these statements; classes include members of hidden bases."""
    for index, node in enumerate(body):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"{'#' * level} class `{node.name}`"
            yield ast.get_docstring(node) or ""
            bases = [hidden[name] for name in map(ast.unparse, node.bases) if name in hidden]
            for base in (node, *bases):
                yield from _members(base.body, level + 1, hidden)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node.name):
            yield f"{'#' * level} `{node.name}`"
            yield f"```py\n{_signature(node)}\n```"
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.AnnAssign) and _is_public(ast.unparse(node.target)):
            following = body[index + 1] if index + 1 < len(body) else None
            yield f"`{ast.unparse(node)}`: {_text(following)}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in ("__init__", "__version__")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Format the function's signature, with its decorators."""
    head = ast.unparse(node).split(":\n")[0].removesuffix(": ...")
    return re.sub(r"\n\s+.*", "", head) if "\n    " in head else head


def _text(node: ast.stmt | None) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    return str(value.value) if isinstance(value, ast.Constant) else ""


def commands() -> str:
    """Write a page of all commands' --help texts."""
    lines = ["# The `ethosu` command", cli.exit_codes()]
    for name, summary in cli.discover().items():
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            cli.make_parser(name).parse_args([name, "--help"])
        lines += [f"## ethosu {name}", f"{summary[:1].upper()}{summary[1:]}."]
        lines.append(f"```text\n{text.getvalue().rstrip()}\n```")
    return "\n\n".join(lines) + "\n"


def on_config(config: MutableMapping[str, Any]) -> None:
    """Called by mkdocs: adds pages of boards, chips and add-ons to the navigation."""
    nav = config["nav"]
    known = {page.parent.name: page.as_posix() for page in files("boards/*/README.md")}
    rows = [{boards.load(boards.full_name(name)).title: known[name]} for name in known]
    chips = [{f"Chip {page.parent.name}": page.as_posix()} for page in files(_CHIPS)]
    at = next(index for index, part in enumerate(nav) if "How to" in part)
    nav.insert(at + 1, {"Boards": [*rows, *chips]})
    nav.insert(at + 2, {"Add-ons": list(_addons())})


def _addons() -> Iterator[dict[str, str]]:
    """The pages of the add-ons that are there, and of their packages for the board."""
    table = tomllib.loads((REPO / "host_tests/tree/addons.toml").read_text())
    for page in (addon["page"] for addon in table.values()):
        if (REPO / page).exists():
            (title,) = re.findall(r"^# (.*)$", (REPO / page).read_text(), re.MULTILINE)[:1]
            yield {title: page}
    for folder in _PACKAGES.values():
        for path in files(f"{folder}/*.py"):
            name = module_name(REPO / path)
            yield {f"Module {name}": f"reference/{name}.md"}


def _start(names: list[str]) -> str:
    """Describe what the chip does from reset to the prompt, from [start] of boards' data."""
    parts = ["## From reset to prompt"]
    for name in names:
        start = boards.load(name).start
        steps = [(step.does, step.source) for step in (*start.boot, *start.init, *start.console)]
        parts += [f"### {name}\n\n" + "\n".join(markdown(("step", "source"), steps))]
    return "\n\n".join(parts) + "\n" if names else ""


def write(folder: Path) -> None:
    """Write all pages."""
    pictures = files("*.svg", "*.png")
    pages = files("*.md")
    known = {*pages, *pictures}
    contents = {path: convert(path, known) for path in pages}
    for path in files(*_MODULES):
        contents[Path("reference") / f"{module_name(REPO / path)}.md"] = reference(REPO / path)
    contents[Path("reference/commands.md")] = commands()
    for path in files("boards/*/README.md"):
        names = [name for name in boards.names() if name.partition("-")[0] == path.parent.name]
        contents[path] += "\n" + _start(names)
    for path, text in contents.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for picture in pictures:
        (folder / picture).parent.mkdir(parents=True, exist_ok=True)
        (folder / picture).write_bytes((REPO / picture).read_bytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    sys.exit(write(parser.parse_args().folder))
