# SPDX-License-Identifier: MIT
"""`make boards-table` prints the tests' results, and nothing for boards without any."""

import re

import pytest

from host_tests.kit import sharing, stand_ins

BOARD = (
    'chip = "chip"\n'
    + stand_ins.BOARD
    + """\
[variants.HP]
[variants.HE.qemu]
machine = "none"
page = 0
page_irq = 7
window = { start = 0, size = 0 }
memories = {}
"""
)
SUITE = """\
<testsuites><testsuite><testcase/><testcase><properties/></testcase>
<testcase><skipped/></testcase><testcase><failure/></testcase><testcase><error/></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def program(repo):
    return sharing.script(repo / "tools/setup/boards_table.py")


@pytest.fixture
def table(program, empty_tree, monkeypatch):
    """Return the program in a tree with a board of two variants, one of them emulated."""
    for path, text in {
        "boards/B/board.toml": BOARD,
        "boards/B/init.c": "// one\n",
        "boards/B/README.md": "not a source\n",
        "firmware/chips/chip/chip.toml": "# one\n",
        "build/firmware/B-HE/firmware.elf": "",
        "build/firmware/B-HE/firmware.size": "text data bss dec hex filename\n4321 1 2 3 4 elf\n",
    }.items():
        (empty_tree / path).parent.mkdir(parents=True, exist_ok=True)
        (empty_tree / path).write_text(text)
    monkeypatch.setattr(program, "copied", lambda name: f"copied by {name}")
    return program


def test_a_row_shows_the_results(table, tmp_path):
    (tmp_path / "B-HE-10.xml").write_text(SUITE)
    found = "1 errors, 1 failed, 2 passed, 1 skipped"
    assert table.table(tmp_path).splitlines()[2:] == [
        f"| `B-HE` | not tested | {found} | not tested | not tested | "
        f"copied by B-HE | 4,321 | {len(BOARD.splitlines()) + 1} + 1 |"
    ]


def test_a_suite_without_tests_was_not_run(table, tmp_path):
    (tmp_path / "B-HE-10.xml").write_text("<testsuites><testsuite/></testsuites>")
    (tmp_path / "build/firmware/B-HE/firmware.size").unlink()
    assert "| not tested | not tested | copied by B-HE | not built |" in table.table(tmp_path)


def test_it_measures_a_copy_on_the_emulated_board(program):
    shares = re.fullmatch(r"([\d.]+) %; ([\d.]+) %", program.copied("MPS3_AN547"))
    assert 0 < float(shares[1]) < float(shares[2]) < 100
