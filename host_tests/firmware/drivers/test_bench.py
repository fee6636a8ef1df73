# SPDX-License-Identifier: MIT
"""`ethosu bench copy`: what it prints, and that a copy by DMA costs the CPU next to nothing."""

import contextlib
import io
import json

import pytest
from ethosu_tools import cli
from ethosu_tools.commands import bench

from . import WITH_DMA


def _run(board: str, *options: str) -> dict:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert cli.main(["bench", "copy", "--json", "--board", board, *options]) == 0
    return json.loads(output.getvalue())


@pytest.fixture(scope="module", params=WITH_DMA)
def board(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def result(board) -> dict:
    return _run(board)


@pytest.fixture(scope="module")
def result_with_cache(board) -> dict:
    return _run(board, "--coherence", "strict")


def test_64_kb_cost_two_per_cent_of_the_default(result):
    assert result["dma_to_cpu_instruction_ratio_64k"] <= 0.02
    assert result["dma_to_cpu_instruction_ratio_64k_unaligned"] <= 0.02
    assert result["cpu_slept_64k"] is True


def test_behind_a_cache_cleaning_is_most_of_the_cost(result_with_cache):
    """The CPU walks its cache for source and destination, and still has less to do than a copy."""
    assert 0.1 < result_with_cache["dma_to_cpu_instruction_ratio_64k"] <= 0.55


@pytest.mark.parametrize("cache", ["off", "on"])
def test_dma_is_used_exactly_where_it_saves_instructions(cache, result, result_with_cache):
    """The threshold is right: on either side of it, the hook takes the cheaper way."""
    for row in (result if cache == "off" else result_with_cache)["sizes"]:
        if row["by_dma"]:
            assert row["hook_instructions"] < row["cpu_instructions"], row
        else:
            assert row["hook_instructions"] - row["cpu_instructions"] < 50, row


def test_no_transfer_failed(result):
    assert result["counters"]["errors"] == 0
    assert result["counters"]["timeouts"] == 0


def test_counts_repeat(board, result):
    assert _run(board)["sizes"] == result["sizes"]


def test_table_for_people(result):
    text = bench.render(result)
    assert "262,144" in text and "DMA, CPU asleep" in text
