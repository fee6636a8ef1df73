# SPDX-License-Identifier: MIT
"""Tests the data cache that the plugin adds to QEMU's Cortex-M55 with coherence=..."""

import pytest

from host_tests.tools.qemu_plugin.guest import Guest

REPEATABLE = ["-icount", "shift=3,sleep=off"]
DATA_ON = 0x10000
INSTRUCTIONS_ON = 0x20000

STEPS = {
    "all": 1,
    "without_clean_stream": 0,
    "without_clean_input": 0,
    "without_clean_output": 1,  # only an eviction shows this
    "without_invalidate": 0,
    "other_memories": 1,
    "secure_alias": 1,
    "without_invalidate_of_alias": 0,
}


def test_registers_of_a_cortex_m55(guest: Guest) -> None:
    values = guest.run("cache_registers", "coherence=strict").values
    assert values == {
        "on_before": 0,
        "changed": DATA_ON | INSTRUCTIONS_ON,
        "clidr": 0x09200003,
        "ctr": 0x8303C003,
        "data": 0xF01FE019,
        "instructions": 0xF03FE009,
        "selected": 1,
        "off_again": INSTRUCTIONS_ON,
        "neighbours": 1,
    }


def test_off_leaves_qemu_s_registers(guest: Guest) -> None:
    values = guest.run("cache_registers", "coherence=off").values
    assert values["changed"] == 0, "QEMU has no caches"
    assert values == guest.run("cache_registers").values, "off is the default"


@pytest.mark.parametrize("timing", ["host", "model"])
def test_each_maintenance_step_is_needed(guest: Guest, timing: str) -> None:
    assert guest.run("cache_steps", f"coherence=strict,timing={timing}").values == STEPS


def test_nothing_is_needed_without_a_cache(guest: Guest) -> None:
    for scenario in ("cache_steps", "dma_caches"):
        assert set(guest.run(scenario, "coherence=off").values.values()) == {1}
    values = guest.run("cache_is_off", "coherence=strict").values
    assert set(values.values()) == {1}, "until the guest switches it on"


STRICT = {
    "cache_off_again": {"right": 1, "sees_the_output": 1, "none": 1, "without_invalidate": 0},
    "cache_sets_and_ways": {
        "without": 0, "without_a_set": 0, "before_the_invalidate": 0, "after": 1, "lost": 1
    },
    "cache_by_the_mpu": {
        "uncached_to_uncached": 1,
        "through_to_uncached": 1,
        "uncached_to_through": 0,
        "the_same_with_invalidate": 1,
        "back_to_uncached": 0,
        "the_same_with_clean": 1,
        "background_to_uncached": 0,
        "behind_the_region": 0,
        "selected": 1,
        "uncached_no_more": 0,
        "all": 1,
    },
    "dma_caches": {
        "all": 1, "without_clean_source": 0, "without_clean_list": 0, "without_invalidate": 0
    },
}  # fmt: skip


@pytest.mark.parametrize("scenario", STRICT)
def test_strict_shows_what_lacks_maintenance(guest: Guest, scenario: str) -> None:
    """Missing maintenance shows: cache off, by set and way, by MPU attributes, for DMA."""
    assert guest.run(scenario, "coherence=strict").values == STRICT[scenario]


def test_reset_of_the_machine_loses_what_was_not_cleaned(guest: Guest) -> None:
    values = guest.run("cache_lost_at_reset", "coherence=strict").values
    assert values == {"cleaned": 1, "dirty": 0, "on": 0}
    values = guest.run("cache_lost_at_reset", "coherence=off").values
    assert values == {"cleaned": 1, "dirty": 1, "on": 0}


@pytest.mark.parametrize("timing", ["host", "model"])
def test_evictions_show_what_strict_does_not(guest: Guest, timing: str) -> None:
    for seed in (1, 2, 3):
        values = guest.run("cache_evictions", f"coherence=evict:{seed},timing={timing}").values
        assert values["wrong"] == 0
        assert values["wrong_without_clean_output"] > 0
    values = guest.run("cache_evictions", f"coherence=strict,timing={timing}").values
    assert values["wrong_without_clean_output"] == 0


def test_evictions_repeat(guest: Guest) -> None:
    runs = [
        guest.run("cache_evictions", f"coherence=evict:{seed},timing=model", REPEATABLE).values
        for seed in (7, 7, 8)
    ]
    assert runs[0] == runs[1]
    assert runs[0]["wrong_without_clean_output"] > 0
    assert runs[0] != runs[2]


def test_instructions_and_time_are_those_without_a_cache(guest: Guest) -> None:
    runs = [
        guest.run("timed_run", f"coherence={mode},timing=model", REPEATABLE).values
        for mode in ("off", "strict", "evict:1")
    ]
    assert runs[0] == runs[1] == runs[2]


def test_code_that_the_guest_wrote(guest: Guest) -> None:
    outcome = guest.run("code_right", "coherence=strict")
    assert outcome.output.count("returns=") == 3
    assert outcome.values["returns"] == 3
    assert not outcome.messages


def test_code_that_was_not_cleaned(guest: Guest) -> None:
    outcome = guest.run("code_not_cleaned", "coherence=strict")
    assert outcome.code == 1
    assert not outcome.values
    assert outcome.messages == [
        "executes code at 0x60200000 that was not cleaned to memory, or was written there by "
        "another bus master and not invalidated"
    ]
    assert guest.run("code_not_cleaned", "coherence=off").values == {"returns": 1}


def test_code_that_the_instruction_cache_does_not_know(guest: Guest) -> None:
    outcome = guest.run("code_not_invalidated", "coherence=strict")
    assert outcome.code == 1
    assert outcome.values == {"returns": 1}
    assert outcome.messages == [
        "executes code at 0x60200000 that has changed since the instruction cache was last "
        "invalidated"
    ]
    values = guest.run("code_not_invalidated", "coherence=off").values
    assert values == {"returns": 1, "returns_again": 2}
