# SPDX-License-Identifier: MIT
"""The firmware uses no memory or device that is off; such an access faults."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards import files
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import sharing
from host_tests.kit.board_models import raised

HP, HE = "ALIF_ENSEMBLE_E7-M55_HP", "ALIF_ENSEMBLE_E7-M55_HE"
# The Secure Enclave switches this memory on, on request.
SRAM8 = 0x63200000
CLOCKS, SRAM1_CLOCK, SRAM1 = 0x1A602014, 1 << 28, 0x08000000
FORCE = 0x4902F000
UNPROTECTED = "from machine import mem32\nmem32[0xE000ED94] = 0\n"


def never_on(repo, name: str, changes: dict[str, Any] | None = None) -> set[str]:
    """Return memories that the firmware uses but never switches on, by name."""
    table = files.over(boards.table(name), changes or {})
    program = sharing.script(repo / "tools/qemu_plugin/board_table.py")
    emulated = dict(program.tables(repo / "tools/qemu_plugin/boards"))[name]
    spans = [table[key] for key in ("heap", "ramdisk", "romfs", "disk") if key in table]
    spans += [*table["regions"].values(), table["qemu"]["window"]]
    return {
        memory
        for memory, row in emulated["memories"].items()
        for span in spans
        if row.get("power") == "never" and "size" in row
        and span["start"] < row["base"] + row["size"]
        and row["base"] < span["start"] + span["size"]
    }  # fmt: skip


@pytest.mark.parametrize("name", [name for name in boards.names() if boards.load(name).qemu])
def test_no_board_uses_a_memory_that_it_does_not_switch_on(repo, name):
    assert never_on(repo, name) == set()


def test_the_heap_in_such_a_memory_is_found(repo):
    assert never_on(repo, HE, {"heap": {"start": SRAM8, "size": 0x200000}}) == {"SRAM8"}


def test_the_two_cores_share_no_memory():
    """Both images can run at the same time: they share only registers and read-only MRAM."""
    used = []
    for name in (HP, HE):
        table = boards.table(name)
        spans = [table[key] for key in ("heap", "ramdisk", "romfs", "disk")]
        spans += [table["regions"]["VECTORS"], table["regions"]["CODE"]]
        used.append([(span["start"], span["start"] + span["size"]) for span in spans])
    tcm = range(0x20000000, 0x20100000)  # each core has its own
    for start, end in used[0]:
        for first, last in used[1]:
            assert start in tcm or end <= first or last <= start, hex(max(start, first))


@pytest.fixture
def cores(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """Return a board that the test breaks."""
    with QemuBoard(Machine(emulated(request.param, coherence="off"))) as board:
        yield board


def dies(board: QemuBoard, code: str) -> str:
    """Run code that ends in a fault report; returns the emulator's log."""
    with pytest.raises(BoardError):
        board.exec(code, timeout=0.5)
    return board.machine.log()


@pytest.mark.parametrize("cores", [HP, HE], indirect=True)
def test_a_memory_that_is_never_on_is_a_bus_fault(cores):
    log = dies(cores, UNPROTECTED + f"mem32[{SRAM8}]")
    assert "bus error at data access" in log and f"address: {SRAM8:#x}" in log


@pytest.mark.parametrize("cores", ["OPENMV_AE3-M55_HE"], indirect=True)
def test_the_firmware_that_starts_the_ae3s_second_core_has_it_on(cores):
    cores.exec(f"from machine import mem32\nmem32[{SRAM8}]")


@pytest.mark.parametrize("cores", [HE], indirect=True)
def test_the_heap_without_its_clock_is_a_bus_fault(cores):
    log = dies(cores, f"from machine import mem32\nmem32[{CLOCKS}] ^= {SRAM1_CLOCK}")
    assert "bus error" in log


# The NPU copies 1,024 bytes.
COPY = f"""
import ethosu, struct, uctypes
words = (0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 1024, 0x10, 0x11, 0xFFFF0000)
job = struct.pack('<4sIII11I', b'COP1', 5, 5, 2 | 11 << 16, *words)
off, target = uctypes.bytearray_at({SRAM1}, 1024), ethosu.buffer(1024)
def copy():
    with ethosu.reserve(timeout_ms=1000) as npu:
        npu.invoke(job, [off, target], timeout_ms=1000)
"""


@pytest.mark.parametrize("cores", [HP], indirect=True)
def test_a_memory_without_its_clock_is_a_bus_error_of_the_npu(cores):
    cores.exec(COPY + "from machine import mem32\noff[:] = bytes(range(256)) * 4\n")
    assert cores.eval("[copy(), target == off]") == [None, True]
    cores.exec(f"mem32[{CLOCKS}] ^= {SRAM1_CLOCK}")
    assert "bus error" in raised(cores, "copy()")
    assert "SRAM1 is off" in cores.machine.log()
    cores.exec(f"mem32[{CLOCKS}] ^= {SRAM1_CLOCK}")
    assert raised(cores, "copy()") == "nothing"


@pytest.mark.parametrize("cores", [HP, HE], indirect=True)
@pytest.mark.parametrize("bit", [30, 31])
def test_the_uart_needs_the_forced_clocks(cores, bit):
    assert cores.eval(f"__import__('machine').mem32[{FORCE}] >> 30 & 3") == 3
    code = f"from machine import mem32\nmem32[{FORCE}] ^= {1 << bit}\nmem32[{{}}]"
    uart = {HP: 0x4901C000, HE: 0x4901A000}[cores.machine.board.name]
    assert "Lockup" in dies(cores, code.format(uart))  # the fault report faults, too


def test_the_table_has_reset_values(repo):
    """The emulator's reset values are those of the SVD, in which both SRAMs have their clock."""
    file = tomllib.loads((repo / "tools/qemu_plugin/boards/alif_ensemble.toml").read_text())
    assert file["after_reset"][f"{CLOCKS:#010X}".replace("X", "x")] & SRAM1_CLOCK
