# SPDX-License-Identifier: MIT
"""Pages name and link only to things that exist."""

import argparse
import functools
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from ethosu_tools import boards, cli

from host_tests.pages.commands import unknown_targets

from .test_places import tracked

T = TypeVar("T")
REPO = Path(__file__).resolve().parents[2]

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
SOURCE = re.compile(r"[\w.*/-]+\.(?:c|h|def|mk|ld|py|pyi|sh|md|toml|lock)")
VENV = re.compile(r"-m venv ([\w./-]+)")
MAKE = re.compile(r"(?:^|[;&|] *)make +([^;&|]+)")
ETHOSU = re.compile(r"(?:^|[;&|] *)(?:\S*/)?ethosu +([a-z][^;&|]*)")

# Files of MicroPython or on a board that pages name; they are not in this tree.
ELSEWHERE = {
    "boot.py", "main.py", "board.mk",
    "py/nativeglue.h", "tools/mpy_ld.py",
    "ports/psoc-edge/tools/mp-ifx-flash.py",
    "ops/test_sum.py", "run_fvp.sh", "setup_testing.sh", "tools/ci.sh",
}  # fmt: skip


PAGES = [str(path) for path in tracked(REPO, "*.md")]
# All pages are checked except the changelog, which also names things that no longer exist.
PRESENT = [page for page in PAGES if page != "CHANGELOG.md"]


@functools.cache
def files() -> frozenset[str]:
    return frozenset(str(path) for path in tracked(REPO))


@functools.cache
def text(page: str) -> str:
    return (REPO / page).read_text()


def found_on(pages: list[str], search: Callable[[str], T]) -> dict[str, T]:
    """Return a search's results by page, for pages with any."""
    return {page: found for page in pages if (found := search(page))}


def prose(page: str) -> str:
    """Return the page without its code blocks."""
    return FENCE.sub("", text(page))


def test_pages_are_found():
    if not (REPO / ".git").exists():
        pytest.skip("not a git checkout, which is needed to list the tree's files")
    for page in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY"):
        assert f"{page}.md" in PAGES


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    plain = (re.sub(r"[`*]", "", title) for title in HEADING.findall(page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in plain}


def broken_links(page: str) -> list[str]:
    broken = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (REPO / page).parent / name if name else REPO / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def test_links_lead_somewhere():
    assert found_on(PAGES, broken_links) == {}


def is_there(name: str, page: str) -> bool:
    """Whether the tree has this file, relative to the page or the root, or by its last parts."""
    if name in ELSEWHERE:
        return True
    for folder in ((REPO / page).parent, REPO):
        if "**" not in name and any(folder.glob(name)):
            return True
    ending = re.compile(r"(^|/)" + re.escape(name.lstrip("./")).replace(r"\*", r"[^/]*") + "$")
    return any(ending.search(file) for file in files())


def is_placeholder(name: str) -> bool:
    return any(part.isupper() for part in re.split(r"[/._-]", name) if len(part) > 2)


def missing_files(page: str) -> set[str]:
    named = {
        name
        for code in CODE.findall(prose(page))
        if (name := code.partition(":")[0]) and SOURCE.fullmatch(name)
    }
    folders = {
        code
        for code in CODE.findall(prose(page))
        if re.fullmatch(r"(?:boards|firmware|host_tests|modules|tools)/[\w/.-]*", code)
    }
    missing = {name for name in named | folders if not is_there(name.rstrip("/"), page)}
    return {name for name in missing if not is_placeholder(name)}


def test_named_files_exist():
    assert found_on(PRESENT, missing_files) == {}


def test_git_ignores_the_python_environments_of_the_pages():
    if not (REPO / ".git").exists():
        pytest.skip("not a git checkout")
    named = {name for page in PAGES for name in VENV.findall(text(page))}
    command = ["git", "check-ignore", *(f"{name}/" for name in named)]
    ignored = subprocess.run(command, cwd=REPO, capture_output=True, text=True).stdout
    assert {line.rstrip("/") for line in ignored.splitlines()} == named


def commands(page: str) -> list[str]:
    """Return code within the text; host_tests/pages checks the blocks."""
    return [line.partition(" #")[0].strip() for line in CODE.findall(prose(page))]


def unknown_on(page: str) -> set[str]:
    calls = (call for command in commands(page) for call in MAKE.findall(command))
    return set().union(*(unknown_targets(shlex.split(call), page) for call in calls))


def test_make_targets_exist():
    assert found_on(PRESENT, unknown_on) == {}


parser_of = functools.cache(cli.make_parser)


def unknown_options(call: str) -> set[str]:
    """Find options in a call that the command lacks."""
    words = shlex.split(call)
    parser = parser_of(words[0])
    for word in words[:2]:
        commands = (
            each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
        )
        parser = next((each.choices.get(word, parser) for each in commands), parser)
    named = {word.partition("=")[0] for word in words if word.startswith("--")}
    return named - set(parser._option_string_actions)


def wrong_calls(page: str) -> dict[str, set[str]]:
    calls = {call for command in commands(page) for call in ETHOSU.findall(command)}
    return {call: unknown for call in calls if (unknown := unknown_options(call))}


def test_options_of_the_tools_exist():
    assert found_on(PRESENT, wrong_calls) == {}


BOARDS = sorted(path.parent for path in REPO.glob("boards/*/board.toml"))


@pytest.mark.parametrize("page", ["README.md", "boards/README.md"])
def test_each_boards_page_is_linked_from_the_main_pages(page):
    links = {((REPO / page).parent / link).resolve() for link in LINK.findall(text(page))}
    assert {board / "README.md" for board in BOARDS} - links == set()


@pytest.mark.parametrize("page", ["README.md", "boards/README.md"])
def test_the_table_of_boards_has_the_usual_way_and_the_image(page):
    """The table shows board.toml's first way and its image; Himax's tool takes the ELF file."""
    for board in BOARDS:
        ways = boards.load(boards.full_name(board.name)).flash
        (row,) = [line for line in text(page).splitlines() if f"{board.name}/README.md) |" in line]
        cells = row.split(" | ")
        usual = next(iter(ways), "none")
        assert re.match(rf"`?{usual}\b", cells[2])
        assert f"firmware.{'bin' if usual not in ('none', 'xmodem') else 'elf'}" in cells[3]


def test_each_boards_page_says_the_way_back():
    lacking = [
        board.name
        for board in BOARDS
        if "\n## Back to the vendor's firmware\n" not in (board / "README.md").read_text()
        and boards.load(boards.full_name(board.name)).flash
    ]
    assert lacking == []
