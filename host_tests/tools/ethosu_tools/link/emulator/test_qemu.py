# SPDX-License-Identifier: MIT
"""An emulated board starts, answers, resets, and always ends with its process."""

import array
import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.base.errors import BoardError, BoardResetError, InputError
from ethosu_tools.boards.facts import Span
from ethosu_tools.boards.setup import CONSOLES as ALL
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link import board as board_module
from ethosu_tools.link.board import QemuBoard, open_board
from ethosu_tools.link.emulator import qemu, qemu_links
from ethosu_tools.link.emulator.emulator_log import KEPT, LEFT_OUT
from ethosu_tools.model import romfs

from host_tests.kit.process.processes import alive, wait_for_end

CONSOLES = pytest.mark.parametrize("console", ALL)
pytestmark = pytest.mark.on_board


def with_words(board, changed):
    """Replace some words in the board's firmware, wherever they occur."""
    image = paths.firmware(board).read_bytes()
    words = array.array("I", image[: len(image) & ~3])
    return array.array("I", (changed.get(word, word) for word in words)).tobytes()


@CONSOLES
def test_board_answers_and_resets(console):
    with open_board("qemu", console=console) as board:
        board.exec("kept = 1")
        board.interrupt()
        assert board.eval("'kept' in globals()") is True
        board.soft_reset()
        assert board.eval("'kept' in globals()") is False
        board.exec("kept = 1")
        board.reset()
        assert board.eval("'kept' in globals()") is False


def test_memory_is_the_guests_memory():
    with open_board("qemu") as board:
        assert isinstance(board, QemuBoard)
        window = board.machine.window.start
        board.machine.memory.write(window, b"from the host")
        board.exec(f"import uctypes\nw = uctypes.bytearray_at({window}, 13)")
        assert board.eval("bytes(w)") == b"from the host"
        board.exec("w[:] = b'for the host!'")
        assert board.machine.memory.read(window, 13) == b"for the host!"


@pytest.mark.parametrize("address, size", [(0x5FFFFFFF, 2), (0xDFFFFFFF, 2), (0, 1)])
def test_addresses_outside_the_memory_are_refused(address, size):
    memory = qemu_links.GuestMemory({"DDR": Span(0x60000000, 0x80000000)})
    try:
        with pytest.raises(ValueError, match="not in the guest's DDR"):
            memory.read(address, size)
    finally:
        memory.close()


def test_a_firmware_with_another_rom_address_is_reported(ethosu, tmp_path):
    """Firmware with another ROM address is reported, or /rom would silently be missing."""
    facts = boards.load(boards.DEFAULT)
    start, end = 0x62000000, 0x63000000
    image = with_words(facts.name, {start: 0x66000000, end: 0x67000000})
    path, files = tmp_path / "moved.elf", tmp_path / "rom"
    path.write_bytes(image)
    files.mkdir()
    (files / "a.txt").write_text("a")
    code, _, err = ethosu("qemu", "--board", facts.name, "--firmware", path, "--romfs", files)
    assert code == 3 and err.count("\n") == 1
    assert "the firmware has no /rom: it does not expect one at 0x62000000" in err


def test_rom_that_is_too_big_is_refused():
    board = boards.chosen()
    room = (board.qemu.romfs or board.romfs).size
    image = romfs.build({"a": b"1", "large": bytes(room)})
    with pytest.raises(InputError, match=r"/rom of .*: large \([0-9,]+ bytes\), a \(1 bytes\)$"):
        qemu.Machine(romfs=image)


def test_plugin_in_a_folder_with_a_comma_is_found(tmp_path, monkeypatch):
    plugin = tmp_path / "a,b" / "plugin.so"
    plugin.parent.mkdir()
    plugin.symlink_to(paths.qemu_plugin())
    monkeypatch.setattr(paths, "qemu_plugin", lambda: plugin)
    with qemu.Machine() as machine:
        assert machine.running()


def test_a_board_that_the_plugin_does_not_know_is_named():
    known = emulated()
    facts = dataclasses.replace(known.board, name="OURS")
    ours = dataclasses.replace(known, name="OURS", facts=facts, image=known.firmware)
    with pytest.raises(InputError, match="OURS is not emulated: it has no entry in tools/qemu_pl"):
        qemu.Machine(ours)


@CONSOLES
def test_unknown_npu_ends_in_the_plugins_sentence(console):
    """An unknown NPU is an error, even if QEMU prints the port before it loads the plugin."""
    with pytest.raises(BoardError, match=r"QEMU ended immediately.*ethos-u99"):
        qemu.Machine(emulated(console=console), plugin_options=["npu=ethos-u99-1"])


def memory_files():
    return sum("memfd:ethosu-" in str(file.readlink()) for file in open_files())


def open_files():
    return [file for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]


@pytest.mark.parametrize(
    "breaks",
    [
        lambda patch: patch.setattr(qemu, "start", broken),
        lambda patch: patch.setattr(qemu, "options", broken),
        lambda patch: patch.setattr(qemu, "Control", broken),
        lambda patch: patch.setattr(qemu_links.mmap, "mmap", broken),
        lambda patch: patch.setattr(qemu.Machine, "_find_port", broken),
        lambda patch: patch.setattr(qemu.Machine, "_check_start", broken),
    ],
)
def test_machine_that_does_not_start_leaves_nothing_open(monkeypatch, breaks):
    before = len(open_files()), memory_files()
    with monkeypatch.context() as patch:
        breaks(patch)
        with pytest.raises(ZeroDivisionError):
            qemu.Machine()
    assert (len(open_files()), memory_files()) == before


def broken(*_, **__):
    raise ZeroDivisionError


# No board has memory there. With the memory protection unit off, the access reaches the bus.
NOTHING = "import machine\nmachine.mem32[0xE000ED94] = 0\nmachine.mem32[0xF0000000]"


def test_a_fault_names_address_function_and_line():
    """A fault is reported at once, with address, function and line; the next call works."""
    with open_board("qemu") as board:
        match = r"faulted and restarted: Fault: MemManage, .*: forbidden data access at 0xf0000000"
        with pytest.raises(BoardResetError, match=match) as caught:
            board.exec("import machine\nmachine.mem32[0xF0000000]", timeout=3600)
        assert re.match(r"machine_mem_subscr at machine_mem\.c:\d+", caught.value.functions)
        assert caught.value.address == "0xf0000000" and "  cfsr " in caught.value.report
        for restart in ("import machine\nmachine.reset()", None):
            board.machine.reset() if restart is None else None
            with pytest.raises(BoardResetError, match=r" restarted: machine\.reset\(\)"):
                board.exec(restart or "while True: pass", timeout=3600)
            assert board.eval("6 * 7") == 42


def test_probing_for_absent_npus_is_not_reported():
    """The firmware's probe for a second NPU is not reported, but a program's accesses are."""
    look = "import ethosu\nethosu.npus()"
    with open_board("qemu") as board:
        board.exec(look)
        assert "unmapped" not in board.machine.log()
        for _ in range(2):
            board.begin_log()
            board.exec(look)
            assert board.output() == ""
            for access, code in (("read", NOTHING), ("write", f"{NOTHING} = 1")):
                with pytest.raises(BoardResetError):
                    board.exec(code)
                said = f"{access} of 4 bytes at 0xF0000000, which is unmapped on this board"
                assert said in board.output()


def test_the_log_of_a_board_has_a_limit():
    """The log is limited, although each write to a missing register logs a line."""
    writes = "import machine\nfor _ in range(90_000): machine.mem32[0x41200098] = 1"
    with open_board("qemu", board="MPS3_AN547") as board:
        board.exec(writes, timeout=60)
        log = board.machine.log()
        assert LEFT_OUT in log and len(log) < 2 * KEPT + 100
        assert board.eval("6 * 7") == 42


def undefined_instruction(path):
    """Make our firmware fault when it looks for a ROM file system."""
    image = paths.firmware("MPS3_AN547")
    with image.open("rb") as file:
        elf = ELFFile(file)
        (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name("romfs_start")
        (at,) = elf.address_offsets(symbol["st_value"] & ~1)
    data = bytearray(image.read_bytes())
    data[at : at + 2] = b"\x00\xde"
    path.write_bytes(data)


def heap_in_no_memory(path):
    """Remove the heap's memory from our firmware's memory table."""
    row = struct.pack("<2I", 0x60000000, 0x70000000)  # start and end of the DDR
    other = struct.pack("<2I", 0x68000000, 0x70000000)
    path.write_bytes(paths.firmware("MPS3_AN547").read_bytes().replace(row, other))


FAULTY = {
    undefined_instruction: r"\*\*\* Fault: UsageFault.* cause: undefined instruction",
    heap_in_no_memory: r"\*\*\* Fatal: Python's heap, .* is not in the board's memory table",
}


@pytest.fixture(params=FAULTY, ids=lambda make: make.__name__)
def faulty(request, tmp_path, monkeypatch):
    """Return firmware without a prompt, and its output; it computes until it is stopped."""
    monkeypatch.setattr(board_module, "_PROMPT_TIMEOUT_S", 0.2)
    monkeypatch.setenv(boards.VARIABLE, "MPS3_AN547")  # the image is of this board
    path = tmp_path / "faulty.elf"
    request.param(path)
    return path, f"it sent: .*{FAULTY[request.param]}"


def test_firmware_that_faults_before_its_prompt_shows_its_report(faulty):
    """A fault before the prompt is reported on the UART; the next test has the fast console."""
    path, report = faulty
    with pytest.raises(BoardResetError, match=report):
        machine = qemu.Machine(emulated(boards.DEFAULT, firmware=path, console="uart"))
        QemuBoard(machine, boot_timeout=20)


@pytest.mark.parametrize("faulty", [undefined_instruction], indirect=True)
def test_ethosu_qemu_keeps_a_board_without_a_prompt_for_bringup(faulty, ethosu):
    path, report = faulty
    command = [sys.executable, "-m", "ethosu_tools.cli", "qemu", "--board", boards.DEFAULT]
    command += ["--firmware", path]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        first, why, _, advice = (process.stdout.readline() for _ in range(4))
        port = first.split()[-1]
        try:
            assert "It shows no prompt:" in why and re.search(report, why), why
            code, out, _ = ethosu("doctor", port)
            # Reports repeat, and the port is opened in the middle of one.
            assert code == 5 and all(re.search(part, out) for part in report.split(".*")), out
            assert "before its prompt" in out and "baud" not in out
        finally:
            process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert process.returncode == 5 and f"ethosu doctor {port} --board MPS3_AN547\n" in advice
    assert len(err.splitlines()) == 1


def test_a_file_that_is_not_a_firmware_is_rejected(tmp_path):
    image = tmp_path / "firmware.elf"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        qemu.Machine(emulated(firmware=image))
    image.write_bytes(b"not an image")
    with pytest.raises(InputError, match=r"expected b'.x7fELF' at byte 0, found b'not '"):
        qemu.Machine(emulated(firmware=image))
    with pytest.raises(InputError, match=r"for Arm: .* at byte 18, found"):
        qemu.Machine(emulated(firmware=Path(sys.executable)))


def test_firmware_that_does_not_boot_fails_with_the_log(tmp_path):
    image = tmp_path / "firmware.elf"
    image.write_bytes(b"\x7fELF".ljust(18) + b"\x28\0 and no more")
    with pytest.raises(BoardError, match="QEMU"), qemu.Machine(emulated(firmware=image)) as machine:
        QemuBoard(machine, boot_timeout=1)


@pytest.fixture
def control():
    """Return a control channel, and a function that answers one command as QEMU, with lines.

    "id of NAME" stands for the id of that command, or nothing if it had none.
    """
    control = qemu_links.Control()
    theirs = socket.socket(fileno=os.dup(control.fd))
    theirs.sendall(b'{"QMP": {}}\n')
    ids = {}

    def respond(*lines):
        request = json.loads(theirs.recv(4096) or '{"execute": ""}')
        ids[request["execute"]] = request.get("id")
        for line in lines:
            for name, number in ids.items():
                line = line.replace(f'"id of {name}"', json.dumps(number))
            with contextlib.suppress(OSError):  # at the end of a test
                theirs.sendall(line.encode())

    yield control, respond
    theirs.shutdown(socket.SHUT_RDWR)
    theirs.close()
    control.close()


def answers(*commands):
    """Answer commands as QEMU, in another thread, with these lines for each."""
    thread = threading.Thread(
        target=lambda: [respond(*lines) for respond, lines in commands], daemon=True
    )
    thread.start()
    return thread


def answer(name, reply):
    return json.dumps({**reply, "id": f"id of {name}"}) + "\n"


def test_a_late_reply_is_not_taken_for_another_one(control):
    """A late reply, at any moment and even in two parts, is not taken for a later command's."""
    control, respond = control
    late = answer("A", {"return": "A"})
    answers(
        (respond, [answer("qmp_capabilities", {"return": {}})]),
        (respond, [late[:9]]),
        (respond, [late[9:], json.dumps({"event": "RESET"}) + "\n"]),
        (respond, [answer("A again", {"return": "A again"}), answer("B", {"return": "B"})]),
        (respond, [answer("C", {"return": "C"})]),
        (respond, [answer("D", {"error": {"desc": "no"}})]),
    )
    for name in ("A", "A again"):
        with pytest.raises(BoardError, match=f"QEMU did not respond to {name}"):
            control.command(name, Deadline(0.3))
    assert [control.command(name, Deadline(20)) for name in ("B", "C")] == ["B", "C"]
    with pytest.raises(BoardError, match="QEMU rejected D: no"):
        control.command("D", Deadline(20))


def test_events_without_end_do_not_put_off_the_end_of_a_wait(control):
    """A wait ends despite endless events, such as of a guest that resets again and again."""
    control, respond = control
    ready, event = answer("qmp_capabilities", {"return": {}}), '{"event": "RESET"}\n'
    thread = answers((respond, [ready, event * 100_000]))
    with pytest.raises(BoardError, match="QEMU did not respond to A"):
        control.command("A", Events(100))
    assert thread.is_alive(), "it still sends"


class Events:
    """A time-out that counts how often it is asked."""

    def __init__(self, count):
        self.count = count

    def expired(self):
        self.count -= 1
        return self.count < 0


def test_an_event_before_the_command_does_not_count(control):
    """An event before the command, such as a reset by the guest, does not count."""
    control, respond = control
    event, status = '{"event": "RESET"}\n', answer("query-status", {"return": {}})
    done = answer("system_reset", {"return": {}})
    answers(
        (respond, [answer("qmp_capabilities", {"return": {}}), event]),
        (respond, [event, status]),
        (respond, [done]),
        (respond, [event, status]),
        (respond, [event, done]),
    )
    with pytest.raises(BoardError, match="QEMU did not respond to system_reset"):
        control.command("system_reset", Deadline(0.3), event="RESET")
    assert control.command("system_reset", Deadline(20), event="RESET") == {}


def test_closing_ends_qemu():
    machine = qemu.Machine()
    assert alive(machine.process.pid)
    machine.close()
    machine.close()
    assert not alive(machine.process.pid)


FORGETFUL = """\
    import os, signal, sys
    from ethosu_tools.link.emulator import qemu
    machine = qemu.Machine()
    print(machine.process.pid, flush=True)
    {ending}
"""


@pytest.mark.parametrize("ending", ["pass", "1 / 0", "os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_no_qemu_survives_its_tool(ending):
    program = textwrap.dedent(FORGETFUL).format(ending=ending)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    pid = int(done.stdout)
    wait_for_end(pid)


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize(
    "how, background", [(signal.SIGINT, None), (signal.SIGTERM, None), (signal.SIGTERM, "&")]
)
def test_ethosu_qemu_names_the_port_and_ends_on_a_signal(how, background):
    """`ethosu qemu` ends on a signal, also in a script's background, where SIGINT is ignored."""
    command = [sys.executable, "-m", "ethosu_tools.cli", "qemu", "--npu", "ethos-u55-64"]
    prepare = ignore_interrupts if background else None
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=prepare
    ) as process:
        first = process.stdout.readline()
        port = first.split()[-1]
        try:
            with open_board(port) as board:
                assert board.eval("40 + 2") == 42
        finally:
            process.send_signal(how)
        rest = process.stdout.read()
    assert process.returncode == 0 and "ethos-u55-64" in first and "stopped" in rest


def test_ethosu_qemu_as_json_gives_port_and_process():
    command = [sys.executable, "-m", "ethosu_tools.cli", "qemu", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        data = json.loads(text)
        assert alive(data["pid"]) and Path(data["port"]).exists()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert rest == "", "one document"
    assert not alive(data["pid"])


def test_a_child_ends_whose_parent_ended_before_it_began():
    """A child ends if its parent ended before the kernel was asked to watch the parent."""
    program = (
        f"from ethosu_tools.link.emulator.qemu import die_with_parent; die_with_parent({2**30})"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert done.returncode == -signal.SIGKILL
