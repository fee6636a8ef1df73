# SPDX-License-Identifier: MIT
"""Few functions are long, no file is too long, and no folder has too many sources."""

import re
from collections import Counter
from pathlib import Path

import pytest

from .rooms import table
from .test_places import tracked

FILE_LINES_MAX = 700  # most have fewer than 500
FUNCTION_LINES_MAX = 45
SHORT_SHARE_MIN = 0.9
SOURCES_MAX = 15  # in a folder, besides __init__.py; name.c and name.h are one
# Folders with more: the most that each may have, and why.
LARGE = table("rooms.toml")["large"]
for addon in table("addons.toml").values():
    LARGE |= addon.get("large", {})
# Functions in sources formatted by clang-format and ruff. A look-ahead matches the body, because a
# function may contain another one.
FUNCTIONS = {
    ".c": r"^\w.*\b(?P<name>\w+)\((?=(?P<rest>[^;{}]*\)\n\{\n(?:.*\n)*?\}$))",
    ".py": r"^( *)(?:async )?def (?P<name>\w+)(?=(?P<rest>.*\n(?:(?:\1 +\S.*|\1[)\]].*|)\n)*))",
}
PATTERNS = ("*.c", "*.h", "*.cpp", "*.def", "*.py", "*.mjs", "*.js", "*.sh", "*.mk", "*.toml")
PATTERNS += ("*Makefile",)


@pytest.fixture(scope="module")
def sources(repo) -> list[Path]:
    if not (repo / ".git").exists():
        pytest.skip("not a git checkout, which is needed to list the tree's files")
    files = [repo / path for path in tracked(repo, *PATTERNS)]
    assert len(files) > 100
    return files


def test_no_file_is_long(repo, sources):
    lines = {str(path.relative_to(repo)): path.read_text().count("\n") for path in sources}
    long = {name: count for name, count in lines.items() if count > FILE_LINES_MAX}
    assert long == {}


def test_no_folder_has_too_many_sources(repo, sources):
    """A folder with more becomes several; those of tests mirror the product's folders."""
    names = {path.with_suffix("") if path.suffix in {".c", ".h"} else path for path in sources}
    folders = [str(path.parent.relative_to(repo)) for path in names if path.stem != "__init__"]
    large = {each: n for each, n in Counter(folders).items() if n > SOURCES_MAX}
    assert {each: n for each, n in large.items() if n > LARGE.get(each, [0])[0]} == {}
    assert {each for each in LARGE if (repo / each).is_dir()} <= set(large), "a row is too many"


@pytest.mark.parametrize("suffix", FUNCTIONS)
def test_nine_functions_in_ten_are_short(sources, suffix):
    lengths = {
        (path.name, found["name"]): found["rest"].rstrip().count("\n") + 1
        for path in sources
        if path.suffix == suffix
        for found in re.finditer(FUNCTIONS[suffix], path.read_text(), re.MULTILINE)
    }
    long = {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES_MAX}
    assert len(lengths) > 100
    assert len(long) <= (1 - SHORT_SHARE_MIN) * len(lengths), long
