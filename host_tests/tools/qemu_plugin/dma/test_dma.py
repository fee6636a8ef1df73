# SPDX-License-Identifier: MIT
"""Tests uses of the PL081 beyond the driver's (host_tests/firmware/drivers/test_dma.py)."""

from host_tests.tools.qemu_plugin.guest import Guest

TERMINAL_COUNT = 1
ERROR = 2
REPEATABLE = ["-icount", "shift=3,sleep=off"]


def test_every_width_between_all_memories(guest: Guest) -> None:
    expected = {"right": 12, "reasons": 12 * TERMINAL_COUNT, "interrupts": 12, "enabled": 0}
    assert guest.run("dma_moves").values == expected


def test_unreachable_memory_is_a_bus_error(guest: Guest) -> None:
    outcome = guest.run("dma_refused")
    assert outcome.values.pop("good_after") == TERMINAL_COUNT
    assert set(outcome.values.values()) == {ERROR}, outcome.values
    assert len(outcome.messages) == 4, "each is logged"


def test_disabled_transfer_does_not_happen(guest: Guest) -> None:
    values = guest.run("dma_cancel", "timing=model", REPEATABLE).values
    assert values == {"untouched": 0x12345678, "enabled": 0, "interrupts": 0}
