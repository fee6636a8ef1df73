# SPDX-License-Identifier: MIT
"""Each room keeps to its budget of lines: what comes beyond it says in its commit what leaves."""

from pathlib import Path

import pytest

from . import budgets

BUDGETS = budgets.budgets()


@pytest.fixture(scope="module")
def lines(repo):
    if not (repo / ".git").exists():
        pytest.skip("not a git checkout, which is needed to list the tree's files")
    return budgets.lines()


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_has_at_most_its_budget(lines, room):
    """If it has more, find what can go, or raise the budget and say why in the same commit."""
    over = {
        what: (found, most)
        for what, found, most in zip(("sources", "tests"), lines[room], BUDGETS[room], strict=True)
        if found > most
    }
    assert over == {}, f"{room}: lines, and its budget in rooms.toml or addons.toml: {over}"


@pytest.mark.parametrize("room", BUDGETS)
def test_a_budget_has_little_to_spare(lines, room):
    """A room that shrank lowers its budget, or the lines come back unseen."""
    for found, most in zip(lines[room], BUDGETS[room], strict=True):
        assert most - found <= max(100, found // 20)


def test_files_belong_to_the_nearest_room():
    rooms = {
        "tools/room": ["tools/room", "host_tests/tools/room"],
        "page": ["tools/room/page"],
        "kit": ["host_tests/kit"],
    }
    for name, expected in {
        "tools/room/page/main.mjs": ("page", False),
        "tools/room/Makefile": ("tools/room", False),
        "host_tests/tools/room/test_page.py": ("tools/room", True),
        "host_tests/kit/needs.py": ("kit", True),
        "host_tests/conftest.py": (".", True),
        "Makefile": (".", False),
    }.items():
        assert budgets.room_of(Path(name), rooms) == expected
