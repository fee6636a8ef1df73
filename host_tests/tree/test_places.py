# SPDX-License-Identifier: MIT
"""Tests mirror the sources: the tests of PATH are in host_tests/PATH."""

import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from .rooms import table

SOURCES = {".c", ".h", ".py", ".sh"}
# A folder below a room of rooms.toml shares the room's tests, unless it has its own.
ROOMS = [room["path"] for room in table("rooms.toml")["rooms"].values()]
ADDONS = table("addons.toml")
# Other folders of sources that share the tests of another folder.
TESTED_IN = {
    "modules/ethosu/ports/qemu": "modules/ethosu",
    "modules/ethosu/ports/qemu/older": "modules/ethosu",
    "modules/ethosu/ports/unix": "modules/ethosu",
    "tools/ethosu_tools/addons": "tools/ethosu_tools",
    "tools/ethosu_tools/answers/pictures": "tools/ethosu_tools/answers",
    **{
        folder: tests
        for addon in ADDONS.values()
        for folder, tests in addon.get("tested_in", {}).items()
        if (Path(__file__).parents[2] / folder).is_dir()
    },
}
# Folders of tests without sources of their own: generated models, models on all hosts, long runs
# against the whole product, checks of the whole tree, parts of the firmware, somebody's project;
# and those of add-ons.
TESTS_ONLY = {
    *(".", "boards", "conformance/campaigns", "conformance/campaigns/board"),
    *("conformance/generator", "exactness", "kit", "lab", "pages", "tree", "tree/make"),
    "tools/action/project",
    *(f"conformance/generator/{name}" for name in ("known_defects", "one_operator")),
    *(f"firmware/{name}" for name in ("console", "memory", "python", "storage")),
    *(folder for addon in ADDONS.values() for folder in addon.get("tests_only", ())),
}


def tracked(repo: Path, *patterns: str) -> list[Path]:
    """List the files that git tracks; none if the tree is not a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=repo, capture_output=True, text=True
    )
    return [Path(name) for name in listed.stdout.split("\0") if name and (repo / name).exists()]


@pytest.fixture(scope="module")
def files(repo) -> list[Path]:
    if not (repo / ".git").exists():
        pytest.skip("not a git checkout, which is needed to list the tree's files")
    return tracked(repo)


@pytest.fixture(scope="module")
def source_folders(files) -> set[str]:
    return {
        str(path.parent)
        for path in files
        if path.parts[0] != "host_tests" and (path.suffix in SOURCES or path.name == "board.toml")
    }


@pytest.fixture(scope="module")
def test_folders(files) -> set[str]:
    """List the folders with test modules, below host_tests."""
    return {
        str(path.parent.relative_to("host_tests"))
        for path in files
        if path.parts[0] == "host_tests" and path.match("test_*.py")
    }


def test_files_of_others_in_the_tree_are_not_checked(tmp_path):
    """Untracked files, such as those of a Python environment, are ignored."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for name in ("ours.py", "theirs.py"):
        (tmp_path / name).touch()
    subprocess.run(["git", "add", "ours.py"], cwd=tmp_path, check=True)
    assert tracked(tmp_path) == [Path("ours.py")]


def test_every_folder_of_sources_has_its_folder_of_tests(repo, source_folders, test_folders):
    boards = {str(path.parent.relative_to(repo)) for path in repo.glob("boards/*/board.toml")}
    tested_in = dict.fromkeys(boards, "boards") | TESTED_IN
    for room in ROOMS:
        below = {each for each in source_folders if each.startswith(f"{room}/")}
        tested_in |= dict.fromkeys(below - test_folders - set(TESTED_IN), room)
    missing = {
        folder for folder in source_folders if tested_in.get(folder, folder) not in test_folders
    }
    assert missing == set()


def test_every_folder_of_tests_mirrors_one_of_sources(source_folders, test_folders):
    assert test_folders - source_folders - TESTS_ONLY - set(ROOMS) == set()


def test_pytest_enters_every_folder_of_tests(test_folders, pytestconfig):
    """Pytest passes over folders of some names, such as `build`, so their tests would never run."""
    passed_over = pytestconfig.getini("norecursedirs")
    names = {name for folder in test_folders for name in Path(folder).parts}
    assert {each for each in names for pattern in passed_over if fnmatch(each, pattern)} == set()


def test_the_exceptions_are_needed(source_folders, test_folders):
    assert set(TESTED_IN) <= source_folders
    assert set(TESTED_IN) & test_folders == set()
