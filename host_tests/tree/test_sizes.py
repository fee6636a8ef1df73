# SPDX-License-Identifier: MIT
"""Few functions are long, and no file is too long."""

import re
from collections import Counter
from pathlib import Path

import pytest

from .test_places import tracked

# Most files have fewer than 500 lines; a longer one should be split.
FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 45
SHORT_SHARE_MIN = 0.9
MODULES_MAX = 15  # in a package, besides __init__.py
# Functions in sources formatted by clang-format and ruff. A look-ahead matches the body, because a
# function may contain another one.
FUNCTIONS = {
    ".c": r"^\w.*\b(?P<name>\w+)\((?=(?P<rest>[^;{}]*\)\n\{\n(?:.*\n)*?\}$))",
    ".py": r"^( *)(?:async )?def (?P<name>\w+)(?=(?P<rest>.*\n(?:(?:\1 +\S.*|\1[)\]].*|)\n)*))",
}
PATTERNS = ("*.c", "*.h", "*.py", "*.sh", "*.mk", "*Makefile")


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


def test_no_package_of_the_tools_is_large(repo, sources):
    root = repo / "tools/ethosu_tools"
    modules = [path for path in sources if root in path.parents and path.suffix == ".py"]
    sizes = Counter(path.parent for path in modules if path.name != "__init__.py")
    assert len(sizes) > 10
    large = {str(path): count for path, count in sizes.items() if count > MODULES_MAX}
    assert large == {}
    assert {path.name for path in modules if path.parent == root} == {"__init__.py", "cli.py"}


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
