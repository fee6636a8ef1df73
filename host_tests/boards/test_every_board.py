# SPDX-License-Identifier: MIT
"""Every emulated board boots, keeps files, and starts from any state, on each QEMU.

The whole suite runs on one of them with `--board NAME`.
"""

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.deploy import deploy
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import firmware_image, matrix
from host_tests.kit.board_models import put, raised, restart, run_until
from host_tests.kit.lines import uart

EMULATED = [name for name in boards.names() if boards.load(name).qemu]
ROM = {"a.txt": b"hello"}


# All boards on the installed QEMU; on the newest, one board per QEMU machine.
ROWS = matrix.on_each_qemu(
    EMULATED,
    installed=EMULATED,
    newest=matrix.one_of_each(EMULATED, lambda name: boards.load(name).qemu.machine),
)


def pytest_generate_tests(metafunc):
    if "every_board" in metafunc.fixturenames:
        metafunc.parametrize(("each_qemu", "every_board"), ROWS, indirect=True, scope="module")


@pytest.fixture(scope="module")
def each_qemu(request, record_testsuite_property):
    yield from matrix.use_qemu(request, record_testsuite_property)


@pytest.fixture(scope="module")
def every_board(request, each_qemu):
    """Each board in turn, just booted, with a file in its ROM."""
    with QemuBoard(Machine(emulated(request.param), romfs=romfs.build(ROM))) as board:
        yield board


def test_it_is_as_its_folder_says(every_board):
    """The board has the name, NPUs and ROM of its board.toml; QEMU warns of no old option."""
    facts = every_board.machine.board
    assert "deprecated" not in every_board.machine.log()
    assert every_board.eval("__import__('sys').implementation._build") == facts.name
    assert every_board.eval("__import__('ethosu').npus()") == list(facts.npus)
    assert every_board.read_file("/rom/a.txt") == ROM["a.txt"]
    assert every_board.eval("len(__import__('vfs').rom_ioctl(2, 0))") == facts.romfs.size


def test_it_boots_to_the_prompt_on_its_uart(each_qemu, every_board, record_property):
    """After the reset button, a command can be typed on the UART."""
    facts = every_board.machine.board
    with (
        Machine(emulated(facts.name, console="uart")) as machine,
        uart.at_prompt(machine) as terminal,
    ):
        terminal.write(b"'rea' + 'dy'\r")
        terminal.read_until(b"'ready'\r\n>>> ")
        machine.reset()
        text = terminal.read_until(b"\n>>> ")
        terminal.write(b"import ethosu; ethosu.npus()\r")
        text += terminal.read_until(b"\n>>> ")
    record_property("transcript", text.decode().replace("\r", ""))
    record_property("image", firmware_image.digest(machine.image))
    name = every_board.eval("__import__('os').uname().machine").encode()
    assert b"MicroPython v" in text and b"; " + name + b"\r\n" in text
    assert str(list(facts.npus)).encode() in text


def test_it_starts_as_its_chip(each_qemu, every_board, record_property):
    """Without the emulator's registers, the image accesses no address that the chip lacks.

    Otherwise the bus never answers, which ends QEMU. The MPS3 is no chip, and probes for an NPU.
    """
    facts = every_board.machine.board
    unmapped = "silent" if facts.flash else "error"
    with QemuBoard(
        Machine(emulated(facts.name, as_chip=True), plugin_options=[f"unmapped={unmapped}"])
    ) as board:
        record_property("image", firmware_image.digest(board.machine.image))
        assert board.eval("__import__('ethosu').npus()") == list(facts.npus)
        assert "not running on QEMU" in raised(board, "__import__('emulator')")


def test_its_root_is_writable_and_survives_resets(every_board):
    content = bytes(range(256)) * 64
    every_board.write_file("/kept.bin", content)
    for reset in (lambda: None, every_board.reset, lambda: restart(every_board)):
        reset()
        assert every_board.read_file("/kept.bin") == content


def test_its_flash_survives_without_power(every_board):
    every_board.exec("import emulator, time")
    every_board.write_file("/kept.bin", b"kept" * 1000)
    every_board.start("emulator.fault('board.power-loss')\ntime.sleep(60)")
    every_board.reconnect()
    every_board.exec("import machine, os")
    flash = raised(every_board, "machine.Flash()") == "nothing"
    assert every_board.eval("'kept.bin' in os.listdir('/')") is flash
    assert every_board.read_file("/rom/a.txt") == ROM["a.txt"]


def test_it_reports_the_reset_cause(every_board):
    restart(every_board)
    every_board.exec("import machine")
    assert every_board.eval("machine.reset_cause() == machine.HARD_RESET")
    run_until(every_board, b"*** Fault: ", "machine.mem32[0]")
    every_board.reconnect()
    every_board.exec("import machine")
    assert every_board.eval("machine.reset_cause() == machine.FAULT_RESET")


# State that a boot loader may leave: an MPU that forbids the firmware's accesses, another vector
# table, masked interrupts, SysTick and interrupts enabled and pending, interrupts given to the
# non-secure state (NVIC_ITNS), and a CPU that sleeps deeply or when a handler ends (SCR).
LEFT = """
import machine, micropython, time
from machine import mem32
left = 1
@micropython.asm_thumb
def go(r0, r1, r2, r3):
    movwt(r4, 0xE000ED08)
    str(r1, [r4, 0])
    movwt(r4, 0xE000ED9C)
    str(r2, [r4, 0])
    data(2, 0xF383, 0x8811)  # basepri
    data(2, {fault_mask})
    data(2, 0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F)  # dsb, isb
    bx(r0)
for region in range(16):
    mem32[0xE000ED98] = region
    base, limit = mem32[0xE000ED9C] & 0xFFFFFFFF, mem32[0xE000EDA0] & 0xFFFFFFFF
    if limit & 1 and base & -32 <= {_stack_limit} <= limit | 31: break
else: raise ValueError
nowhere = bytearray(4096)
import uctypes
table = (uctypes.addressof(nowhere) + 2047) & -2048
machine.disable_irq()
print("left")  # from here on no Ctrl-C of the host stops it
mem32[0xE000E014] = 1000
mem32[0xE000E010] = 3
for line in (0, 5, 100):
    mem32[0xE000E100 + line // 32 * 4] = 1 << line % 32
    mem32[0xE000E200 + line // 32 * 4] = 1 << line % 32
for i in range(16): mem32[0xE000E380 + 4 * i] = 0xFFFFFFFF
mem32[0xE000ED10] = 0b0110
mem32[0xE000ED98] = region
go({startup_reset_handler} | 1, table, base | {read_only}, {priority})
"""
ENABLED = "[machine.mem32[0xE000E100 + 4 * i] for i in range(4)]"
GIVEN = "[machine.mem32[0xE000E380 + 4 * i] for i in range(16)]"


@pytest.mark.parametrize(
    "left",
    [
        {"read_only": 4, "priority": 0, "fault_mask": "0xBF00"},  # nop
        {"read_only": 0, "priority": 1 << 5, "fault_mask": "0xB671"},  # cpsid f
    ],
    ids=["variables read-only", "interrupts masked"],
)
def test_it_starts_in_the_state_left_by_a_boot_loader(every_board, left):
    every_board.soft_reset()
    every_board.exec("import machine")
    before = every_board.eval(ENABLED)
    image = firmware_image.of(every_board.machine.board.name)
    symbols = {name: image.symbol(name) for name in ("_stack_limit", "startup_reset_handler")}
    run_until(every_board, b"left", LEFT.format(**left, **symbols))
    every_board.reconnect()
    every_board.exec("import machine, time\ntime.sleep_ms(3)")
    assert not every_board.eval("'left' in globals()")
    assert every_board.eval(ENABLED) == before
    assert every_board.eval("machine.reset_cause() != machine.FAULT_RESET")
    assert every_board.eval(GIVEN) == [0] * 16
    assert every_board.eval("machine.mem32[0xE000ED10]") == 0


def test_a_deployed_model_survives_a_reset_and_runs_in_place(
    every_board, compiled, small_models, example
):
    """Deployed models work after a reset; a board with a read-only ROM refuses to deploy."""
    facts = every_board.machine.board
    model = {"m.tflite": compiled(small_models["small_cnn"], facts.npus[0]).read_bytes()}
    writable = firmware_image.of(facts.name).writes_rom
    with Machine(
        emulated(facts.name), romfs=romfs.build(ROM if writable else ROM | model)
    ) as machine:
        if writable:
            assert deploy(machine.port, model).kept == ["a.txt"]
            machine.reset()
        else:
            with pytest.raises(RemoteError, match="ROM file system of this board is read-only"):
                deploy(machine.port, model)
        with Board(machine.port) as board:
            board.exec("import ethosu\nm = ethosu.Model('/rom/m.tflite')")
            assert board.eval("m.info()['copied_bytes']") == 0
            put(board, example)
            assert board.eval("bytes(m.predict([x])[0]) == golden")
