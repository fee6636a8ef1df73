# SPDX-License-Identifier: MIT
"""The most probable first failure of each board: its README has what `doctor PORT` prints."""

import pytest
from ethosu_tools import boards
from ethosu_tools.boards import board_files
from ethosu_tools.link import bringup

FOLDERS = sorted(path.parent.name for path in boards.files(board_files.FILE))


@pytest.mark.parametrize("name", boards.names())
def test_each_board_has_one(name):
    failure = boards.load(name).first_failure
    assert failure and failure.check in [check.name for check in bringup.CHECKS]
    for text in (failure.seen, failure.cause, failure.remedy):
        assert text[0].isupper() or text[0] == "`"
        assert text.endswith(".") and "|" not in text


@pytest.mark.parametrize("folder", FOLDERS)
def test_its_readme_has_the_table(repo, folder):
    """If it does not, put this table there."""
    table = boards.first_failures(folder)
    assert table in (repo / "boards" / folder / "README.md").read_text(), f"\n{table}"
