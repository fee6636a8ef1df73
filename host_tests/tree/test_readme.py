# SPDX-License-Identifier: MIT
"""The commands of README.md, docs/ and the tools' page work: blocks that open with ```sh test run.

They run in a folder of links to the tree, so that their output does not end up in it. If a block
fails, its output is in the report.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "tools/ethosu_tools/README.md",
)
BLOCK = re.compile(r"^```sh test\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """The commands of each page, together, because a block may need files from an earlier one."""
    for page in PAGES:
        code = BLOCK.findall(page.read_text()) if page.exists() else []
        if code:
            yield pytest.param("\n".join(code), id=str(page.relative_to(ROOT)))


@pytest.fixture(scope="module")
def place(repo, tmp_path_factory):
    """A folder with links to the tree's files and folders."""
    folder = tmp_path_factory.mktemp("readme")
    for entry in repo.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder


def test_readme_has_commands_to_test():
    assert {page.id for page in blocks()} >= {"README.md", "docs/costs.md"}


@pytest.mark.parametrize("commands", list(blocks()))
def test_commands_run(commands, place, repo):
    search = os.pathsep.join([str(repo / ".venv/bin"), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands],
        cwd=place,
        env={**os.environ, "PATH": search},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
