# SPDX-License-Identifier: MIT
"""DMA copies tensors of all sizes and alignments, and reports errors, on each board."""

import os
import struct
from collections.abc import Iterator

import pytest
from ethosu_tools import boards
from ethosu_tools.boards import coherence
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model.make_model import Net

from host_tests.firmware.conftest import start
from host_tests.kit import board_models, firmware_image
from host_tests.kit.models.reference_cases import make_case

from . import EACH_DMA

E7 = "ALIF_ENSEMBLE_E7-M55_HP"
TCM_BYTES = 4096

# Copies inside a frame of other bytes; `changes` returns the counters' changes since the last call.
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
# Sizes around a cache line, the maximum bytes, halfwords and words, a list, and the threshold.
SIZES = (0, 1, 31, 32, 735, 4095, 4096, 8191, 16379, 16381, 33000, 65536)


@pytest.fixture(scope="module", params=EACH_DMA)
def running(request: pytest.FixtureRequest, each_qemu: None) -> Iterator[QemuBoard]:
    """Return each board in turn."""
    with QemuBoard(Machine(emulated(request.param))) as board:
        yield board


@pytest.fixture
def copies(running: QemuBoard) -> QemuBoard:
    """Return the board after a soft reset, with the helpers."""
    running.soft_reset()
    running.exec("import dma, emulator, ethosu, machine\ndma.enable(True)\n" + HELPERS)
    return running


def name_of(board: QemuBoard) -> str:
    return board.machine.board.name


def free_tcm(board: str) -> int:
    """Return the address of TCM_BYTES after the stacks in the same TCM."""
    return firmware_image.of(board).stack.end - TCM_BYTES


def least(board: QemuBoard) -> int:
    """Return the minimum size in bytes for DMA, from board.toml."""
    field = "least" if os.environ[coherence.VARIABLE] == "off" else "least_cached"
    return boards.table(name_of(board))["dma"][field]


def test_every_size_and_alignment(copies):
    threshold = least(copies)
    sizes = (*SIZES, threshold - 1, threshold, threshold + 1)
    offsets = "[(0, 0), (0, 1), (0, 2), (0, 4), (1, 0), (3, 3), (31, 2), (2, 29)]"
    copies.exec(
        f"wrong = [(size, to, source) for size in {sizes} for to, source in {offsets}"
        " if not copy(size, to, source)]",
        timeout=60,
    )
    assert copies.eval("wrong") == []
    by_dma = sum(size >= threshold for size in sizes) * 8
    changes = copies.eval("changes()")
    assert changes["transfers"] == by_dma
    assert changes["cpu_copies"] == len(sizes) * 8 - by_dma
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


def test_a_controller_that_never_ends_a_transfer_is_left_alone(copies):
    copies.exec("emulator.fault('dma.hang', 9)")
    assert copies.eval("[copy(5000) for _ in range(5)]") == [True] * 5
    assert copies.eval("changes()") == {"timeouts": 3, "cpu_copies": 2, "cpu_bytes": 10000}
    assert copies.eval("(dma.enable(True), copy(5000))") == (True, True)
    assert copies.eval("changes()['timeouts']") == 1
    copies.exec("emulator.fault('dma.hang', 0)")


def test_disabled(copies):
    assert copies.eval("dma.enable(False)") is False
    assert copies.eval("copy(5000)") is True
    assert copies.eval("changes()") == {"cpu_copies": 1, "cpu_bytes": 5000}
    assert copies.eval("dma.enable(True)") is True


def test_with_interrupts_masked(copies):
    """A copy with masked interrupts, as early in the start-up, must not sleep for ever."""
    copies.exec("state = machine.disable_irq()\nright = copy(5000)\nmachine.enable_irq(state)")
    assert copies.eval("right") is True
    assert copies.eval("changes()") == {"cpu_copies": 1, "cpu_bytes": 5000}


@pytest.mark.parametrize("direction", ["from", "to"])
def test_tightly_coupled_memory(copies, direction):
    """DMA copies TCM if bus masters can access it, otherwise the CPU does."""
    address, stack = free_tcm(name_of(copies)), firmware_image.of(name_of(copies)).stack
    copies.exec(
        f"tcm = uctypes.bytearray_at({address}, {TCM_BYTES})\nheap = bytearray({TCM_BYTES})"
    )
    ends = "heap, tcm" if direction == "from" else "tcm, heap"
    copies.exec(f"for at in range({TCM_BYTES}): tcm[at] = at & 255; heap[at] = at >> 4 & 255")
    copies.exec(f"dma.copy({ends})")
    assert copies.eval("tcm == heap") is True
    kind, size = ("transfers", "transfer_bytes") if stack.dma_reads else ("cpu_copies", "cpu_bytes")
    assert copies.eval("changes()") == {kind: 1, size: TCM_BYTES}


def test_read_only_memory_is_a_source(copies):
    rows = firmware_image.of(name_of(copies)).memories
    address = next(row.start for row in rows if row.dma_reads and not row.dma_writes)
    copies.exec(f"rom = uctypes.bytearray_at({address}, 4096)\ntarget = bytearray(b'x' * 4096)")
    copies.exec("dma.copy(target, rom)")
    assert copies.eval("target == rom") is True
    assert copies.eval("changes()") == {"transfers": 1, "transfer_bytes": 4096}


def test_sizes_have_to_agree(copies):
    error = board_models.raised(copies, "dma.copy(bytearray(5), bytes(6))")
    assert error == "ValueError target has 5 bytes, source 6"


def test_without_a_controller(repo, build_dir):
    """Without a controller, as on stock QEMU, the CPU copies."""
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
    """Return a model whose input the DMA controller copies, with the cache on or off."""
    net = Net("wide", 1)
    x = net.conv(net.input((1, 32, 32, 3)), 8, kernel=(3, 3), stride=(4, 4))
    path = tmp_path_factory.mktemp("wide") / "wide.tflite"
    path.write_bytes(net.finish(x))
    return make_case(path, 1, extremes=False)


def test_inference_is_exact_by_dma_and_by_cpu(copies, compiled, wide_case):
    model = compiled(wide_case.model, copies.machine.npu)
    copies.write_file("/m.tflite", model.read_bytes())
    copies.exec(f"x = bytearray({wide_case.inputs[0][0].tobytes()!r})")
    copies.exec("m = ethosu.Model('/m.tflite')\nchanges()")
    expected = wide_case.outputs[0][0].tobytes()
    assert copies.eval("bytes(m.predict([x])[0])") == expected
    by_dma = copies.eval("changes()")
    assert by_dma["transfers"] >= 1, "the input is large enough"
    copies.exec("dma.enable(False)")
    assert copies.eval("bytes(m.predict([x])[0])") == expected
    by_cpu = copies.eval("changes()")
    assert "transfers" not in by_cpu and by_cpu["cpu_bytes"] > by_dma["transfer_bytes"]


def test_sleep_during_a_copy(running):
    """The CPU sleeps during a copy; time is based on instructions, as the host may be busy."""
    with QemuBoard(Machine(emulated(running.machine.board.name), repeatable=True)) as board:
        board.exec("import dma, emulator\n" + HELPERS)
        board.exec(
            "slept = 0\nfor _ in range(20):\n    copy(65536)\n    slept += emulator.dma_slept()"
        )
        assert board.eval("slept") >= 10, "now and then the tick of the clock has woken it"


# --- The DMA-330 of the Ensemble E7 ---------------------------------------------------------------

on_the_e7 = pytest.mark.parametrize("running", [E7], indirect=True)

# Runs a hand-written controller program on the channel that the firmware uses.
RUN = """
def run(program):
    at = uctypes.bytearray_at({tcm}, len(program))
    at[:] = program
    while machine.mem32[0x400C0D00] & 1: pass
    machine.mem32[0x400C0D08] = 0xA0 << 16
    machine.mem32[0x400C0D0C] = {tcm} + 0x30800000
    machine.mem32[0x400C0D04] = 0
"""


def copy_program(source: int, target: int) -> bytes:
    """Write a program: DMAMOV of both addresses and the control word, an 8-byte burst, DMAEND."""
    moves = ((0, source), (2, target), (1, 1 | 3 << 1 | (1 | 3 << 1) << 14))
    return b"".join(struct.pack("<BBI", 0xBC, *move) for move in moves) + b"\x04\x08\x13\x00"


@pytest.fixture
def e7(copies):
    tcm = free_tcm(E7)
    copies.exec(RUN.format(tcm=tcm) + f"data = uctypes.bytearray_at({tcm + 1024}, 16)")
    copies.exec("data[:] = b'new ones' + b'old ones'")
    return copies


@on_the_e7
@pytest.mark.parametrize("end", ["read", "write"])
def test_tcm_is_not_at_the_cpu_s_address(e7, end):
    """With the CPU's address of TCM, the channel faults and the emulator reports the address."""
    address = free_tcm(E7) + 1024
    source, target = address + 0x30800000, address + 8 + 0x30800000
    wrong = address if end == "read" else address + 8
    ends = (wrong, target) if end == "read" else (source, wrong)
    e7.exec(f"run({copy_program(*ends)!r})\nimport time\ntime.sleep_ms(2)")
    assert e7.eval("bytes(data[8:])") == b"old ones"
    assert f"dma: channel 0 can't {end} memory at {wrong:#010x}" in e7.machine.log()
    e7.exec(f"run({copy_program(source, target)!r})\ntime.sleep_ms(2)")
    assert e7.eval("bytes(data[8:])") == b"new ones"


@on_the_e7
def test_a_manager_that_was_not_reset_starts_nothing(e7):
    e7.exec("machine.mem32[0x400F0000] = 0")
    assert e7.eval("copy(5000)") is True
    e7.exec("machine.mem32[0x400F0000] = 1 << 16")
    assert e7.eval("copy(5000)") is True
    assert e7.eval("changes()") == {"errors": 1, "transfers": 1, "transfer_bytes": 5000}


# The register with the controller's clock enable, and its value with the clock off.
CLOCKS = {
    "ALIF_ENSEMBLE_E7-M55_HP": (0x400F0010, 1),
    "ALIF_ENSEMBLE_E7-M55_HE": (0x43007010, 1),
    "ALIF_ENSEMBLE_E8-M55_HP": (0x400F0010, 1),
    "NUMAKER_M55M1": (0x40001240, 0),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_without_its_clock_the_cpu_copies(name):
    """Without the controller's clock, enable() returns False, and the CPU copies."""
    register, value = CLOCKS[name]
    with QemuBoard(Machine(emulated(name))) as board:
        board.exec(f"import dma, machine\nmachine.mem32[{register}] = {value}\n" + HELPERS)
        assert board.eval("dma.enable(True)") is False
        assert board.eval("[copy(size) for size in (100, 65536)]") == [True] * 2
        assert board.eval("changes()") == {"cpu_copies": 2, "cpu_bytes": 65636}
