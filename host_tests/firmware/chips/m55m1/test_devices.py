# SPDX-License-Identifier: MIT
"""The emulated locks, clocks, flash, UART and DMA behave like the chip's."""

from collections.abc import Iterator

import pytest
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

BOARD = "NUMAKER_M55M1"

HELPERS = """
import emulator, machine, time, uctypes
from machine import mem32
SYS, CLK, FMC, UART, DMA = 0x40000000, 0x40001000, 0x40044000, 0x4024D000, 0x40005100
PAGE = 0x00278000  # of the ROM file system, which is empty
def keys(*values):
    for value in values: mem32[SYS + 0x100] = value
    return mem32[SYS + 0x100]
def unlock(): return keys(0) or keys(0x59, 0x16, 0x88)
def isp(command, address, *words, control=9):
    unlock()
    mem32[FMC] = control
    mem32[FMC + 0x0C] = command
    mem32[FMC + 0x04] = address
    mem32[FMC + 0x08] = words[0] if words else 0
    for at, word in enumerate(words): mem32[FMC + 0x80 + 4 * at] = word
    mem32[FMC + 0x10] = 1
    while mem32[FMC + 0x10]: pass
    failed = mem32[FMC] >> 6 & 1
    mem32[FMC + 0x40] = 0x40
    keys(0)
    return None if failed else mem32[FMC + 0x08] & 0xFFFFFFFF
def tick_cost():
    start = time.ticks_ms()
    while time.ticks_ms() == start: pass
    start, before = time.ticks_ms(), emulator.instructions()
    while time.ticks_diff(time.ticks_ms(), start) < 5: pass
    return emulator.instructions() - before
data = bytearray(256)
at = (uctypes.addressof(data) + 31) & ~31
def transfer(size, source=at, target=at + 64, control=0x200200, attributes=0xF0A44, **registers):
    mem32[DMA + 0x04] = 0xFFFF0000
    mem32[DMA + 0x08] = 3
    mem32[DMA + 0x0C] = control
    mem32[DMA + 0x10], mem32[DMA + 0x18] = source, target
    mem32[DMA + 0x20], mem32[DMA + 0x24] = size | size << 16, registers.get("size_high", 0)
    mem32[DMA + 0x28], mem32[DMA + 0x2C] = attributes, attributes
    mem32[DMA + 0x30], mem32[DMA + 0x78] = 0x10001, registers.get("link", 0)
    mem32[DMA] = 1
    time.sleep_ms(2)
    return mem32[DMA + 0x04], mem32[DMA + 0x90]
"""


@pytest.fixture(scope="module")
def chip(each_qemu: None) -> Iterator[QemuBoard]:
    """Return the board on each QEMU, with instruction-based time."""
    with QemuBoard(Machine(emulated(BOARD, coherence="off"), repeatable=True)) as board:
        board.exec(HELPERS)
        yield board


# --- System registers -----------------------------------------------------------------------------


def test_protected_registers_are_locked_until_the_key_is_written(chip):
    assert chip.eval("[keys(0), keys(0x59, 0x16, 0x16), keys(0x16, 0x88), unlock()]") == [
        0,
        0,
        0,
        1,
    ]
    chip.exec("keys(0)\nbefore = mem32[CLK]\nmem32[CLK] = 0xFF")
    assert chip.eval("mem32[CLK] == before") is True
    assert "system: register 0x40001000 is locked" in chip.machine.log()
    chip.exec("unlock()\nmem32[CLK] = before | 0x20")
    assert chip.eval("mem32[CLK] == before | 0x20") is True
    chip.exec("mem32[CLK] = before\nkeys(0)")


def test_the_core_runs_at_the_speed_that_was_set(chip):
    """SysTick follows the clock: 220 MHz from the PLL, 12 MHz directly from the oscillator."""
    chip.exec(
        "fast = tick_cost()\nunlock()\nmem32[CLK + 0x400] = 0\nslow = tick_cost()\n"
        "mem32[CLK + 0x400] = 4\nkeys(0)"
    )
    assert chip.eval("slow / fast") == pytest.approx(220 / 12, rel=0.03)


def test_settings_of_a_running_pll_are_ignored(chip):
    chip.exec("unlock()\nbefore = mem32[CLK + 0x18]\nmem32[CLK + 0x18] = 0\nkeys(0)")
    assert chip.eval("mem32[CLK + 0x18] == before") is True


def test_the_extension_unit_stays_on(chip):
    """The firmware sets CPDLPSTATE.ELPSTATE to 1, since the reset value, OFF, costs time."""
    assert chip.eval("mem32[0xE001E300]") == 0x313


# A register with a device's clock enable, its value with the clock off, and an address of the
# device. Without the UART's clock, the fault report causes a fault, too.
CLOCKED = {
    "NPU": (0x4000128C, 0, 0x40003000),
    "DMA": (0x40001240, 0, 0x40004FC8),
    "flash": (0x4000123C, 0, 0x40044000),
    "UART": (0x400012E0, 0, 0x4024D018),
    "SRAM2": (0x400012C0, 3, 0x20240000),
}


@pytest.mark.parametrize("device", CLOCKED)
def test_a_device_without_a_clock_does_not_respond(device):
    clock, value, address = CLOCKED[device]
    with QemuBoard(Machine(emulated(BOARD))) as board:
        board.exec("from machine import mem32")
        assert isinstance(board.eval(f"mem32[{address}]"), int)
        with pytest.raises(BoardError):
            board.exec(f"mem32[{clock}] = {value}\nprint(mem32[{address}])", timeout=0.5)
        seen = "Lockup" if device == "UART" else "bus error at data access"
        assert seen in board.machine.log()


# --- Flash ----------------------------------------------------------------------------------------


def test_a_program_clears_bits_and_an_erase_sets_them(chip):
    chip.exec("isp(0x22, PAGE)")
    assert chip.eval("[isp(0, PAGE), isp(0, PAGE + 8188)]") == [0xFFFFFFFF] * 2
    chip.exec("isp(0x21, PAGE, 0xF0F0FF00)\nisp(0x21, PAGE, 0xFF0FF0FF)")
    assert chip.eval("isp(0, PAGE)") == 0xF000F000
    chip.exec("isp(0x61, PAGE + 8, 0x01234567, 0x89ABCDEF)")
    assert chip.eval("[isp(0, PAGE + 4 * word) for word in range(1, 5)]") == [
        0xFFFFFFFF, 0x01234567, 0x89ABCDEF, 0xFFFFFFFF
    ]  # fmt: skip
    assert chip.eval("mem32[PAGE + 8]") == 0x01234567
    chip.exec("isp(0x22, PAGE)")
    assert chip.eval("isp(0, PAGE)") == 0xFFFFFFFF


@pytest.mark.parametrize(
    "wrong",
    [
        "0x21, PAGE + 2, 0",
        "0x61, PAGE + 4, 0, 0",
        "0x22, PAGE + 4096",
        "0x22, 0x00300000",
        "0x21, 0x20100000, 0",
        "0x33, PAGE",
        "0x22, PAGE, control=1",
        "0x22, PAGE, control=8",
    ],
    ids=["word", "double word", "page", "behind", "RAM", "command", "no update", "off"],
)
def test_unsupported_flash_operations_fail(chip, wrong):
    assert chip.eval(f"isp({wrong})") is None
    assert "flash: command " in chip.machine.log()


def test_a_locked_controller_does_nothing(chip):
    chip.exec("isp(0x22, PAGE)\nmem32[FMC + 0x0C] = 0x21\nmem32[FMC + 0x10] = 1")
    assert chip.eval("isp(0, PAGE)") == 0xFFFFFFFF
    assert "flash: register 0x10 is locked" in chip.machine.log()


def test_the_unique_id_is_the_chips(chip):
    words = chip.eval("[isp(4, 4 * word) for word in range(3)]")
    number = b"".join(word.to_bytes(4, "little") for word in words)
    assert chip.eval("machine.unique_id()") == number


# --- UART -----------------------------------------------------------------------------------------


def test_the_prompt_is_on_the_uart():
    """No byte is lost in either direction, beyond the size of the FIFO."""
    data = bytes(range(256)) * 16
    with QemuBoard(Machine(emulated(BOARD, console="uart"))) as board:
        board.write_file("/bytes", data)
        assert board.read_file("/bytes") == data


@pytest.mark.parametrize(
    ("register", "value", "reason"),
    [
        (0x4024D024, 0x30000005, "the speed is not a standard baud rate"),
        (0x4024D00C, 0x0000000B, "the format is not eight bits without parity"),
        (0x4000031C, 0x00000000, "no pin is connected"),
    ],
    ids=["speed", "format", "pins"],
)
def test_a_uart_that_is_set_up_wrongly_loses_bytes(chip, register, value, reason):
    message = f"uart: {reason}: bytes are lost"
    assert message not in chip.machine.log()
    chip.exec(f"before = mem32[{register}]\nmem32[UART] = 65\nmem32[{register}] = {value}")
    chip.exec(f"mem32[UART] = 66\nmem32[{register}] = before\nmem32[UART] = 67")
    assert chip.machine.log().count(message) == 1


def test_uart_interrupts_follow_what_is_enabled(chip):
    """When nothing is left to send, the UART interrupts only if that interrupt is enabled."""
    chip.exec(
        "before = mem32[UART + 4]\nirq = machine.disable_irq()\nnone = mem32[UART + 0x1C]\n"
        "mem32[UART + 4] = 3\nboth = mem32[UART + 0x1C]\nmem32[UART + 4] = before\n"
        "machine.enable_irq(irq)"
    )
    assert chip.eval("[none, both]") == [1 << 1, 1 << 1 | 1 << 9]
    assert chip.eval("mem32[UART + 0x18] & 0x00C0C000") == 1 << 14 | 1 << 22


# --- DMA ------------------------------------------------------------------------------------------

DONE, ERROR = (1 << 16 | 1, 0), 1 << 17 | 1 << 1


def test_a_channel_copies(chip):
    chip.exec("uctypes.bytearray_at(at, 8)[:] = b'new ones'")
    assert chip.eval("transfer(8)") == DONE
    assert chip.eval("bytes(uctypes.bytearray_at(at + 64, 8))") == b"new ones"
    assert chip.eval("transfer(1, control=0x200203)") == DONE


@pytest.mark.parametrize(
    ("registers", "error"),
    [
        ("attributes=0xF0E44", 1),
        ("source=0x20000000", 1),
        ("target=0x00100000", 1),
        ("source=at + 1, control=0x200202", 2),
        ("control=0x200204", 2),
        ("control=0x200600", 2),
        ("size_high=0x10001", 2),
        ("link=1", 2),
    ],
    ids=["not secure", "TCM", "flash", "alignment", "width", "fill", "size", "link"],
)
def test_a_channel_reports_unsupported_settings(chip, registers, error):
    assert chip.eval(f"transfer(8, {registers})") == (ERROR, error)


def test_a_channel_is_stopped(chip):
    chip.exec("emulator.fault('dma.hang')")
    assert chip.eval("[transfer(8)[0], mem32[DMA]]") == [0, 1]
    chip.exec("mem32[DMA] = 8")
    assert chip.eval("[mem32[DMA + 4], mem32[DMA]]") == [1 << 19, 0]
    assert chip.eval("transfer(8)") == DONE
