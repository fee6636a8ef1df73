# SPDX-License-Identifier: MIT
"""Tensors copied by DMA: every size and alignment, errors, and where the CPU has to do it."""

import os

import pytest
from ethosu_tools import coherence
from ethosu_tools.board import Board
from ethosu_tools.make_model import Net
from ethosu_tools.tflite.writer import write
from firmware.conftest import start
from modules.ethosu.runtime.reference_cases import make_case

from modules.ethosu.runtime import board_models

# Copies within a frame of other bytes; `changes` of the counters since the last look.
HELPERS = """
import uctypes
store = bytes(range(251)) * 400
frame = bytearray(len(store))
def lined(data): return memoryview(data)[-uctypes.addressof(data) % 32:]
def copy(size, target_offset=0, source_offset=0):
    source = lined(store)[source_offset:source_offset + size]
    around = lined(frame)
    for at in range(64 + target_offset): around[at] = 0xA5
    target = around[64 + target_offset:64 + target_offset + size]
    behind = around[64 + target_offset + size:128 + target_offset + size]
    for at in range(64): behind[at] = 0xA5
    if size: target[0] = source[0] ^ 255; target[-1] = source[-1] ^ 255; target[size // 2] ^= 255
    dma.copy(target, source)
    return (target == source and all(byte == 0xA5 for byte in behind)
        and all(byte == 0xA5 for byte in around[:64 + target_offset]))
last = dma.counters()
def changes():
    global last
    before, last = last, dma.counters()
    return {name: last[name] - before[name] for name in last if last[name] != before[name]}
"""
# Around a line, the threshold, a piece of bytes, halfwords and words, and a list.
SIZES = (0, 1, 31, 32, 703, 704, 705, 735, 2559, 2560, 4095, 4096, 8191, 16379, 16381, 33000, 65536)


@pytest.fixture
def copies(each):
    each.exec(HELPERS)
    return each


@pytest.fixture
def local(two_npus):
    two_npus.exec(HELPERS)
    return two_npus


def test_every_size_and_alignment(copies):
    offsets = "[(0, 0), (0, 1), (0, 2), (1, 0), (3, 3), (31, 2), (2, 29)]"
    copies.exec(
        f"wrong = [(size, to, source) for size in {SIZES} for to, source in {offsets}"
        " if not copy(size, to, source)]",
        timeout=60,
    )
    assert copies.eval("wrong") == []
    least = 704 if os.environ[coherence.VARIABLE] == "off" else 2560
    by_dma = sum(size >= least for size in SIZES) * 7
    changes = copies.eval("changes()")
    assert changes["transfers"] == by_dma
    assert changes["cpu_copies"] == len(SIZES) * 7 - by_dma
    assert "errors" not in changes and "timeouts" not in changes


@pytest.mark.parametrize("fault", ["bus-error", "abort"])
def test_error_leaves_the_copy_to_the_cpu(copies, fault):
    copies.exec(f"emulator.fault('dma.{fault}', 2)")
    assert copies.eval("[copy(5000, 1, 2) for _ in range(3)]") == [True] * 3
    assert copies.eval("changes()") == {"errors": 2, "transfers": 1, "transfer_bytes": 5000}


@pytest.mark.parametrize("fault", ["hang", "irq-lost"])
def test_transfer_that_never_ends(copies, fault):
    copies.exec(f"emulator.fault('dma.{fault}')")
    assert copies.eval("[copy(5000), copy(5000)]") == [True, True]
    assert copies.eval("changes()") == {"timeouts": 1, "transfers": 1, "transfer_bytes": 5000}


def test_disabled(local):
    assert local.eval("dma.enable(False)") is False
    assert local.eval("copy(5000)") is True
    assert local.eval("changes()") == {"cpu_copies": 1, "cpu_bytes": 5000}
    assert local.eval("dma.enable(True)") is True


def test_with_interrupts_masked(local):
    """Nobody would wake the CPU: so it is before the start-up enables interrupts, too."""
    local.exec("state = machine.disable_irq()\nright = copy(5000)\nmachine.enable_irq(state)")
    assert local.eval("right") is True
    assert local.eval("changes()") == {"cpu_copies": 1, "cpu_bytes": 5000}


@pytest.mark.parametrize("direction", ["from", "to"])
def test_tightly_coupled_memory_is_the_cpu_s(local, direction):
    local.exec("tcm = uctypes.bytearray_at(0x20070000, 4096)\nheap = bytearray(4096)")
    ends = "heap, tcm" if direction == "from" else "tcm, heap"
    local.exec("for at in range(4096): tcm[at] = at & 255; heap[at] = at >> 4 & 255")
    local.exec(f"dma.copy({ends})")
    assert local.eval("tcm == heap") is True
    assert local.eval("changes()") == {"cpu_copies": 1, "cpu_bytes": 4096}


def test_read_only_memory_is_a_source(local):
    local.exec("rom = uctypes.bytearray_at(0x28000000, 4096)\ntarget = bytearray(b'x' * 4096)")
    local.exec("dma.copy(target, rom)")
    assert local.eval("target == rom") is True
    assert local.eval("changes()") == {"transfers": 1, "transfer_bytes": 4096}


def test_sizes_have_to_agree(local):
    error = board_models.raised(local, "dma.copy(bytearray(5), bytes(6))")
    assert error == "ValueError target has 5 bytes, source 6"


def test_without_a_controller(repo, build_dir):
    """QEMU as it comes has nothing at that address."""
    with (
        start(build_dir / "firmware/MPS3_AN547/firmware.elf") as uart,
        Board(uart.port) as board,
    ):
        board.exec("import dma\n" + HELPERS)
        assert board.eval("dma.enable()") is False
        assert board.eval("copy(5000, 1, 2)") is True
        assert board.eval("changes()") == {"cpu_copies": 1, "cpu_bytes": 5000}


@pytest.fixture(scope="module")
def wide_case(tmp_path_factory):
    """A model whose input the DMA controller copies, whether the cache is on or off."""
    net = Net("wide", 1)
    x = net.conv(net.input((1, 32, 32, 3)), 8, kernel=(3, 3), stride=(4, 4))
    net.graph.outputs.append(x.tensor)
    path = tmp_path_factory.mktemp("wide") / "wide.tflite"
    path.write_bytes(write([net.graph], "random weights"))
    return make_case(path, 1, extremes=False)


def test_inference_is_exact_by_dma_and_by_cpu(each, load, wide_case):
    load(each, wide_case)
    each.exec(HELPERS)
    assert each.eval("right()")
    by_dma = each.eval("changes()")
    assert by_dma["transfers"] >= 1, "the input is large enough"
    each.exec("dma.enable(False)")
    assert each.eval("right()")
    by_cpu = each.eval("changes()")
    assert "transfers" not in by_cpu and by_cpu["cpu_bytes"] > by_dma["transfer_bytes"]


def test_sleep_during_a_copy(local):
    """Now and then the tick of the clock has woken the CPU just then."""
    local.exec(
        "slept = 0\n"
        "for _ in range(20):\n"
        "    dma.copy(frame, store)\n"
        "    slept += emulator.dma_slept()"
    )
    assert local.eval("slept") > 0
