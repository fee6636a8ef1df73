# SPDX-License-Identifier: MIT
"""Tests the Board interface with a fake board: answers, errors, broken links."""

import errno
import os
import re
import socket
import threading

import pytest
import serial
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.base.errors import (
    BoardError,
    BoardLinkError,
    BoardResetError,
    BoardTimeoutError,
    RemoteError,
)
from ethosu_tools.link import board as boards
from ethosu_tools.link import port as ports
from ethosu_tools.link.board import Board
from ethosu_tools.link.board_log import last_lines, sent
from ethosu_tools.link.port import Port, StepError

from host_tests.kit.lines.fake_board import BANNER, REPORT, FakeBoard, Restart
from host_tests.kit.stand_ins import Echo, Terminal


@pytest.fixture
def fake():
    with FakeBoard() as fake, Board(fake.port, boot_timeout=3) as board:
        yield board


def test_exception_of_the_board_is_named_and_the_next_call_works(fake):
    with pytest.raises(RemoteError, match="on the board: ZeroDivisionError") as caught:
        fake.exec("1 / 0")
    assert "Traceback" in caught.value.traceback
    assert fake.eval("1") == 1


def test_an_exception_without_a_text_has_a_type(board):
    with pytest.raises(RemoteError) as caught:
        board.exec("raise KeyboardInterrupt")
    assert (caught.value.kind, caught.value.text) == ("KeyboardInterrupt", "")


def test_value_without_literal_is_refused(fake):
    with pytest.raises(BoardError, match="is not a Python literal"):
        fake.eval("object()")


def test_output_streams_to_the_callback(fake):
    seen = bytearray()
    assert fake.exec("print('x' * 9)", on_output=seen.extend) == ""
    assert bytes(seen).strip(b"\x04\n") == b"x" * 9


def test_late_answers_are_not_taken_for_later_ones():
    with FakeBoard("late") as fake, Board(fake.port) as board:
        assert [board.eval(str(number)) for number in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("fault", "timeout", "error", "match"),
    [
        ("vanish", 1, (BoardLinkError, BoardTimeoutError), None),
        ("trickle_in_answer", 0.2, BoardTimeoutError, "kept .* sent no valid response within 2 s"),
        ("flood_in_answer", 10, BoardTimeoutError, "sent more than 100,000 bytes, but no complete"),
    ],
)
def test_an_answer_without_end_is_an_error(monkeypatch, fault, timeout, error, match):
    """An endless answer is an error that ends with the step, in bounded memory."""
    monkeypatch.setattr(ports, "LARGEST_ANSWER", 100_000)
    with (
        FakeBoard(fault) as fake,
        Board(fake.port, boot_timeout=3) as board,
        pytest.raises(error, match=match),
    ):
        board.exec("1", timeout=timeout)


def test_flood_during_a_write_takes_no_memory_without_end(monkeypatch):
    monkeypatch.setattr(ports, "LARGEST_ANSWER", 100_000)
    with FakeBoard("flood") as fake:
        line = Port(serial.Serial(fake.port), lambda _: Deadline(5))
        line.begin(5)
        with pytest.raises(StepError, match="sent more than 100,000 bytes"):
            line.write(bytes(1_000_000))
        line.close()


@pytest.mark.parametrize("end", ["b''", "b'x' * 9", "'x'"])
def test_file_that_is_not_as_long_as_the_board_said_is_an_error(board, end):
    """A file of another length than announced is an error, or it could fill the memory."""
    board.exec(f"""
class File:
    def seek(self, *_):
        return 5
    def read(self, size):
        return {end}
def open(*_):
    return File()
""")
    with pytest.raises(BoardError, match=r"5 bytes of /x, found "):
        board.read_file("/x")


@pytest.mark.parametrize("size", ["-1", "1 << 70", "None", "'x'"])
def test_file_of_no_possible_size_is_an_error(fake, size):
    fake.exec(f"class File: seek = lambda *_: {size}\ndef open(*_):\n    return File()")
    with pytest.raises(BoardError, match="size of /x"):
        fake.read_file("/x")


@pytest.mark.parametrize(
    "lie", [b"-" * 3000 + b"1", b"", b"[" * 3000, b"9" * 5000, b"\0", b"{[]: 1}", b"\xff\xfe"]
)
@pytest.mark.parametrize(
    "what",
    [
        lambda board: board.eval("1"),
        lambda board: board.ask("_answer = 1"),
        lambda board: board.file_hash("/x"),
        lambda board: board.read_file("/x"),
        lambda board: board.write_file("/x", b"x"),
    ],
)
def test_a_lying_board_is_one_error(lie, what):
    with (
        FakeBoard(lie) as fake,
        Board(fake.port, boot_timeout=3) as board,
        pytest.raises(BoardError),
    ):
        what(board)


def test_a_request_returns_its_answer(fake):
    assert fake.ask("_answer = {'a': 1 + 1}") == {"a": 2}
    assert fake.ask("x = 1") is None
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        fake.ask("1 / 0")


def test_a_request_is_repeated_after_a_reset(fake):
    fake.ask("_answer = 1")
    fake.exec("del _ask")
    assert fake.ask("_answer = 2") == 2


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("at", range(0, 300, 13))
def test_damaged_request_is_not_run(fake, monkeypatch, at):
    fake.ask("ran = 0")
    send = fake._transport.exec_raw_no_follow

    def damage(code):
        data = bytearray(code.encode())
        place = 5 + at % (len(data) - 5)
        data[place] = data[place] % 90 + 33
        send(bytes(data))

    with monkeypatch.context() as patch:
        patch.setattr(fake._transport, "exec_raw_no_follow", damage)
        with pytest.raises(BoardError):
            fake.ask("global ran; ran = 1")
    assert fake.eval("ran") == 0


def test_doubled_request_is_not_run_again(fake, monkeypatch):
    fake.ask("runs = 0")
    send = fake._transport.exec_raw_no_follow

    def double(code):
        send(f"{code}\n{code}")

    monkeypatch.setattr(fake._transport, "exec_raw_no_follow", double)
    with pytest.raises(BoardLinkError, match="duplicated"):
        fake.ask("runs += 1")
    monkeypatch.undo()
    assert fake.eval("runs") == 1


def test_a_system_call_on_a_port_whose_board_is_gone_is_a_failed_link(fake, monkeypatch):
    """pyserial passes on what the system says, instead of a SerialException, from some calls."""

    def gone(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Port, "write", gone)
    with pytest.raises(BoardLinkError, match=f"the link to {fake.port} failed"):
        fake.exec("1")


def test_damaged_answer_is_refused(fake, monkeypatch):
    fake.ask("_answer = 1")
    read = Port.read_exactly

    def damage(port, size, timeout):
        return read(port, size, timeout).replace(b"1234", b"1235")

    monkeypatch.setattr(Port, "read_exactly", damage)
    with pytest.raises(BoardLinkError, match=r"data received from .* was damaged"):
        fake.ask("_answer = 1234")


@pytest.mark.parametrize(
    ("port", "reason"),
    [
        ("/dev/no_such_port", "cannot be opened: No such file or directory"),
        ("socket://127.0.0.1:1", "cannot be opened: Connection refused"),
        (
            "tcp://127.0.0.1:1",
            "is not a port: expected a device such as /dev/ttyACM0 or COM3, socket://",
        ),
    ],
)
def test_port_that_cannot_be_opened_is_named_with_the_reason(port, reason):
    with pytest.raises(BoardLinkError, match=f"^{re.escape(port)} {reason}"):
        Board(port)


def test_program_that_takes_too_long_is_stopped_and_the_next_call_works(board):
    match = "sent nothing for longer than 0.5 s; the program was stopped by Ctrl-C$"
    with pytest.raises(BoardTimeoutError, match=match):
        board.exec("while True: pass", timeout=0.5)
    assert "KeyboardInterrupt" in board.output()
    for code in ("while True: print('x' * 99)", "while True: print('x' * 99); 1 / 1"):
        with pytest.raises(BoardTimeoutError, match=r"kept sending.*stopped by Ctrl-C$"):
            board.exec(code, timeout=0.03)
    assert board.eval("6 * 7") == 42


def test_program_that_takes_too_long_for_an_exchange_is_stopped(board):
    board.exec("def hang(data):\n    while True: pass")
    with pytest.raises(BoardTimeoutError, match=r"the program was stopped by Ctrl-C$"):
        board.exchange(b"data", "hang", timeout=0.5)
    assert board.exchange(b"data", "lambda data: bytes(data) * 2") == b"datadata"


# This prints between any two steps of the program, like a status line or a network stack.
TALKS = """\
import machine, micropython
def talk(_):
    print(said)
    print(said, end='')
said = {!r}
timer = machine.Timer(-1, period=5, callback=talk)
"""


@pytest.mark.parametrize("said", ["tick", "> OK", "\x06\x02\x01"])
def test_a_board_that_prints_on_its_own_answers_each_request(board, said):
    board.exec(TALKS.format(said))
    data = bytes(range(256)) * 16
    for number in range(12):
        asked = board.ask(f"_answer = {number}, 'x' * 2000", timeout=2)
        assert asked == (number, "x" * 2000)
        assert board.exchange(data, "lambda data: bytes(data) * 2", timeout=2) == data * 2
        assert board.eval(f"'y' * {number}", timeout=2) == "y" * number
    assert board.output().count(said) > 12
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        board.ask("1 / 0")
    with board.lent():
        pass  # as when main.py has started the timer
    assert board.ask("_answer = 1", timeout=2) == 1
    board.soft_reset()


def test_what_an_exchange_prints_is_logged(board):
    board.begin_log()
    for text in ("hello", "x" * 3000, "\x02zz\x06"):
        work = f"lambda data: (print({text!r}), bytes(data))[1]"
        assert board.exchange(b"abc", work) == b"abc"
        assert text in board.output()


def test_a_board_that_ignores_ctrl_c_is_named_and_retried_briefly():
    """After an ignored Ctrl-C, calls fail soon, and work as soon as the board is back."""
    with FakeBoard("stubborn") as fake, Board(fake.port, boot_timeout=3) as board:
        with pytest.raises(BoardTimeoutError, match="Ctrl-C does not stop the program; reset"):
            board.exec("hang", timeout=0.2)
        with pytest.raises(BoardTimeoutError, match=r"waiting for the board's prompt.*it sent: no"):
            board.eval("1")
        fake.fault = None
        assert board.eval("2") == 2


NOISE = bytes(value * 167 % 256 for value in range(6000))


def test_of_repeated_reports_the_last_whole_one_is_shown():
    """Of repeated reports, the last whole one is shown: the first and the last may be cut."""
    lines = [b"*** Fault: UsageFault, exception 6", b"  cause: undefined instruction", b"r0 %08x"]
    whole = [b"\r\n".join([*lines, b""]) % number for number in range(4)]
    for cut in range(len(whole[0])):
        data = whole[0][cut:] + whole[1] + whole[2] + whole[3][: 25 + cut]
        shown = "*** Fault: UsageFault, exception 6 | cause: undefined instruction | r0 00000002"
        assert sent(data) == shown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (NOISE, "noise (wrong baud rate?): 00 a7 4e f5 9c 43 ea 91 38 df 86 2d d4 7b 22 c9 ..."),
        (b"\0" * 99, f"noise (wrong baud rate?): {'00 ' * 16}..."),
        (b"\x1b[1;31mPanic\x1b[0m \x1b]0;title\x07E1 \x1bMend\r\n", "Panic E1 end"),
        ("температура 20°\r\n".encode(), "температура 20°"),
        (b"SSH-2.0-" + b"x" * 900 + b"end", f"SSH-2.0-{'x' * 32} ... {'x' * 72}end"),
        (NOISE + REPORT, "*** Fault: BusFault, "),
        (b"\r\x03\r\x01" * 3, "only what was typed (a loopback: are TX and RX connected?)"),
        (b"", "nothing"),
    ],
    ids=["noise", "zeros", "commands", "utf-8", "long", "fault", "echo", "nothing"],
)
def test_what_a_board_without_a_prompt_sent_is_shown_briefly(data, shown):
    assert shown in sent(data) if data.endswith(REPORT) else sent(data) == shown
    assert data.endswith(REPORT) or len(sent(data)) <= 120


FAULT = b"*** Fault: MemManage, exception 4\r\n  cause: forbidden data access\r\n"
FAULT_SHOWN = r"it sent: \*\*\* Fault: MemManage, exception 4 \| cause: forbidden data access$"


@pytest.mark.parametrize(
    ("fault", "error", "match"),
    [
        *(
            (fault, BoardTimeoutError, "waiting for the board's prompt")
            for fault in ("silent", "garbage", "flood", "trickle")
        ),
        (("says", NOISE), BoardTimeoutError, "it sent: noise"),
        (("says", b"\x1b[31mPanic\x1b[0m\r\n"), BoardTimeoutError, "it sent: Panic$"),
        (("says", FAULT), BoardResetError, FAULT_SHOWN),
    ],
)
def test_a_board_without_prompt_shows_what_it_sent_once(fault, error, match):
    """A board's repeated output is shown once, without noise and terminal sequences."""
    with FakeBoard(fault) as fake:
        with pytest.raises(error, match=match) as caught:
            Board(fake.port, boot_timeout=1)
        assert len(str(caught.value)) < 300


def test_a_port_that_echoes_is_said_to_do_so():
    with Echo() as echo, pytest.raises(BoardTimeoutError, match="it sent: only what was typed"):
        Board(echo.port, boot_timeout=1)


def test_the_greeting_of_another_service_is_shown():
    """The greeting of another service, which comes before any request, is shown."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = f"socket://127.0.0.1:{server.getsockname()[1]}"
        connections = []

        def greet():
            connections.append(server.accept()[0])
            connections[0].sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(BoardTimeoutError, match=r"it sent: SSH-2\.0-OpenSSH_9\.2$"):
            Board(port, boot_timeout=1)


@pytest.mark.parametrize("printed", ["\x04", "a\x04b\x04c\x04", "\x04\x04"])
def test_a_program_may_print_ctrl_d(board, printed):
    """A program may print Ctrl-D, with which the raw REPL ends its output."""
    code = f"print({printed!r})"
    assert board.exec(code) == f"{printed}\r\n"
    heard = bytearray()
    board.exec(code, on_output=heard.extend)
    assert heard.startswith(printed.encode())
    with pytest.raises(RemoteError, match="on the board: ValueError: why") as caught:
        board.exec(f"{code}\nraise ValueError('why')")
    assert (caught.value.kind, caught.value.output) == ("ValueError", f"{printed}\r\n")
    assert board.ask(f"{code}\n_answer = 7") == 7
    assert board.exchange(b"x", f"lambda data: ({code}, bytes(data))[1]") == b"x"
    with pytest.raises(RemoteError, match="on the board: ValueError: why"):
        board.ask(f"{code}\nraise ValueError('why')")
    board.exec(f"{code}\nraise SystemExit")
    assert board.eval("6 * 7") == 42


WAITS = {
    "exec": lambda board: board.exec("1"),
    "output": lambda board: board.exec("1", on_output=print),
    "eval": lambda board: board.eval("1"),
    "ask": lambda board: board.ask("1"),
    "exchange": lambda board: board.exchange(b"data", "bytes"),
    "read": lambda board: board.read_file("/x"),
    "write": lambda board: board.write_file("/x", b"data"),
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize(
    ("restart", "match"),
    [
        (Restart(REPORT), r"faulted and restarted: Fault: BusFault, .*: bus error at 0x12345678"),
        (Restart(), r" restarted: machine.reset\(\), a watchdog"),
    ],
    ids=["fault", "reset"],
)
def test_a_restart_ends_each_wait_as_a_reset_and_the_next_call_works(wait, restart, match):
    """A restart is reported as a reset, not as a time-out, whose advice would mislead."""
    with FakeBoard() as fake, Board(fake.port, boot_timeout=3) as board:
        fake.fault = restart
        with pytest.raises(BoardResetError, match=match) as caught:
            WAITS[wait](board)
        assert caught.value.report.encode() in restart.sends.replace(b"\r\n", b"\n")
        assert caught.value.address == ("0x12345678" if restart.sends else "")
        assert board.eval("6 * 7") == 42


@pytest.mark.parametrize("restart", [Restart(REPORT), Restart()])
def test_a_restart_between_programs_is_reported_once(restart):
    with FakeBoard() as fake, Board(fake.port, boot_timeout=3) as board:
        fake.fault = restart
        fake.restart()
        with pytest.raises(BoardResetError, match=r"starting code: .* restarted: "):
            board.eval("1")
        assert board.eval("2") == 2


def test_a_restart_whose_main_program_does_not_end_is_a_reset():
    """A restart is recognised even if its banner only follows the Ctrl-C of the time-out."""
    with FakeBoard() as fake, Board(fake.port, boot_timeout=3) as board:
        fake.fault = Restart(b"hello from main.py\r\n", runs=True)
        with pytest.raises(BoardResetError, match=r" restarted: machine\.reset"):
            board.exec("1", timeout=0.2)
        assert "hello from main.py" in board.output()
        assert board.eval("2") == 2


def test_a_fault_without_a_restart_is_a_reset():
    with FakeBoard("stubborn") as fake, Board(fake.port, boot_timeout=3) as board:
        board.start("1")
        fake._send(REPORT)
        with pytest.raises(BoardResetError, match="faulted and has not restarted: Fault: BusFault"):
            board.finish(timeout=0.2)


def test_a_program_may_print_a_banner_and_a_report(board):
    """A banner or report that a program prints, such as another board's, is no restart."""
    text = (REPORT + BANNER).decode() + ">>> \r\n>>> "
    code = f"import time\nprint({text!r}, end='')\ntime.sleep(0.5)\nprint('end')"
    assert board.exec(code).endswith(">>> end\r\n")
    with pytest.raises(BoardTimeoutError, match=r"stopped by Ctrl-C$"):
        board.exec(f"print({text!r}, end='')\nwhile True: pass", timeout=0.5)
    assert board.eval("6 * 7") == 42


def test_a_write_to_a_board_that_takes_nothing_ends():
    with Terminal() as board:
        port = Port(serial.Serial(board.port), lambda seconds: Deadline(seconds and 0.2))
        match = r"accepted only \d+ of 1000000 bytes"
        with pytest.raises(serial.SerialTimeoutException, match=match):
            port.write(bytes(1_000_000))
        port.close()


class Slow(Terminal):
    """A board that accepts little data at a time."""

    def serve(self):
        while not self.closing.wait(0.02):
            os.read(self.master, 1000)


def test_a_write_to_a_board_that_takes_little_ends_with_the_step():
    with Slow() as board:
        port = Port(serial.Serial(board.port))
        port.begin(0.5)
        with pytest.raises(StepError, match=r"accepted only \d+ of 100000 bytes within 0\.5 s"):
            port.write(bytes(100_000))
        port.close()


def test_a_write_to_a_board_that_echoes_does_not_wait_for_itself():
    with Echo() as board:
        port = Port(serial.Serial(board.port), lambda seconds: Deadline(seconds and 5))
        data = bytes(i % 251 for i in range(50_000))
        assert port.write(data) == len(data)
        assert port.read(len(data)) == data
        port.close()


@pytest.mark.parametrize("number", ["9" * 5000, f"0x{'f' * 5000}", f"[{'-' * 3000}1]"])
def test_number_that_cannot_be_shown_is_refused(number):
    with pytest.raises(BoardError, match="is not a Python literal"):
        boards.literal(number)


def test_nothing_that_a_board_sends_is_executed(tmp_path):
    ran = tmp_path / "ran"
    with pytest.raises(BoardError, match="is not a Python literal"):
        boards.literal(f"__import__('pathlib').Path({str(ran)!r}).touch()")
    assert not ran.exists()


def test_a_report_whose_first_line_was_cut_is_shown_whole():
    report = b"*** Fault: UsageFault, exception 6\r\ncause: undefined instruction\r\n"
    assert last_lines(report[11:] + report + report[:20]) == (
        "*** Fault: UsageFault, exception 6 | cause: undefined instruction"
    )
