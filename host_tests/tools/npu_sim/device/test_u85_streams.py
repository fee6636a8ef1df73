# SPDX-License-Identifier: MIT
"""Tests stream features of Ethos-U85: branches, strides and indices, chains, accumulators."""

from __future__ import annotations

import numpy as np
import pytest

from host_tests.tools.npu_sim import hardware as npu
from host_tests.tools.npu_sim.assembler import U85_DEFAULTS, Run, Stream, execute
from host_tests.tools.npu_sim.hardware import Outcome

CONFIG = "ethos-u85-256"
ROOM = [bytes(range(256)), bytes(1024), bytes(256), bytes(256)]
STATUS_BRANCH_FAULT = 1 << 9


def stream() -> Stream:
    return Stream(CONFIG)


def run(content: bytes, regions: list[bytes] | None = None) -> Run:
    return execute(CONFIG, content, regions or ROOM)


def test_the_port_of_a_region_is_in_its_memory_attributes():
    """A region's port is bit 2 of the MEM_ATTR that REGIONCFG selects: 0 SRAM, 1 EXT."""
    content = stream().defaults(DMA0_SRC=4096).op("DMA_START").stop()
    for attributes, interface in ((0x0, 0), (0x4, 1), (0x23, 0), (0x27, 1)):
        with npu.Hardware(CONFIG) as device:
            device.write(0x040 + 4 * 2, attributes)
            device.start(device.add(content), [device.add(64).address] * 4, regions=0xAAAA)
            assert device.execute() is Outcome.BUS_ERROR
            assert device.read(npu.Register.STATUS) >> 11 & 1 == interface


def test_eight_counters_are_at_offset_0x1000():
    """Eight counters are at 0x1000: here cycles, activity, and beats of both ports."""
    content = stream().defaults(DMA0_LEN=64).op("DMA_START").stop()
    events = {0: 0x11, 7: 0x23, 3: 0x82, 4: 0x87, 5: 0x182, 6: 0x187}
    with npu.Hardware(CONFIG) as device:
        assert device.read(0x1180) >> 11 & 0x1F == 8
        device.write(0x040 + 4, 4)
        for counter, event in events.items():
            device.write(0x1380 + 4 * counter, event)
        device.write(0x1180, 7)
        device.write(0x1184, 0x8000_00FF)
        memories = [device.add(64) for _ in range(2)]
        device.start(device.add(content), [m.address for m in memories], regions=0x4)
        assert device.execute() is Outcome.STOPPED, device.log
        found = [device.read(0x1300 + 4 * counter) for counter in events]
        commands = -(-len(content) // 16)
        assert found == [device.cycles, device.cycles, commands + 4, 0, 0, 4]
        assert device.read(0x11A0) == device.cycles


def test_malformed_weights_are_a_parse_error():
    """Malformed weights are a parse error, since Ethos-U85's STATUS has no wd_fault."""
    done = run(stream().defaults(OFM_PRECISION=1).op("CONV").stop(), [bytes(256)] * 4)
    assert done.outcome is Outcome.WEIGHT_FAULT
    assert done.status & npu.STATUS_PARSE_ERROR and not done.status & npu.STATUS_WEIGHT_FAULT


@pytest.mark.parametrize("target", [6, 0x1000, 0xFFFFFFFC])
def test_a_branch_out_of_the_stream(target):
    done = run(stream().op("BRANCH", 0, target).stop())
    words = f"targets 0x{target:x}, outside the stream of 0xc bytes"
    done.refused(words, Outcome.BRANCH_FAULT)
    assert done.status & STATUS_BRANCH_FAULT


def test_a_branch_skips_what_is_between():
    done = run(stream().op("BRANCH", 0, 12).raw(0x3FF).stop())
    assert done.outcome is Outcome.STOPPED, done.log


def branching(value: int) -> Stream:
    """Make a stream that adds 1, then branches over unknown commands unless the sum is 0."""
    first = stream().defaults(OFM_WIDTH_M1=0, OP_SCALAR=1, IFM2_BROADCAST=8, IFM2_PRECISION=0xC001)
    first.set(IFM_BASE0=value % 256).op("ELEMENTWISE", 1)
    return first.op("BRANCH", 1, len(first.bytes()) + 12).raw(0x3FF)


@pytest.mark.parametrize(("value", "taken"), [(0, True), (-2, True), (-1, False)])
def test_a_branch_by_the_result_flag(value, taken):
    with npu.Hardware(CONFIG) as device:
        memory = device.add(branching(value).stop())
        device.start(memory, [device.add(content).address for content in ROOM])
        expected = Outcome.STOPPED if taken else Outcome.PARSE_ERROR
        assert device.execute() is expected, device.log
        assert device.read(0x030) == taken


@pytest.mark.parametrize("value", [0, 1, 0x80, 1 << 56])
@pytest.mark.parametrize(("size", "bits"), [(1, 16), (2, 32), (3, 64)])
def test_a_branch_by_a_result_of_any_size(value, size, bits):
    """A branch tests a result of any size, truncated to the width of the OFM."""
    element = min(size, 2)
    content = stream().defaults(
        OFM_WIDTH_M1=0, IFM_PRECISION=1 | element << 2, IFM2_PRECISION=0xC001 | element << 2,
        IFM_STRIDE_X=4, OFM_STRIDE_X=8, IFM2_BROADCAST=8, OFM_PRECISION=0x101 | size << 1,
        ACTIVATION=1 << 12,
    ).op("ELEMENTWISE", 1)  # fmt: skip
    content.op("BRANCH", 1, len(content.bytes()) + 12).raw(0x3FF)
    done = run(content.stop(), [value.to_bytes(8, "little"), *ROOM[1:]])
    stored = int.from_bytes(done.memories[2].data[: bits // 8].tobytes(), "little")
    assert done.outcome is (Outcome.STOPPED if stored else Outcome.PARSE_ERROR), done.log


def test_a_branch_by_an_invalid_result():
    done = run(stream().op("BRANCH", 1, 0).stop())
    done.refused("no operation stored one", Outcome.BRANCH_FAULT)


def test_an_endless_branch_can_be_stepped():
    with npu.Hardware(CONFIG) as device:
        device.start(device.add(stream().op("BRANCH", 0, 0).stop()), [])
        for _ in range(3):
            assert device.execute(1) is Outcome.STEPPED
            assert device.read(npu.Register.QREAD) == 0


def copies(**registers: int) -> np.ndarray:
    """Return region 1 after a DMA from region 0 with the indices 3, 0, 2, 0, 1, 0."""
    indices = np.array([3, 0, 2, 0, 1, 0], np.int32).tobytes()
    content = stream().defaults(DMA0_IDX_REGION=2, DMA0_IDX=0, **registers).op("DMA_START").stop()
    return run(content, [bytes(range(256)), bytes(256), indices, bytes(16)]).result


def test_strides_of_source_and_destination():
    out = copies(DMA0_SRC_REGION=0x400, DMA0_LEN=3, DMA0_SIZE0=2, DMA0_SIZE1=2,
                 DMA0_SRC_STRIDE0=5, DMA0_SRC_STRIDE1=100, DMA0_DST_STRIDE0=4,
                 DMA0_DST_STRIDE1=20)  # fmt: skip
    expected = np.zeros(256, np.uint8)
    for plane in range(2):
        for row in range(2):
            at = plane * 100 + row * 5
            expected[plane * 20 + row * 4 :][:3] = range(at, at + 3)
    np.testing.assert_array_equal(out, expected)


def test_rows_by_index():
    """DMA gathers 2 planes of 3 indices, and scatters the first three rows."""
    gathered = copies(DMA0_SRC_REGION=0xC00, DMA0_LEN=4, DMA0_SIZE0=3, DMA0_SIZE1=2,
                      DMA0_IDX_MAX=3, DMA0_IDX_SKIP1=0, DMA0_SRC_STRIDE0=4, DMA0_SRC_STRIDE1=64,
                      DMA0_DST_STRIDE0=4, DMA0_DST_STRIDE1=12)  # fmt: skip
    rows = np.arange(256, dtype=np.uint8).reshape(-1, 4)
    expected = np.concatenate([rows[[3, 0, 2]], rows[[16, 17, 16]]]).ravel()
    np.testing.assert_array_equal(gathered[:24], expected)
    scattered = copies(DMA0_SRC_REGION=0x200, DMA0_DST_REGION=0x801, DMA0_LEN=4, DMA0_SIZE0=3,
                       DMA0_IDX_MAX=3, DMA0_SRC_STRIDE0=4, DMA0_DST_STRIDE0=8)  # fmt: skip
    out = np.zeros((4, 8), np.uint8)
    out[[3, 0, 2], :4] = rows[:3]
    np.testing.assert_array_equal(scattered[:32], out.ravel())


def test_indices_of_64_bits_are_read_by_their_lower_half():
    out = copies(DMA0_SRC_REGION=0xC00, DMA0_LEN=4, DMA0_SIZE0=1, DMA0_SIZE1=3, DMA0_IDX_MAX=3,
                 DMA0_IDX_SKIP1=4, DMA0_SRC_STRIDE0=4, DMA0_SRC_STRIDE1=0, DMA0_DST_STRIDE0=0,
                 DMA0_DST_STRIDE1=4)  # fmt: skip
    rows = np.arange(256, dtype=np.uint8).reshape(-1, 4)
    np.testing.assert_array_equal(out[:12], rows[[3, 2, 1]].ravel())


INDEXED = {
    **{"DMA0_SRC_REGION": 0x800, "DMA0_IDX_REGION": 2, "DMA0_IDX": 0, "DMA0_IDX_MAX": 3},
    "DMA0_SRC_STRIDE0": 16,
}


@pytest.mark.parametrize(
    ("rows", "reason"), [({}, "SIZE0"), ({"DMA0_SIZE0": 2}, "2 rows in one dimension")]
)
def test_one_row_by_index_is_counted(rows, reason):
    """A single row by index is counted, as Vela 5.1 does to fix SCATTER; 5.0 sets no count."""
    registers = {
        k: v for k, v in U85_DEFAULTS.items() if k.startswith("DMA0") and k != "DMA0_SIZE0"
    }
    content = stream().set(**registers | INDEXED | rows).op("DMA_START").stop()
    run(content, [*ROOM[:2], bytes(16), bytes(16)]).refused(reason)


@pytest.mark.parametrize("index", [4, -1])
def test_an_index_past_the_limit(index):
    content = stream().defaults(**INDEXED)
    indices = np.array([index], np.int32).tobytes()
    done = run(content.op("DMA_START").stop(), [*ROOM[:2], indices, bytes(16)])
    done.refused(f"has index {index} of row 0, at most 3", Outcome.BUS_ERROR)


def test_registers_of_the_dma_are_needed_only_where_they_are_used():
    unused = {"DMA0_SIZE0": 1}
    registers = {k: v for k, v in U85_DEFAULTS.items() if k.startswith("DMA0") and k not in unused}
    done = run(stream().set(**registers).op("DMA_START").stop())
    assert done.outcome is Outcome.STOPPED, done.log
