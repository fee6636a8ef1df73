# SPDX-License-Identifier: MIT
"""The steps of a start are complete, in their order, and have sources."""

import re

import pytest
from ethosu_tools import boards

from host_tests.kit import sharing

first_minute = sharing.script(sharing.REPO / "tools/setup/first_minute.py")


@pytest.mark.parametrize("name", boards.names())
def test_each_step_of_a_board_has_a_source(repo, name):
    steps = list(first_minute.steps(name))
    assert steps[0].does.startswith("The reset handler") is False, "what does the chip do first?"
    assert all(step.does.endswith(".") and step.source for step in steps)
    for step in steps:
        for path in re.findall(r"(?:firmware|boards)/[\w/]+\.c\b", step.source):
            if not step.source.startswith("openmv"):
                assert (repo / path).is_file(), path


@pytest.mark.parametrize("name", boards.names())
def test_the_addresses_are_those_of_the_board(name):
    table = boards.table(name)
    text = " ".join(step.does for step in first_minute.steps(name))
    for address in (
        table["regions"]["VECTORS"]["start"], table["regions"]["DATA"]["start"],
        table["uart"]["base"], table["npu_registers"][0]["base"], table["romfs"]["start"],
    ):  # fmt: skip
        assert f"{address:#010x}" in text


def test_the_section_has_a_table_for_each_core():
    text = first_minute.section(boards.names())
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == boards.names()
    assert text.count("| 1 |") == len(boards.names())
