# SPDX-License-Identifier: MIT
"""Checks commands of a page without running them: programs, targets, options, files."""

import argparse
import contextlib
import functools
import importlib.util
import io
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ethosu_tools import cli
from ethosu_tools.base.errors import ToolError
from ethosu_tools.testing import pytest_plugin

from host_tests.kit import found, pages
from host_tests.pages import shell

FILE = re.compile(
    r"[\w./*-]+\.(?:bin|c|csv|elf|gz|html|ini|json|keras|npz|pgm|pte|py|svg|tflite|txt|whl)"
)
# Options whose value is a file that the command writes.
WRITTEN = {
    *("-o", "--output", "--maps", "--perfetto", "--overlay", "--debug-db", "--memory", "--try"),
    *("--html", "--save", ">", "tee"),
}
# Programs of add-ons, by how their names start: what reads their command line.
PROGRAMS: dict[str, Callable[[str, list[str]], object]] = {
    name: parse for each in found.modules("page_rows") for name, parse in each.PROGRAMS.items()
}
QUOTED = re.compile(r"['\"]([\w./-]+\.\w+)['\"]")


@functools.cache
def targets(folder: str, file: str) -> set[str]:
    """Let make list the targets of a Makefile."""
    listed = subprocess.run(
        ["make", "-pRrq", "-C", pages.REPO / folder, "-f", file, "no-such-target"],
        capture_output=True, text=True,
    )  # fmt: skip
    return set(re.findall(r"^([a-z][\w-]*):", listed.stdout, re.MULTILINE))


def unknown_targets(words: list[str], page: str) -> set[str]:
    """Find targets that neither the root's Makefile nor that of the page's folder has."""
    named, words, folder, file = set(), list(words), "", "Makefile"
    while words:
        word = words.pop(0)
        if word == "-C":
            folder = words.pop(0)
        elif word == "-f":
            file = words.pop(0)
        elif re.fullmatch(r"[a-z][\w-]*", word):
            named.add(word)
    known: set[str] = set()
    for place in [folder] if folder else [".", str(Path(page).parent)]:
        known |= targets(place, file)
    return {name for name in named - known if not is_campaign(name)}


@functools.cache
def built() -> set[str]:
    """Return what makefiles of the tree build in build/; a page that needs more makes it."""
    listed = ["git", "-C", pages.REPO, "ls-files", "-z", "*Makefile", "*.mk"]
    files = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    text = "\n".join((pages.REPO / name).read_text() for name in files if name)
    return set(re.findall(r"(?:\$\(BUILD\)|/build)/([\w-]+)", text))


def is_campaign(name: str) -> bool:
    """A campaign's goal, which is made by a pattern rule."""
    from host_tests.conformance.campaigns import (
        __main__ as campaigns,  # loads the tools, which takes seconds
    )

    return name.startswith("campaign-") and name[9:] in campaigns.CAMPAIGNS


class Page:
    """The commands of a page in order; a folder gets the files that they would make."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self.config = config
        self.folder = shell.place_of(folder)
        self.has_wheel = False
        self.said: set[str] = set()

    def problems(self, block: pages.Block) -> Iterator[str]:
        """List the errors of commands, or of a program that is saved as a file."""
        if block.kind == "FILE":
            self._make(block.mark, *QUOTED.findall(block.text))
        elif block.language == "sh":
            for name in shell.READERS:
                if name in block.text:
                    self._make(name)
            for line in shell.lines(block.text):
                for words in simple(line):
                    yield from (f"{block.where}: {problem}" for problem in self._of(words, block))

    def _make(self, *names: str) -> None:
        for name in names:
            if not (pages.REPO / Path(name).parts[0]).exists():  # never in the tree
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()

    def _exists(self, name: str) -> bool:
        if name.startswith("build/wheel/"):
            return self.has_wheel  # no other target of make builds it
        path = Path(name)
        if path.parts[0] == "build":  # what is there may be of another page
            said = any(str(place) in self.said for place in (path, *path.parents))
            return said or path.parts[1] in built()
        return name.startswith(("/", "~")) or any(self.folder.glob(name))

    def _of(self, words: list[str], block: pages.Block) -> Iterator[str]:
        program, *rest = words
        name = Path(program).name
        if name == "ethosu":
            yield from refused(lambda: cli._parse(rest[0], rest))
        elif parse := next((at for start, at in PROGRAMS.items() if name.startswith(start)), None):
            yield from refused(lambda: parse(name, rest))
        elif name == "make":
            self.has_wheel |= "wheel" in rest
            yield from (f"make has no target {word}" for word in unknown_targets(rest, block.page))
        elif name == "pytest":
            yield from self._pytest(rest)
        elif name in ("python", "python3"):
            yield from self._python(rest)
        if block.kind != "foreign":
            yield from self._files(name, rest)
        self.said |= {word.rpartition("=")[2].removeprefix("$PWD/") for word in words}

    def _pytest(self, words: list[str]) -> Iterator[str]:
        words = [pytest_plugin.LONG.get(word, word) for word in words]
        # These folders' options may be missing because pytest has not read the folders yet.
        declared = pages.REPO.glob("host_tests/*/conftest.py")
        own = {name for path in declared for name in re.findall(r'"(--[\w-]+)"', path.read_text())}
        while found := [word for word in words if word in own]:
            at = words.index(found[0])
            words = words[:at] + words[at + 2 :]
        parsed, unknown = self.config._parser.parse_known_and_unknown_args(words)
        names = [name.partition("::")[0] for name in parsed.file_or_dir]
        yield from (f"there is no {name}" for name in names if not self._exists(name))
        yield from (f"pytest has no option {word}" for word in unknown)

    def _python(self, words: list[str]) -> Iterator[str]:
        if words[:1] == ["-c"]:
            compile(words[1], "-c", "exec")
            self._make(*QUOTED.findall(words[1]))
        elif words[:1] == ["-m"] and importlib.util.find_spec(words[1]) is None:
            yield f"there is no module {words[1]}"
        elif words[:2] == ["-m", "host_tests.conformance"] and len(words) > 2:
            from host_tests.conformance.campaigns import __main__ as campaigns  # takes a second

            folder = pages.REPO / "host_tests/conformance"
            parts = {path.parent.name for path in folder.glob("*/__main__.py")}
            if words[2] not in parts | set(campaigns.CAMPAIGNS):
                yield f"host_tests.conformance has no {words[2]}"

    def _files(self, program: str, words: list[str]) -> Iterator[str]:
        if program == "cp":
            self._make(words[-1])
        for before, word in zip(["", *words], words, strict=False):
            if before in WRITTEN or program == "tee":
                self._make(word)
            elif FILE.fullmatch(word) and not self._exists(word):
                yield f"nothing before makes {word}"
        if program == "ethosu" and words[0] == "compile":
            self._make(*written_by_compile(words))


def written_by_compile(words: list[str]) -> Iterator[str]:
    """List the files that `ethosu compile` writes beside its source."""
    for word in words[1:]:
        path = Path(word)
        if path.suffix == ".py":
            yield str(path.with_suffix(".pte"))
        elif path.suffix in (".tflite", ".keras"):
            yield from (
                str(path.with_name(f"{path.stem}_{end}.tflite")) for end in ("vela", "int8")
            )


def refused(parse: Callable[[], object]) -> Iterator[str]:
    """Return a command line parser's error; "" if it accepts the command."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parse()
    except (ToolError, argparse.ArgumentError) as error:
        yield str(error)
    except SystemExit:
        yield said.getvalue().strip()


def simple(line: str) -> Iterator[list[str]]:
    """Split a line into simple commands, each a list of words, without variables set before."""
    split = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    split.whitespace_split = True
    words: list[str] = []
    for word in [*split, ";"]:
        if word in (">", ">>", "<"):
            words.append(word)
        elif word and set(word) <= set("();<>|&$"):
            if words:
                yield words
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word)
