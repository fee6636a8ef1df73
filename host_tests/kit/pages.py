# SPDX-License-Identifier: MIT
"""Reads the code blocks on the tree's pages, and their marks, which say how they are tested.

A fence opens with a language and a mark: ```sh test. GitHub shows the language only.
"""

import functools
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]

MARKS = {
    "test": "run by `make test` as it stands",
    "nightly": "checked by `make test`, run as it stands by the slow tests",
    "suite": "starts tests, campaigns, or gigabytes of set-up: checked by `make test`",
    "hardware": "run until it names the port, probe or program that is missing",
    "board": "run on an emulated board",
    "native": "compiled by `make test`, run with the native module by the slow tests",
    "foreign": "needs another project: only checked",
    "output": "compared with what the commands before it print",
    "like": "the same, but its numbers may differ",
    "FILE": "saved as the file FILE for the commands that follow",
    "": "not compared: a drawing, a format",
}
LANGUAGES = {
    "sh": ("test", "nightly", "suite", "hardware", "foreign"),
    "python": ("test", "nightly", "board", "native", "hardware", "foreign", "FILE"),
    "pycon": ("board",),
    "c": ("test", "foreign", "FILE"),
    "cmake": ("test", "FILE"),
    "make": ("test", "FILE"),
    "toml": ("test", "FILE"),
    "ini": ("test", "FILE"),
    "yaml": ("test",),
    "json": ("test", "FILE"),
    "text": ("", "output", "like"),
}

_OPEN = re.compile(r"( *)(`{3,}|~{3,})(.*)")
# The marker of a list item, after which the item's text begins.
_ITEM = re.compile(r" *([-*+]|\d+\.) +")


@dataclass(frozen=True)
class Block:
    """A block of code on a page; its first line is the one after the fence."""

    page: str
    line: int
    language: str
    mark: str
    text: str
    in_list: bool = False

    @property
    def where(self) -> str:
        """File and line of the fence."""
        return f"{self.page}:{self.line}"

    @property
    def kind(self) -> str:
        """The mark, which is FILE for the name of a file."""
        return "FILE" if re.fullmatch(r"[\w-]+\.\w+", self.mark) else self.mark

    @property
    def problem(self) -> str | None:
        """The fence's error, if any."""
        if self.in_list:
            return f"{self.where}: a block in a list, which the book cannot show; expected after it"
        if self.language not in LANGUAGES:
            found, allowed = self.language or "no language", list(LANGUAGES)
        elif self.kind not in LANGUAGES[self.language]:
            found, allowed = self.mark or "no mark", list(LANGUAGES[self.language])
            found = f"{found} after {self.language}"
        else:
            return None
        expected = ", ".join(word or "nothing" for word in allowed)
        return f"{self.where}: {found}; expected one of {expected}"


def parse(page: str, text: str) -> list[Block]:
    """Return the blocks of a page; one without a fence is an error, "an indented block"."""
    found: list[Block] = []
    lines = text.splitlines()
    at, item = 0, 0
    while at < len(lines):
        line, end = lines[at], at
        if opened := _OPEN.fullmatch(line):
            ends = (n for n in range(at + 1, len(lines)) if lines[n].strip() == opened[2])
            end = next(ends, len(lines))
            inside = [each.removeprefix(opened[1]) for each in lines[at + 1 : end]]
            language, _, mark = opened[3].strip().partition(" ")
            text = "".join(f"{each}\n" for each in inside)
            found.append(Block(page, at + 1, language, mark.strip(), text, bool(opened[1])))
        elif line.startswith(" " * (item + 4)) and not (at and lines[at - 1].strip()):
            end = (
                at + sum(1 for _ in takewhile(lambda each: each.startswith("    "), lines[at:])) - 1
            )
            found.append(Block(page, at + 1, "an indented block", "", ""))
        elif opened := _ITEM.match(line):
            item = opened.end()
        elif line.strip() and not line.startswith(" "):
            item = 0
        at = end + 1
    return found


@functools.cache
def names() -> tuple[str, ...]:
    """List all pages of the tree, from its root."""
    command = ["git", "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, text=True).stdout
    return tuple(sorted(name for name in listed.split("\0") if name and (REPO / name).exists()))


@functools.cache
def blocks(page: str) -> tuple[Block, ...]:
    """Return the blocks of a page of the tree."""
    return tuple(parse(page, (REPO / page).read_text()))


def every(language: str, *kinds: str) -> list[Block]:
    """Return the blocks of all pages in this language, of these kinds."""
    found = (block for page in names() for block in blocks(page))
    return [block for block in found if block.language == language and block.kind in kinds]


def with_blocks(language: str, *kinds: str) -> list[str]:
    """List the pages that have such blocks."""
    return list(dict.fromkeys(block.page for block in every(language, *kinds)))


def file(page: str, name: str) -> str:
    """Return the text of the block that the page says to save under this name."""
    (text,) = (block.text for block in blocks(page) if block.mark == name)
    return text


def program(block: Block) -> str:
    """Return the lines of a program, without the prompts and the output of `pycon`."""
    if block.language != "pycon":
        return block.text
    typed = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", block.text, re.MULTILINE)
    return "\n".join(typed) + "\n"


def table() -> str:
    """Count the blocks of each language and kind."""
    count = Counter((block.language, block.kind) for page in names() for block in blocks(page))
    rows = [
        f"{language:8} {kind:9} {count[language, kind]:4}  {MARKS[kind]}"
        for language, kinds in LANGUAGES.items()
        for kind in kinds
        if count[language, kind]
    ]
    return "\n".join([*rows, f"{'all':18} {count.total():4}"])
