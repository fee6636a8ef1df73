# SPDX-License-Identifier: MIT
"""Malformed streams end in the right fault, with a log line that identifies the error."""

import numpy as np
import pytest
from ethosu.vela.ethos_u55_regs import ethos_u55_regs as vela_registers

from host_tests.tools.npu_sim import hardware as npu
from host_tests.tools.npu_sim.assembler import DEFAULTS, PAYLOAD, Stream, execute
from host_tests.tools.npu_sim.hardware import Outcome

ROOM = [bytes(4096) for _ in range(4)]


def run(stream: bytes, config: str = "ethos-u55-128"):
    done = execute(config, stream, ROOM)
    return done.outcome, "".join(done.log), done.status


def test_command_table_equals_velas():
    """The command table has Vela's commands by code and name, and Arm's user-defined ones."""
    expected = {c.value: c.name for c in vela_registers.cmd0}
    expected |= {c.value | PAYLOAD: c.name for c in vela_registers.cmd1}
    expected |= {PAYLOAD | 0xA0 + i: f"NPU_SET_USER_DEFINED{i}" for i in range(8)}
    assert {code: name for code, (name, _) in npu.commands().items()} == expected
    assert list(npu.commands()) == sorted(expected), "the simulator searches the table by code"


# Operations without weights, with registers for which they succeed.
COMPLETE = {
    "conv": (("CONV", 0), {"OFM_PRECISION": 1}),
    "depthwise": (("DEPTHWISE", 0), {"OFM_PRECISION": 1}),
    "average": (("POOL", 1), {}),
    "add": (("ELEMENTWISE", 1), {}),
    "add scalar": (("ELEMENTWISE", 1), {"IFM2_BROADCAST": 0x80}),
    "multiply": (("ELEMENTWISE", 0), {}),
    "dma": (("DMA_START", 0), {}),
}


@pytest.mark.parametrize("name", COMPLETE)
def test_a_register_that_was_never_set_is_named_or_not_used(name):
    operation, registers = COMPLETE[name]
    complete = run(Stream().defaults(**registers).op(*operation).stop())
    missed = set()
    for register in DEFAULTS:
        others = {key: value for key, value in {**DEFAULTS, **registers}.items() if key != register}
        outcome, log, status = run(Stream().set(**others).op(*operation).stop())
        if outcome is Outcome.PARSE_ERROR:
            assert f"needs NPU_SET_{register}, which this job never set" in log
            missed.add(register)
        else:
            assert (outcome, log.partition(":")[2], status) == (
                complete[0],
                complete[1].partition(":")[2],
                complete[2],
            )
    assert len(missed) >= 5
    tiles = {f"{map_}_BASE{tile}" for map_ in ("IFM", "OFM", "IFM2") for tile in range(1, 4)}
    assert tiles <= missed or name != "add", "they are not at 0"


@pytest.mark.parametrize(("operation", "registers", "channel"), [
    (("POOL", 1), {"IFM_BASE0": 4096}, 1),
    (("POOL", 1), {"OFM_BASE0": 0xFFFFFFF0}, 8),
    (("ELEMENTWISE", 1), {"IFM_BASE0": 4096}, 1),
    (("ELEMENTWISE", 1), {"IFM2_BASE0": 4096}, 1),
    (("ELEMENTWISE", 1), {"OFM_BASE0": 0xFFFFFFF0}, 8),
    (("CONV", 0), {"WEIGHT_BASE": 4096, "OFM_PRECISION": 1}, 2),
    (("CONV", 0), {"SCALE_BASE": 4096, "OFM_PRECISION": 1}, 3),
    (("DMA_START", 0), {"DMA0_SRC": 4096}, 4),
    (("DMA_START", 0), {"DMA0_DST": 4096}, 9),
])  # fmt: skip
def test_access_outside_memory(operation, registers, channel):
    outcome, log, status = run(Stream().defaults(**registers).op(*operation).stop())
    assert outcome is Outcome.BUS_ERROR
    assert status & npu.STATUS_BUS_ERROR
    assert status >> 12 & 0xF == channel
    assert "not NPU-visible memory" in log


def test_base_pointers_are_aligned():
    stream = Stream().defaults().op("POOL", 1).stop()
    with npu.Hardware("ethos-u55-128") as device:
        memory = device.add(stream)
        device.start(memory, [device.add(64).address + 8] * 4)
        assert device.execute() is Outcome.PARSE_ERROR
        assert "BASEP0" in device.log[0]


def test_strided_dma_of_u65():
    """Strided DMA copies 3 rows, 16 bytes apart, and in 3D 2 planes, 32 bytes apart."""
    source = np.arange(96, dtype=np.uint8)
    registers = {"DMA0_SIZE0": 3, "DMA0_SIZE1": 2, "DMA0_SKIP0": 16, "DMA0_SKIP1": 32}
    for mode, planes in ((0x200, 1), (0x400, 2)):
        stream = Stream().defaults(DMA0_DST_REGION=mode | 1, **registers).op("DMA_START").stop()
        expected = np.zeros(512, np.uint8)
        for row in range(3 * planes):
            at = row * 32 + row // 3 * 32
            expected[at : at + 16] = source[row * 16 : row * 16 + 16]
        found = execute("ethos-u65-256", stream, [source.tobytes(), bytes(512)]).result
        np.testing.assert_array_equal(found, expected)


def test_40_bit_addresses_of_u65():
    stream = Stream().defaults(IFM_BASE0=0x12_0000_0000).op("POOL", 1).stop()
    with npu.Hardware("ethos-u65-512") as device:
        memory = device.add(stream)
        device.memories.append(npu.Memory(0x34_0000_0000, device.add(bytes(range(64))).data))
        out = device.add(64)
        device.start(memory, [0x22_0000_0000, out.address])
        assert device.execute() is Outcome.STOPPED, device.log
        np.testing.assert_array_equal(out.data[:16], np.arange(16))


def test_a_fault_names_command_offset_operation_operand_and_address():
    stream = Stream().defaults(IFM2_BASE0=0x4000)
    index, offset = len(DEFAULTS), len(stream.bytes())
    done = execute("ethos-u55-128", stream.op("ELEMENTWISE", 1).stop(), ROOM)
    address = done.memories[3].address + 0x4000
    done.refused(f"at 0x{address:x} (region 2 + 0x4000)", Outcome.BUS_ERROR)
    (line,) = done.log
    assert line.startswith(f"command {index} at 0x{offset:x}: NPU_OP_ELEMENTWISE IFM read of ")


# Address of the tables in the NPU's internal memory, and a function that uses the first.
TABLES = {
    "ethos-u55-128": (22 * 1024, 16),
    "ethos-u65-512": (46 * 1024, 16),
    "ethos-u85-256": (0, 4),
}


def jobs(config: str, *streams: Stream) -> tuple[list[Outcome], list[str]]:
    """Run streams in sequence on the same NPU; returns outcomes, and the log."""
    with npu.Hardware(config) as device:
        bases = [device.add(content).address for content in ROOM]
        outcomes = []
        for stream in streams:
            device.start(device.add(stream.stop()), bases)
            outcomes.append(device.execute())
            device.acknowledge()
        return outcomes, device.log


@pytest.mark.parametrize("config", TABLES)
def test_registers_do_not_outlive_a_job(config):
    """Registers are undefined after a job; a chip keeps them, so results would depend on it."""
    first = Stream(config).defaults().op("POOL", 1)
    outcomes, log = jobs(config, first, Stream(config).op("POOL", 1))
    assert outcomes == [Outcome.STOPPED, Outcome.PARSE_ERROR]
    assert "which this job never set" in log[0]


@pytest.mark.parametrize("config", TABLES)
@pytest.mark.parametrize("missing", [256, 16])
def test_tables_do_not_outlive_a_job(config, missing):
    """Tables are undefined after a job, including the last 16 bytes of one."""
    address, function = TABLES[config]
    streams = [
        Stream(config)
        .defaults(DMA0_DST_REGION=0x100, DMA0_DST=address, DMA0_LEN=length, ACTIVATION=function)
        .op("DMA_START")
        for length in (256, 256 - missing or 16)
    ]
    outcomes, log = jobs(config, *(stream.op("POOL", 1) for stream in streams))
    assert outcomes == [Outcome.STOPPED, Outcome.PARSE_ERROR]
    assert f"no DMA of this job has filled byte {256 - missing or 16} of it" in log[0]
