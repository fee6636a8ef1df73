# SPDX-License-Identifier: MIT
"""The table NEEDS of host_tests/tests.mk and of add-ons: what is built for the tests of a path."""

import os
import re
import subprocess

import pytest
from ethosu_tools import boards

# Files that name other boards than the default one, but do not read their images.
NAMES_ONLY = {
    "tools/qemu_plugin/start/test_arguments.py": "messages of the plugin",
    "tools/qemu_plugin/test_board_table.py": "the plugin's own table",
    "tools/qemu_plugin/test_corstone_320.py": "the names of all boards",
    "tools/qemu_plugin/board/test_gates.py": "programs of its own on these boards",
    "tree/make/test_areas.py": "this file",
    "tree/make/test_gone.py": "a table that it makes",
}
ALL = {"board-images", "examples", "firmware-variants"}


def make(repo, *words: str) -> str:
    """What a make of its own prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-s", "-C", repo, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=kept).stdout


@pytest.fixture(scope="module")
def rows(repo) -> list[tuple[set[str], str]]:
    """Prerequisites and folder of each area."""
    table = make(repo, "--eval=needs: ; $(info $(NEEDS))", "needs").split()
    pairs = (row.split(":") for row in table)
    return [(set(needs.split("+")), folder) for folder, needs in pairs]


@pytest.fixture(scope="module")
def built(repo):
    """Return a function that tells what `make test TESTS=...` builds first."""

    def ask(tests: str) -> set[str]:
        printed = make(repo, "-n", "test", "MAKE=: targets", f"TESTS={tests}")
        (words,) = re.findall(r"^: targets (.*)$", printed, re.MULTILINE)
        return {word for word in words.split() if not word.startswith("-")}

    return ask


@pytest.mark.parametrize(
    ("tests", "needs"),
    [
        ("host_tests/tree", "setup"),
        ("host_tests/tree/test_pages.py::test_links[x] -x", "setup"),
        ("./host_tests/tools/npu_sim/", "setup sim-variants sim-host-variants"),
        # The longest matching folder counts, without the needs of the folders above.
        ("host_tests/tools/npu_sim/test_fast.py", "setup sim-variants sim-host-variants"),
        ("host_tests/kit -k 'image or stamp'", "setup firmware"),
        # Several paths, and a folder with another area in it.
        ("host_tests/kit host_tests/modules/ethosu/driver", "setup firmware sim-host-variants"),
        ("host_tests/modules/ethosu/runtime", "setup sim-host-variants firmware plugin"),
    ],
)
def test_a_path_builds_what_its_area_needs(built, tests, needs):
    assert built(tests) == set(needs.split())


@pytest.mark.parametrize(
    "tests",
    [
        *("", "-k 'dma or pad' -x", "--coherence evict:7"),
        *("host_tests", "host_tests/conftest.py", "host_tests/modules"),
        "host_tests/modules/ethosu/test_ports.py host_tests/tree",
    ],
)
def test_what_is_in_no_area_builds_all(built, tests):
    assert built(tests) >= ALL


def test_each_folder_is_there(repo, rows):
    for _, folder in rows:
        assert (repo / "host_tests" / folder).is_dir(), folder


def test_each_area_builds_the_images_that_its_tests_read(repo, rows):
    """Without it, a test of another board's image would use one that may be outdated."""
    names = {name.partition("-")[0] for name in boards.names()} - {boards.DEFAULT}
    other = re.compile(rf"\b({'|'.join(names)})\b|\bboards\.(names|every)\(|\bevery_board\b")
    tests, found = repo / "host_tests", set()
    for needs, folder in rows:
        if "board-images" in needs:
            continue
        for path in (tests / folder).rglob("*.py"):
            if other.search(path.read_text()):
                found.add(str(path.relative_to(tests)))
    assert found == set(NAMES_ONLY)
