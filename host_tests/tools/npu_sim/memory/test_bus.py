# SPDX-License-Identifier: MIT
"""Accesses on the NPU's bus have the right port, direction, security and privilege."""

from dataclasses import dataclass

import pytest

from host_tests.tools.npu_sim.assembler import Stream
from host_tests.tools.npu_sim.hardware import STATUS_BUS_ERROR, Hardware, Outcome, Register

NON_SECURE, PRIVILEGED = 2, 1
M0, M1 = 0, 1  # of Ethos-U85: SRAM, EXT
IFM_READ, OFM_WRITE, DMA_WRITE = 1, 8, 9
MEM_ATTR_EXT = 1 << 2


@dataclass
class Access:
    write: bool
    secure: bool
    privileged: bool
    port: int


class Bus(Hardware):
    """Records each access; memory from `secure_only` on is for secure accesses only."""

    secure_only = None

    def _map(self, access):
        self.seen = getattr(self, "seen", [])
        self.seen.append(Access(access.write, access.secure, access.privileged, access.port))
        refused = access.address == self.secure_only and not access.secure
        return None if refused else super()._map(access)


def run(config, regions=0x5555, reset=0, attributes=(), program=None):
    """Run one pool (or `program`) with this REGIONCFG; returns NPU and outcome."""
    with Bus(config) as npu:
        npu.write(Register.RESET, reset)
        for index, value in enumerate(attributes):
            npu.write(0x040 + 4 * index, value)
        program = program or Stream(config).defaults().op("POOL", 1).stop()
        stream = npu.add(program, writable=False)
        rooms = [npu.add(64) for _ in range(2)]
        npu.start(stream, [room.address for room in rooms], regions)
        return npu, npu.execute(), npu.acknowledge()


def ports(npu):
    """Return the port of each access, by type; the stream is fetched first, by QCONFIG 2."""
    return [(access.port, access.write) for access in npu.seen]


@pytest.mark.parametrize("regions, ifm, ofm", [(0, M0, M0), (1, M0, M0), (2, M1, M0), (3, M1, M0)])
def test_the_limit_number_selects_the_port_of_ethos_u55_and_u65(regions, ifm, ofm):
    for config in ("ethos-u55-128", "ethos-u65-512"):
        npu, outcome, _ = run(config, regions)
        assert outcome is Outcome.STOPPED, npu.log
        assert ports(npu) == [(M1, False), (ofm, True), (ifm, False)]


@pytest.mark.parametrize("ifm, ofm", [(M0, M0), (M1, M0), (M0, M1), (M1, M1)])
def test_memory_attributes_select_the_port_of_ethos_u85(ifm, ofm):
    attributes = [MEM_ATTR_EXT * port for port in (ifm, ofm, M1)]
    npu, outcome, _ = run("ethos-u85-256", 0x4, attributes=attributes)
    assert outcome is Outcome.STOPPED, npu.log
    assert ports(npu) == [(M1, False), (ofm, True), (ifm, False)]


def interface_and_channel(status):
    assert status & STATUS_BUS_ERROR
    return status >> 11 & 1, status >> 12 & 0xF


@pytest.mark.parametrize("value", [2, 3])
def test_port_m1_of_ethos_u55_is_read_only(value):
    npu, outcome, status = run("ethos-u55-128", value << 2)
    assert outcome is Outcome.BUS_ERROR
    assert interface_and_channel(status) == (M1, OFM_WRITE)
    assert "port M1 is read-only" in npu.log[-1]
    assert not any(access.write for access in npu.seen), "it never gets to the bus"


def test_dma_cannot_write_through_port_m1_of_ethos_u55():
    program = Stream("ethos-u55-128").defaults().op("DMA_START").stop()
    npu, outcome, status = run("ethos-u55-128", 3 << 2, program=program)
    assert outcome is Outcome.BUS_ERROR, npu.log
    assert interface_and_channel(status) == (M1, DMA_WRITE)


def test_port_m1_of_ethos_u65_can_be_written():
    _, outcome, _ = run("ethos-u65-512", 0xF)
    assert outcome is Outcome.STOPPED


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("reset", range(4))
def test_accesses_have_the_security_and_privilege_of_the_npu(config, reset):
    npu, outcome, _ = run(config, reset=reset)
    assert outcome is Outcome.STOPPED
    assert {access.secure for access in npu.seen} == {not reset & NON_SECURE}
    assert {access.privileged for access in npu.seen} == {bool(reset & PRIVILEGED)}


@pytest.mark.parametrize("reset, ends", [(0, Outcome.STOPPED), (NON_SECURE, Outcome.BUS_ERROR)])
def test_memory_for_secure_accesses_only(reset, ends):
    with Bus("ethos-u55-128") as npu:
        npu.write(Register.RESET, reset)
        stream = npu.add(Stream("ethos-u55-128").defaults().op("POOL", 1).stop())
        rooms = [npu.add(64), npu.add(64)]
        npu.secure_only = rooms[0].address
        npu.start(stream, [room.address for room in rooms])
        assert npu.execute() is ends
        if reset:
            assert interface_and_channel(npu.acknowledge()) == (M0, IFM_READ)
            assert "non-secure" in npu.log[-1]
