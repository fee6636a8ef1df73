# SPDX-License-Identifier: MIT
"""The page of other projects' models has a row for each, with `ethosu check`'s verdict."""

import re

import pytest

from . import foreign

PAGE = "docs/checked_models.md"
# These files are in ../shared/models, the others in their projects' repositories.
SHARED = ("kws_ref_model.tflite", "hello_world_int8.tflite", "trained_lstm_int8.tflite")


def rows(repo):
    lines = re.findall(r"^\| (`.*) \|$", (repo / PAGE).read_text(), re.MULTILINE)
    return {cells[0].strip("`"): tuple(cells) for cells in (line.split(" | ") for line in lines)}


def test_each_file_has_a_row_and_a_source(repo):
    files = foreign.every()
    assert len(files) >= 30
    assert list(rows(repo)) == [file.name for file in files]
    for file in files:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+(@[0-9a-f]{7})?", file.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", file.blob)
    assert len({file.blob for file in files}) == len(files)


def test_git_has_the_same_name_for_contents():
    """blob_of() equals `printf abc | git hash-object --stdin`."""
    assert foreign.blob_of(b"abc") == "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f"


@pytest.mark.parametrize(
    "name", [SHARED[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SHARED[1:])]
)
def test_the_page_is_up_to_date(repo, shared_models, name):
    (file,) = (each for each in foreign.every() if each.name == name)
    path = shared_models / name
    assert foreign.blob_of(path.read_bytes()) == file.blob
    assert foreign.row(file, path) == rows(repo)[name]
