# SPDX-License-Identifier: MIT
"""The DMA controller of the emulated board: QEMU's PL081 as a program finds the real one."""

from tools.qemu_plugin.guest import Guest

TERMINAL_COUNT = 1
ERROR = 2
REPEATABLE = ["-icount", "shift=3,sleep=off"]


def test_identity_at_both_addresses(guest: Guest) -> None:
    values = guest.run("dma_identify").values
    assert values["id"] == 0x0A041081, "PL081, revision 0 (Arm DDI 0218, 3.4.13)"
    assert values["id_secure"] == 0x81


def test_every_width_between_all_memories(guest: Guest) -> None:
    values = guest.run("dma_moves").values
    assert values["right"] == 12
    assert values["reasons"] == 12 * TERMINAL_COUNT
    assert values["interrupts"] == 12, "one for each transfer"
    assert values["enabled"] == 0


def test_list_of_pieces_is_one_transfer(guest: Guest) -> None:
    values = guest.run("dma_list").values
    assert values == {"reasons": TERMINAL_COUNT, "matching": 0x3000}


def test_cpu_sleeps_through_a_transfer(guest: Guest) -> None:
    values = guest.run("dma_sleep", "timing=model", REPEATABLE).values
    assert values["reasons"] == TERMINAL_COUNT
    assert values["enabled_meanwhile"] == 2
    assert values["configuration_meanwhile"] & 1
    assert values["idle"] == 1
    assert 0 < values["instructions"] < 1000


def test_unreachable_memory_is_a_bus_error(guest: Guest) -> None:
    outcome = guest.run("dma_refused")
    assert outcome.values.pop("good_after") == TERMINAL_COUNT
    assert set(outcome.values.values()) == {ERROR}, outcome.values
    assert len(outcome.messages) == 4, "each is logged"


def test_disabled_transfer_does_not_happen(guest: Guest) -> None:
    values = guest.run("dma_cancel", "timing=model", REPEATABLE).values
    assert values == {"untouched": 0x12345678, "enabled": 0, "interrupts": 0}


def test_injected_bus_errors(guest: Guest) -> None:
    outcome = guest.run("dma_three", "fault=dma.bus-error:2")
    assert list(outcome.values.values()) == [ERROR, ERROR, TERMINAL_COUNT]
    assert outcome.messages == ["dma: injected fault bus-error"] * 2
