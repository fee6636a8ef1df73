# SPDX-License-Identifier: MIT
"""A fault gives a readable report, then the board works again."""

import pytest

from host_tests.kit import firmware_image, sharing
from host_tests.kit.firmware_image import Cpu

# Each line causes one fault; `call` jumps to an address.
PROGRAMS = {
    "read of null": (
        "import machine; machine.mem32[0]",
        [
            "MemManage, exception 4, in the main program",
            "forbidden data access",
            "address: 0x00000000",
        ],
    ),
    "write to a null structure's member": (
        "import machine; machine.mem32[0x100] = 1",
        ["MemManage", "forbidden data access", "address: 0x00000100"],
    ),
    "write to code": (
        "import machine; machine.mem32[{code}] = 1",
        ["MemManage", "forbidden data access", "address: {code}"],
    ),
    "memory that is not there": (
        "import machine; machine.mem32[0x90000000]",
        ["MemManage", "forbidden data access", "address: 0x90000000"],
    ),
    "register that is not there": (
        "import machine; machine.mem32[{registers}]",
        ["BusFault", "bus error at data access", "address: {registers}"],
    ),
    "call of null": ("call(0)", ["Fault: ", "pc  00000000"]),
    "call of data": ("call({data})", ["MemManage", "code fetched from a forbidden address"]),
    "division by zero": (
        "@micropython.asm_thumb\ndef f(r0, r1):\n sdiv(r0, r0, r1)\nf(1, 0)",
        ["UsageFault", "division by zero"],
    ),
    "endless recursion in machine code": (
        "@micropython.asm_thumb\ndef f(r0):\n label(again)\n push({r0, r1})\n b(again)\nf(1)",
        ["UsageFault", "stack overflow"],
    ),
    "exception that nobody handles": (
        "import machine; machine.mem32[0xe000ed04] = 1 << 28",  # PendSV
        ["exception 14, in the main program"],
    ),
}


def with_addresses(text: str) -> str:
    """Fill in a text of the table with addresses of the board under test."""
    image = firmware_image.of()
    code = next(row for row in image.memories if row.cpu == Cpu.CODE)
    registers = [row for row in image.memories if row.cpu == Cpu.REGISTERS]
    largest = max(registers, key=lambda row: row.end - row.start)
    text = text.replace("{data}", f"{image.stack.start + 0x1001:#010x}")  # bit 0: Thumb
    text = text.replace("{code}", f"{code.start + 0x100:#010x}")
    return text.replace("{registers}", f"{largest.end - 4:#010x}")


CALL = "@micropython.asm_thumb\ndef call(r0):\n bx(r0)\n"


def report_after(stock, program: str) -> str:
    """Return the output from the fault to the prompt after the reset."""
    with stock.terminal() as terminal:
        terminal.write(b"\r\x03\x03\x01")
        terminal.read_until(b"raw REPL; CTRL-B to exit\r\n>")
        terminal.write((CALL + program).encode() + b"\x04")
        return terminal.read_until(b"\n>>> ").decode()


@pytest.mark.parametrize("name", PROGRAMS)
def test_report(stock, name):
    program, expected = PROGRAMS[name]
    report = report_after(stock, with_addresses(program))
    for words in map(with_addresses, expected):
        assert words in report
    assert "*** The board resets" in report
    assert "MicroPython v" in report.partition("*** The board resets")[2]


def test_report_names_the_location(stock, firmware):
    report = report_after(stock, PROGRAMS["read of null"][0])
    command = report.partition("where: ")[2].splitlines()[0].replace("firmware.elf", str(firmware))
    place = sharing.run(command.split())
    assert "machine_mem" in place


def test_a_main_program_that_faults_is_skipped_once(stock):
    """A main program that faults at each start must not make the board unreachable."""
    with stock.board() as board:
        board.write_file("main.py", b"import machine\nmachine.mem32[0]\n")
    with stock.terminal() as terminal:
        terminal.write(b"\r\x03\x03\x02")
        terminal.read_until(b"\n>>> ")
        terminal.write(b"import machine; machine.reset()\r")
        assert b"main.py are skipped once" in terminal.read_until(b"skipped once")
        assert b"MicroPython v" in terminal.read_until(b"\n>>> ")
    with stock.board() as board:
        board.exec("import os; os.remove('main.py')")
