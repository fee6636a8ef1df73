# SPDX-License-Identifier: MIT
"""Add-ons are removable: nothing outside of their folders names them; see addons.toml.

`python -m host_tests.tree.test_addons` writes the table of ARCHITECTURE.md, also after one is gone.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .rooms import REPO, table

ADDONS: dict[str, dict[str, Any]] = table("addons.toml")
PAGE = REPO / "ARCHITECTURE.md"
# What may name all of them: the list itself, history, and the table that is made from the list.
EVERYWHERE = {
    "host_tests/tree/test_addons.py",
    "host_tests/tree/addons.toml",
    "CHANGELOG.md",
    "requirements.lock",
}
BEGIN, END = "<!-- add-ons: made by python -m host_tests.tree.test_addons -->\n", "<!-- end -->\n"
# Lines of a table that is a little older.
TOLERANCE = 0.15


@functools.cache
def files() -> tuple[str, ...]:
    """The files of git that are there; none if the tree is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True)
    return tuple(name for name in listed.stdout.split("\0") if (REPO / name).is_file())


def is_in(name: str, folders: list[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder}/") for folder in folders)


@functools.cache
def text(name: str) -> str:
    try:
        content = (REPO / name).read_text()
    except UnicodeDecodeError:
        return ""
    return re.sub(f"{BEGIN}.*{END}", "", content, flags=re.DOTALL)


def words(addon: dict[str, Any]) -> re.Pattern[str]:
    """The add-on's folders as paths and as packages, and its names."""
    paths = [re.escape(folder).replace("/", "[/.]") + r"\b" for folder in addon["folders"]]
    return re.compile("|".join([*paths, *addon["names"]]))


def links(name: str) -> str:
    """The targets of a page's links, from the root."""
    if not name.endswith(".md"):
        return ""
    found = re.findall(r"\]\(([\w./-]+)", text(name))
    return " ".join(os.path.normpath(Path(name).parent / link) for link in found)


@pytest.mark.parametrize("name", ADDONS)
def test_no_other_file_names_an_addon(name):
    addon = ADDONS[name]
    excused, pattern = addon.get("except", {}), words(addon)
    naming = {
        file: found[0]
        for file in files()
        if file not in EVERYWHERE and not is_in(file, addon["folders"])
        if (found := pattern.search(text(file)) or pattern.search(links(file)))
    }
    assert {file: word for file, word in naming.items() if file not in excused} == {}
    if any((REPO / folder).exists() for folder in addon["folders"]):
        assert excused.keys() - naming.keys() == set(), "exceptions that are not needed"


def test_a_name_is_found():
    pattern = words(ADDONS["linux"])
    for line in (
        *("[U65](modules/ethosu/accel/README.md)", "from host_tests.modules.ethosu.accel import x"),
        "make accel",
    ):
        assert pattern.search(line), line
    assert not pattern.search("an accelerator of modules/ethosu/accelerate")


def count(folders: list[str]) -> int:
    """Lines of text, of the product and of its tests."""
    return sum(text(name).count("\n") for name in files() if is_in(name, folders))


def table() -> str:
    """The add-ons that are there, with their lines in hundreds."""
    rows = []
    for addon in ADDONS.values():
        present = [folder for folder in addon["folders"] if (REPO / folder).exists()]
        if (REPO / addon["page"]).exists():
            shown = ", ".join(f"`{each}`" for each in present if not each.startswith("host_tests/"))
            tests = [each for each in present if each.startswith("host_tests/")]
            lines = (count([each for each in present if each not in tests]), count(tests))
            of_product, of_tests = (f"{round(each, -2):,}" for each in lines)
            does = f"[{addon['does'].partition(':')[0]}]({addon['page']})"
            does += "".join(addon["does"].partition(":")[1:])
            rows.append(f"| {does} | {shown} | {of_product} | {of_tests} |\n")
    every = [folder for addon in ADDONS.values() for folder in addon["folders"]]
    core = [name for name in files() if not is_in(name, every)]
    lines = [sum(text(name).count("\n") for name in core if name.startswith("host_tests/") == tests)
             for tests in (False, True)]  # fmt: skip
    rows.append(f"| the core: all else | | {round(lines[0], -3):,} | {round(lines[1], -3):,} |\n")
    head = "| add-on | folders | lines | of tests |\n| --- | --- | --- | --- |\n"
    return head + "".join(rows)


def shape(rows: str) -> str:
    return re.sub(r"\| [\d,]+ ", "| N ", rows)


def test_the_table_of_the_architecture_is_true():
    """If it is not, `python -m host_tests.tree.test_addons` writes it; numbers may be older."""
    if not files():
        pytest.skip("not a git checkout, which is needed to list the tree's files")
    shown, true = PAGE.read_text().partition(BEGIN)[2].partition(END)[0], table()
    assert shape(shown) == shape(true), "python -m host_tests.tree.test_addons writes it"
    pairs = zip(re.findall(r"\| ([\d,]+) ", shown), re.findall(r"\| ([\d,]+) ", true), strict=True)
    for old, new in pairs:
        old, new = (int(number.replace(",", "")) for number in (old, new))
        assert abs(new - old) <= max(TOLERANCE * new, 200)


def write() -> None:
    """Write the table."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END, 1)[1])


# What is tested without an add-on, besides what it touches. The other tests are collected.
QUICK = (
    *(
        "host_tests/tree",
        "host_tests/tools/setup/test_book.py",
        "host_tests/tools/setup/release/test_release.py",
    ),
    *(
        "host_tests/tools/ethosu_tools",
        "host_tests/conformance/campaigns/test_main.py",
        "host_tests/pages/test_marks.py",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ADDONS)
def test_the_product_is_whole_without_it(name):
    """In a clone with the build output of this tree, in which only what changes is built."""
    clone = REPO / "build/without" / name
    shutil.rmtree(clone, ignore_errors=True)
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "PYTEST"))
    }

    def run(*command: object) -> None:
        done = subprocess.run(
            [str(word) for word in command], cwd=clone if clone.exists() else REPO, env=kept,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"

    run("tools/setup/clone.sh", clone)
    touched = ADDONS[name].get("touches", [])
    for folder in ADDONS[name]["folders"]:
        if (clone / folder).exists():
            run("git", "rm", "-rq", folder)
            shutil.rmtree(clone / folder, ignore_errors=True)
    python = clone / ".venv/bin/python"
    run(python, "-m", "host_tests.tree.test_addons")
    run("make", "DEBIAN=no", "parts")
    run(python, "-m", "pytest", "--collect-only", "-qq")
    run(python, "-m", "pytest", "-q", "-n", "2", "-m", "not slow and not page", *QUICK, *touched)
    shutil.rmtree(clone)


if __name__ == "__main__":
    sys.exit(write())
