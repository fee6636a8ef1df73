# SPDX-License-Identifier: MIT
"""Few functions are long, and no file has grown into several."""

import re
from pathlib import Path

import pytest

from .test_places import tracked

# Most files have under 500; one that has more than this does two jobs.
FILE_LINES_MOST = 700
FUNCTION_LINES_MOST = 45
SHORT_SHARE_LEAST = 0.9
# In sources that clang-format and ruff have formatted. The rest of a function is looked ahead at,
# since it may contain another.
FUNCTIONS = {
    ".c": r"^\w.*\b(?P<name>\w+)\((?=(?P<rest>[^;{}]*\)\n\{\n(?:.*\n)*?\}$))",
    ".py": r"^( *)(?:async )?def (?P<name>\w+)(?=(?P<rest>.*\n(?:(?:\1 +\S.*|\1[)\]].*|)\n)*))",
}
PATTERNS = ("*.c", "*.h", "*.py", "*.sh", "*.mk", "*Makefile")


@pytest.fixture(scope="module")
def sources(repo) -> list[Path]:
    if not (repo / ".git").exists():
        pytest.skip("this tree is no checkout of git, which tells its files from others")
    found = [repo / path for path in tracked(repo, *PATTERNS)]
    assert len(found) > 100
    return found


def test_no_file_is_long(repo, sources):
    lines = {str(path.relative_to(repo)): path.read_text().count("\n") for path in sources}
    long = {name: count for name, count in lines.items() if count > FILE_LINES_MOST}
    assert long == {}


@pytest.mark.parametrize("suffix", FUNCTIONS)
def test_nine_functions_in_ten_are_short(sources, suffix):
    lengths = {
        (path.name, found["name"]): found["rest"].rstrip().count("\n") + 1
        for path in sources
        if path.suffix == suffix
        for found in re.finditer(FUNCTIONS[suffix], path.read_text(), re.MULTILINE)
    }
    long = {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES_MOST}
    assert len(lengths) > 100
    assert len(long) <= (1 - SHORT_SHARE_LEAST) * len(lengths), long
