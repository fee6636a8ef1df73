# SPDX-License-Identifier: MIT
"""In `make docs`, all links work, and the reference covers all stubs."""

import ast
import re
import subprocess
import sys

import pytest
from ethosu_tools import cli
from ethosu_tools.base import addons
from mkdocs.commands.build import build
from mkdocs.config import load_config

from host_tests.kit import sharing


def declared(body):
    """Return public functions, classes and methods, including those of hidden bases."""
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    bases = {ast.unparse(base) for one in classes if one.name[0] != "_" for base in one.bases}
    shown = [one for one in classes if one.name[0] != "_" or one.name in bases]
    nodes = [*body, *(node for one in shown for node in one.body)]
    return {name for node in nodes if (name := getattr(node, "name", "_"))[0] != "_"}


@pytest.fixture(scope="module")
def staged(repo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged")
    subprocess.run([sys.executable, repo / "tools/setup/book.py", folder], check=True)
    return folder


def test_the_book_is_built_and_its_links_hold(repo, staged, tmp_path):
    config = load_config(
        str(repo / "docs/book.yml"), docs_dir=str(staged), site_dir=str(tmp_path), strict=True
    )
    build(config)  # strict: broken links and anchors are errors
    for page in ("index", "docs/tutorial", "docs/troubleshooting", "reference/commands"):
        text = (tmp_path / f"{page}.html").read_text()
        assert not re.search(r'(?:src|rel="stylesheet" href)="https?:', text), "works offline"
    # The glossary links to boards only in its navigation.
    found = re.findall(r'href="([^"#]+)"', (tmp_path / "docs/glossary.html").read_text())
    links = {(tmp_path / "docs" / link).resolve() for link in found}
    boards = [path.parent.name for path in repo.glob("boards/*/board.toml")]
    started = {name: (staged / f"boards/{name}/README.md").read_text() for name in boards}
    assert [name for name, text in started.items() if "# From reset" not in text] == []
    assert {tmp_path / "boards" / name / "index.html" for name in boards} - links == set()


def test_the_reference_names_all_of_each_stub(repo, staged):
    book = (repo / "docs/book.yml").read_text()
    program = sharing.script(repo / "tools/setup/book.py")
    stubs = [*repo.glob("modules/*/*.pyi"), *repo.glob("firmware/*/*.pyi")]
    in_python = [*repo.glob("modules/*/*/python/[!_]*.py")]
    of_addons = set()
    for package in addons.texts("board package").values():
        of_addons |= set(repo.glob(f"{package}/**/*.py"))
    for path in (*stubs, *in_python, *of_addons):
        name = program.module_name(path)
        names = declared(program.public(ast.parse(path.read_text())))
        page = (staged / f"reference/{name}.md").read_text()
        assert (names or name == "ml") and {one for one in names if f"`{one}`" not in page} == set()
        assert f"reference/{name}.md" in book or path in of_addons


def test_the_reference_has_every_command(staged):
    page = (staged / "reference/commands.md").read_text()
    assert all(f"usage: ethosu {name} " in page for name in cli.discover())
