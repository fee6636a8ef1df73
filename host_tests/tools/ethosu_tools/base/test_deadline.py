# SPDX-License-Identifier: MIT
"""Time-outs count board activity: a busy host does not end a wait."""

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from ethosu_tools.base import deadline
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.base.errors import BoardError, BoardTimeoutError
from ethosu_tools.link import board as board_module
from ethosu_tools.link.board import open_board

STOPPED_S = 2.5
SPIN = "while True: pass"


@contextlib.contextmanager
def program(text):
    with subprocess.Popen([sys.executable, "-c", text]) as process:
        try:
            yield process
        finally:
            process.kill()


def cpu_seconds(process):
    return time.clock_gettime(~process.pid << 3 | 2)


def wait_until_expired(end):
    while not end.expired():
        time.sleep(0.01)


def test_a_sleeping_emulator_s_seconds_are_the_host_s():
    with program("import time; time.sleep(1000)") as process:
        begun = time.monotonic()
        wait_until_expired(Deadline(0.5, process))
        assert time.monotonic() - begun >= 0.5


def test_a_computing_emulator_s_seconds_are_those_it_computed():
    with program(SPIN) as process:
        begun = cpu_seconds(process)
        wait_until_expired(Deadline(0.5, process))
        assert cpu_seconds(process) - begun >= 0.4


@pytest.fixture
def busy(monkeypatch):
    """Let a stopped emulator count as one that is ready on a busy host, from now on."""
    monkeypatch.setattr(deadline, "_WAITING", deadline._WAITING - {"T"})


def test_a_stopped_emulator_s_seconds_are_the_host_s():
    """The seconds of an emulator stopped by a signal count, since it does not continue."""
    with program("import threading\nthreading.Thread(target=input).start()\n" + SPIN) as process:
        process.send_signal(signal.SIGSTOP)
        end = Deadline(0.3, process)
        checks = 0
        while not end.expired():
            time.sleep(0.01)
            checks += 1
            assert checks < 1000


def test_time_in_which_the_host_was_busy_does_not_count(busy):
    with program(SPIN) as process:
        process.send_signal(signal.SIGSTOP)
        end = Deadline(0.3, process)
        for _ in range(100):
            time.sleep(0.01)
            assert not end.expired()
        process.send_signal(signal.SIGCONT)
        wait_until_expired(end)


def test_time_between_queries_does_not_count():
    end = Deadline(2 * deadline.STEP_S)
    time.sleep(3 * deadline.STEP_S)
    assert not end.expired()


def test_an_emulator_that_has_ended_is_not_waited_for():
    with program("pass") as process:
        process.wait()
        assert Deadline(1000, process).expired()
        assert Deadline(None, process).expired()


def test_no_deadline_never_expires():
    assert not Deadline(None).expired()


def test_a_program_that_does_not_end_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        deadline.run([sys.executable, "-c", SPIN], 0.3)
    done = deadline.run([sys.executable, "-c", "print(1); exit(3)"], 10)
    assert (done.stdout, done.returncode) == ("1\n", 3)


@pytest.fixture
def board():
    with open_board("qemu") as board:
        yield board


@pytest.fixture
def stopped(board, busy):
    """Let the board's emulator get no host CPU time for a while, from now on."""
    process = board.machine.process
    process.send_signal(signal.SIGSTOP)
    timer = threading.Timer(STOPPED_S, process.send_signal, [signal.SIGCONT])
    timer.start()
    yield board
    timer.join()


def test_code_is_awaited_while_the_host_is_busy(stopped):
    assert stopped.exec("print(6 * 7)", timeout=1) == "42\r\n"


@pytest.mark.parametrize("restart", ["soft_reset", "reset"])
def test_a_restart_is_awaited_while_the_host_is_busy(stopped, restart):
    getattr(stopped, restart)()
    assert stopped.eval("1 + 1") == 2


def test_endless_code_is_distinguished_from_sleeping_code(board, monkeypatch):
    monkeypatch.setattr(board_module, "_STOP_TIMEOUT_S", 0.3)  # in a busy emulator's time
    executed = []
    for program in ("import time; time.sleep(1000)", SPIN):
        board.start(f"import micropython; micropython.kbd_intr(-1)\n{program}")
        match = "sent nothing for longer than 0.5 s; Ctrl-C does not .*; QEMU is running"
        with pytest.raises(BoardTimeoutError, match=match) as caught:
            board.finish(timeout=0.5)
        counts = re.search(r"([\d,]+) instructions so far, ([\d,]+) in the", str(caught.value))
        executed += [int(count.replace(",", "")) for count in counts.groups()]
        board.reset()
    assert executed[0] > executed[1] and executed[3] > executed[1], executed
    assert executed[2] - executed[0] > 1_000_000, executed


def test_an_emulator_that_was_stopped_ends_the_wait(board, monkeypatch):
    process = board.machine.process
    board.start(SPIN)
    process.send_signal(signal.SIGSTOP)
    timer = threading.Timer(60, process.kill)  # ends the test if it fails
    timer.start()
    with monkeypatch.context() as patch:
        patch.setattr(board_module, "_STOP_TIMEOUT_S", 0.3)
        with pytest.raises(BoardTimeoutError, match="QEMU is stopped: after the signal SIGCONT"):
            board.finish(timeout=0.5)
    timer.cancel()
    process.send_signal(signal.SIGCONT)
    assert board.eval("6 * 7") == 42


def test_an_emulator_that_dies_ends_the_wait_at_once(board):
    board.start("print('!')\n" + SPIN)
    with pytest.raises(BoardError, match=r"QEMU ended \(-9\)$"):  # without a line of the start
        board.finish(timeout=1000, on_output=lambda _: board.machine.process.kill())
