# SPDX-License-Identifier: MIT
"""The commands of README.md work: its blocks that open with ```sh test run, in order.

They run in a folder that looks like the tree, so that what they write stays out of it. The block's
output is in the report when it fails.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"^```sh test\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    text = README.read_text() if README.exists() else ""
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        yield pytest.param(match[1], id=f"line {line}")


@pytest.fixture(scope="module")
def place(repo, tmp_path_factory):
    """A folder with the tree's files and folders as links."""
    folder = tmp_path_factory.mktemp("readme")
    for entry in repo.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder


def test_readme_has_commands_to_test():
    assert list(blocks())


@pytest.mark.parametrize("block", list(blocks()))
def test_block_runs(block, place, repo):
    search = os.pathsep.join([str(repo / ".venv/bin"), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", block],
        cwd=place,
        env={**os.environ, "PATH": search},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
