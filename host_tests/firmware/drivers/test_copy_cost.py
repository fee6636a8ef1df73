# SPDX-License-Identifier: MIT
"""A DMA copy takes almost no CPU time; `pytest -s` prints the table of each board."""

import pytest

from . import EACH_DMA, copy_cost


@pytest.fixture(scope="module", params=EACH_DMA)
def board(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def result(board) -> dict:
    return copy_cost.measure(board)


@pytest.fixture(scope="module")
def result_with_cache(board) -> dict:
    return copy_cost.measure(board, "strict")


def test_64_kb_cost_two_per_cent_of_the_default(result):
    assert result["reference"]["ratio"] <= 0.02 and result["unaligned"]["ratio"] <= 0.02
    assert result["reference"]["slept"] is True


def test_behind_a_cache_cleaning_is_most_of_the_cost(result_with_cache):
    """With a cache, its maintenance costs most, but still fewer instructions than a copy."""
    assert 0.1 < result_with_cache["reference"]["ratio"] <= 0.55


@pytest.mark.parametrize("cache", ["off", "on"])
def test_dma_is_used_exactly_where_it_saves_instructions(cache, result, result_with_cache):
    """The hook takes the cheaper way on both sides of its threshold."""
    for row in (result if cache == "off" else result_with_cache)["sizes"]:
        if row["by_dma"]:
            assert row["hook"] < row["cpu"], row
        else:
            assert row["hook"] - row["cpu"] < 50, row


def test_no_transfer_failed(result):
    assert result["counters"]["errors"] == 0
    assert result["counters"]["timeouts"] == 0


@pytest.mark.parametrize("board", EACH_DMA[:1], indirect=True)
def test_counts_repeat(board, result):
    assert copy_cost.measure(board)["sizes"] == result["sizes"]
