# SPDX-License-Identifier: MIT
"""Python blocks of the book run in the book; tests of the examples run the same blocks."""

import contextlib
import os
import subprocess
import sys

import pytest
from ethosu_tools.addons.web import board
from mkdocs.commands.build import build
from mkdocs.config import load_config

from host_tests.kit import found, needs, pages
from host_tests.kit.browser.chromium import Page, find
from host_tests.kit.browser.serve import serve

from . import needed

# Pages whose model is not part of the book: a kit makes it.
ELSEWHERE = {page for each in found.modules("page_rows") for page in each.INSTALLED}


@pytest.fixture(scope="module")
def book(repo, tmp_path_factory):
    """Return the address of a book with the board."""
    needed.web()
    if find() is None:
        needs.missing("chromium is missing: apt-get install chromium")
    staged, site = tmp_path_factory.mktemp("staged"), tmp_path_factory.mktemp("book")
    subprocess.run([sys.executable, repo / "tools/setup/book.py", staged], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOK_LIVE", "true")
        build(load_config(str(repo / "docs/book.yml"), docs_dir=str(staged), site_dir=str(site)))
    program = repo / "tools/web/install_live.py"
    command = [sys.executable, program, board.image_file(), site / "live"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(repo)})
    with serve(site) as server:
        yield f"http://localhost:{server.server_port}/"


@pytest.fixture(scope="module")
def browser(book):
    with contextlib.closing(Page()) as page:
        yield page


# The first page, one with many blocks, one whose blocks do not run, and one in another folder. The
# blocks of the others run on a board, in test_examples.py.
QUICK = ("README.md", "modules/ethosu/docs/models.md", "docs/tutorial.md")


def live():
    for name in pages.with_blocks("python", "board"):
        quick = name in QUICK or name in ELSEWHERE
        yield pytest.param(name, id=name, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize("page", list(live()))
def test_blocks_of_a_page_run(book, browser, page):
    expected = [block for block in pages.blocks(page) if block in pages.every("python", "board")]
    expected = [] if page in ELSEWHERE else expected
    name = page.replace("README.md", "index.md").replace(".md", ".html")
    browser.open(f"{book}{name}")
    browser.wait_for("document.body?.dataset.live")
    assert browser.evaluate("document.querySelectorAll('button.run').length") == len(expected)
    for index in range(len(expected)):
        output = f"document.querySelectorAll('pre.output')[{index}]"
        browser.evaluate(f"document.querySelectorAll('button.run')[{index}].click()")
        browser.wait_for(f"{output}.dataset.done")
        said = browser.evaluate(f"{output}.textContent")
        wrong = ("Traceback", "It does not run here", "An earlier block", "The board starts")
        assert not any(words in said for words in wrong), said
    assert browser.messages == []
