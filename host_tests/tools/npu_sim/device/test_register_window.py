# SPDX-License-Identifier: MIT
"""Registers hold only implemented bits, are cleared by a reset, and affect the next run."""

import pytest

from host_tests.tools.npu_sim.assembler import Stream
from host_tests.tools.npu_sim.hardware import (
    STATUS_BUS_ERROR,
    STATUS_END,
    Hardware,
    Memory,
    Outcome,
    Register,
)

WORD = 0xFFFFFFFF
PMU_IRQ = 1 << 6

# Writable bits by register: Arm's interface headers.
WRITABLE = {
    0x010: WORD,  # QBASE
    0x014: WORD,
    0x01C: 0x3,  # QCONFIG
    0x020: WORD,  # QSIZE
    0x02C: WORD,  # LOCK
    0x03C: 0xFFFF,  # REGIONCFG: two bits for each of eight regions
    **{0x080 + 4 * i: WORD for i in range(16)},  # BASEP0..7
    0x140: 0x3F,  # CLKFORCE
}
# Registers that some families lack, or that differ.
AXI_LIMITS = {"ethos-u55-128": 0x0F1F00F3, "ethos-u65-512": 0x1F3F00F3}
U85_WRITABLE = {
    0x038: 0x3F,  # POWER_CTRL
    **{0x040 + 4 * i: 0xF7 for i in range(4)},  # MEM_ATTR0..3
    **{0x050 + 4 * i: 0x31F3F for i in range(2)},  # AXI_SRAM, AXI_EXT
    **{0x060 + 4 * i: 0 for i in range(8)},  # CFG_SRAM_CAP, CFG_EXT_CAP, their hashes: of pins
    0x154: 0x3,  # FEATURE_DISABLE
    0x11A8: 0xF3FFF3FF,  # PMCCNTR_CFG
    0x11AC: 0x50F,  # PMCAXI_CHAN
    0x11B0: 0xFFFF0001,  # PMCLUT
    **{0x1380 + 4 * i: 0xF3FF for i in range(8)},  # PMEVTYPER0..7
}
OWN = {
    npu: {0x040 + 4 * i: mask for i in range(4)} | {0x1A8: 0x03FF03FF, 0x1AC: 0x70F}
    for npu, mask in AXI_LIMITS.items()
} | {"ethos-u85-256": U85_WRITABLE}
READ_ONLY = [Register.ID, Register.STATUS, Register.QREAD, Register.PROT, Register.CONFIG]
CONFIGS = ["ethos-u55-128", "ethos-u65-512"]


@pytest.fixture(params=CONFIGS)
def device(request):
    with Hardware(request.param) as npu:
        yield npu


def test_registers_hold_their_bits_until_a_reset(device):
    for offset, mask in WRITABLE.items():
        for value in (WORD, 0x55555555, 0xAAAAAAAA):
            device.write(offset, value)
            assert device.read(offset) == value & mask, hex(offset)
        device.write(offset, WORD)
    device.write(Register.RESET, 0)
    assert [hex(offset) for offset in WRITABLE if device.read(offset)] == []
    assert device.log == []


@pytest.mark.parametrize("npu", OWN)
def test_registers_of_a_family_hold_their_bits(npu):
    with Hardware(npu) as device:
        for offset, mask in OWN[npu].items():
            before = device.read(offset) & ~mask
            device.write(offset, WORD)
            assert device.read(offset) == before | mask, hex(offset)


def test_writes_to_read_only_registers_are_logged(device):
    for offset in READ_ONLY:
        before = device.read(offset)
        device.write(offset, WORD)
        assert device.read(offset) == before
    assert len(device.log) == len(READ_ONLY)


def test_command_keeps_the_clock_and_power_requests_alone(device):
    device.write(Register.CMD, 0xFFFF0000 | 0xE)
    assert device.read(Register.CMD) == 0xC
    device.write(Register.CMD, 0)
    assert device.read(Register.CMD) == 0


@pytest.mark.parametrize("state", range(4))
def test_reset_takes_over_privilege_and_security(device, state):
    device.write(Register.RESET, 0xFFFFFFFC | state)
    assert device.read(Register.PROT) == state
    assert device.read(Register.RESET) == 0
    assert device.read(Register.STATUS) == 0
    device.write(Register.RESET, 0)
    assert device.read(Register.PROT) == 0


def test_a_run_takes_its_registers_when_it_starts(device):
    """Writes to registers during a run take effect in the next run."""
    stream = device.add(Stream().defaults().op("IRQ").op("POOL", 1).stop())
    room = [device.add(bytes(range(64))), device.add(64), device.add(64)]
    device.start(stream, [room[0].address, room[1].address])
    assert device.execute() is Outcome.IRQ
    device.write(Register.BASEP + 8, room[2].address)
    assert device.execute() is Outcome.STOPPED
    assert room[1].data[:16].tolist() == list(range(16)) and not room[2].data.any()
    device.acknowledge()
    device.write(Register.CMD, 0xD)
    assert device.execute() is Outcome.IRQ and device.execute() is Outcome.STOPPED
    assert room[2].data[:16].tolist() == list(range(16))


def test_the_read_pointer_is_past_the_executed_command(device):
    stream = Stream().set(IFM_REGION=1, DMA0_LEN=16).op("IRQ")
    behind = len(stream.bytes())
    device.start(device.add(stream.raw(WORD).bytes()), [])
    assert device.execute() is Outcome.IRQ
    assert device.read(Register.QREAD) == behind
    assert device.execute() is Outcome.PARSE_ERROR
    assert device.read(Register.QREAD) == behind, "the command that failed is not behind it"


def test_base_pointers_have_as_many_bits_as_addresses():
    """Base pointers have as many bits as addresses; an Ethos-U55 ignores the upper words."""
    stream = Stream().defaults().op("POOL", 1).stop()
    for config, outcome in zip(CONFIGS, (Outcome.STOPPED, Outcome.BUS_ERROR), strict=True):
        with Hardware(config) as device:
            device.memories.append(Memory(0x1000, device.add(bytes(64)).data))
            device.start(device.add(stream), [0x12_0000_1000, device.add(64).address])
            assert device.execute() is outcome
            failed = outcome is Outcome.BUS_ERROR
            assert device.read(Register.STATUS) & (STATUS_BUS_ERROR | STATUS_END) == (
                STATUS_BUS_ERROR if failed else STATUS_END
            )


def test_command_stream_is_aligned(device):
    memory = device.add(bytes(8) + Stream().stop())
    device.start(Memory(memory.address + 8, memory.data[8:]), [])
    assert device.execute() is Outcome.PARSE_ERROR
    assert "QBASE" in device.log[-1] and "not a multiple of 16" in device.log[-1]


@pytest.mark.parametrize("counter", ["event", "cycles"])
def test_overflow_of_a_counter_interrupts_if_asked(device, counter):
    bit = 1 if counter == "event" else 1 << 31
    stream = device.add(Stream().defaults(DMA0_LEN=64).op("DMA_START").stop())
    room = [device.add(64).address, device.add(64).address]
    device.write(Register.PMCR, 1)
    device.write(Register.PMCNTENSET, bit)
    for asked in (0, bit):
        device.write(0x194, asked)  # PMINTSET
        device.write(Register.PMEVTYPER, 0x23)
        device.write(Register.PMEVCNTR, WORD)
        device.write(Register.PMCCNTR, WORD)
        device.write(Register.PMCCNTR + 4, 0xFFFF)
        device.start(stream, room)
        device.execute()
        assert device.read(0x190) == bit, "PMOVSCLR"
        assert bool(device.read(Register.STATUS) & PMU_IRQ) == bool(asked)
        device.acknowledge()
        device.write(0x190, WORD)
        assert device.read(0x190) == 0 and not device.irq
    low = Register.PMEVCNTR if counter == "event" else Register.PMCCNTR
    assert device.read(low) == device.cycles - 1
