# SPDX-License-Identifier: MIT
"""Each block of each page has a mark for how it is tested; `pytest -s` prints the numbers."""

import pytest

from host_tests.kit import pages

TICKS = "```"


def problems(text):
    return [block.problem for block in pages.parse("P.md", text) if block.problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{TICKS}\nx\n{TICKS}\n", "P.md:1: no language; expected one of sh, python, pycon"),
        (
            f"a\n\n{TICKS}sh\nx\n{TICKS}\n",
            "P.md:3: no mark after sh; expected one of test",
        ),
        (f"{TICKS}sh tset\nx\n{TICKS}\n", "P.md:1: tset after sh; expected one of test, nightly"),
        (f"- a\n\n  {TICKS}python\n  x\n  {TICKS}\n", "P.md:3: a block in a list"),
        (f"{TICKS}text board\nx\n{TICKS}\n", "board after text; expected one of nothing, output"),
        (f"{TICKS}ruby test\nx\n{TICKS}\n", "P.md:1: ruby; expected one of sh, python"),
        ("a\n\n    x\n    y\n", "P.md:3: an indented block; expected one of sh, python"),
        ("1. a\n\n       x\n", "P.md:3: an indented block"),
        (f"~~~{TICKS}\n~~~\n", "P.md:1: ```; expected one of sh"),
    ],
)
def test_a_block_without_a_mark_is_reported(text, problem):
    (found,) = problems(text)
    assert problem in found


@pytest.mark.parametrize(
    "text",
    [
        f"{TICKS}sh test\nx\n{TICKS}\n",
        f"{TICKS}python train.py\nx\n{TICKS}\n",
        f"{TICKS}text\n    x\n\n    y\n{TICKS}\n",
        "1. a\n\n   the same item\n\n   - its own item\n\n     goes on\n\nb\n",
        "a sentence\n    goes on\n",
    ],
)
def test_what_is_marked_or_not_a_block_is_no_problem(text):
    assert problems(text) == []


def test_each_block_of_each_page_has_a_mark():
    found = [block.problem for name in pages.names() for block in pages.blocks(name)]
    assert [problem for problem in found if problem] == []
    print(f"\n{pages.table()}")


def test_the_table_has_all_blocks():
    count = sum(line.count("```") for line in map(page_text, pages.names()))
    assert pages.table().splitlines()[-1].split() == ["all", str(count // 2)]


def page_text(name):
    return (pages.REPO / name).read_text()


def test_a_file_of_a_page_is_used_by_its_commands():
    for name in pages.names():
        for block in pages.blocks(name):
            if block.kind == "FILE":
                later = [other for other in pages.blocks(name) if other.line > block.line]
                assert any(block.mark in other.text for other in later), block.where


def test_what_is_printed_follows_a_command():
    for name in pages.names():
        commands = False
        for block in pages.blocks(name):
            commands |= block.language == "sh"
            assert commands or block.kind not in ("output", "like"), block.where
