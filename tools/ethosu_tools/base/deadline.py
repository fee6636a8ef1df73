# SPDX-License-Identifier: MIT
"""Time-outs that measure the progress of a board, so that a busy host does not cause failures.

A second of an emulated board passes while its emulator computes for a second, or sleeps for a
second, voluntarily or stopped by a signal. Time in which the emulator was ready to run but the host
ran other programs does not count; nor does time in which this program itself did not run. The
seconds of a real board are those of the host.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Polling interval of waits; a longer pause means that the host ran other programs.
STEP_S = 0.25
# States, in /proc/PID/task/TID/stat, of a thread that waits for something other than a processor;
# _STOPPED: for a signal, as after SIGSTOP or Ctrl-Z.
_STOPPED = "T"
_WAITING = frozenset("SIZX") | {_STOPPED}


class Deadline:
    """Limits a wait for a board to a number of the board's seconds; None sets no limit."""

    def __init__(
        self, seconds: float | None, process: "subprocess.Popen[Any] | None" = None
    ) -> None:
        """Start to count; `process` is the emulator, None for a real board."""
        self._seconds = seconds
        self._process = process
        self.restart()

    def restart(self) -> None:
        """Start again, because the board has shown activity."""
        self._passed = 0.0
        self._host, self._used = time.monotonic(), self._computed()

    def expired(self) -> bool:
        """Whether the time is over, or the emulator has ended; call this at least every STEP_S."""
        if self._process is not None and self._process.poll() is not None:
            return True
        if self._seconds is None:
            return False
        host, used = time.monotonic(), self._computed()
        step = min(host - self._host, STEP_S)
        if self._process is not None and sys.platform == "linux":
            computed = used - self._used
            # What its threads do is slow to ask, and matters only if it computed for less.
            if computed < step and not _waits(self._process.pid):
                step = computed
        self._host, self._used = host, used
        self._passed += step
        return self._passed >= self._seconds

    def _computed(self) -> float:
        """Seconds of CPU time that the emulator has used."""
        if self._process is None or sys.platform != "linux":
            return 0.0
        try:
            # This is the clock's number that Linux's clock_getcpuclockid(3) computes.
            return time.clock_gettime(~self._process.pid << 3 | 2)
        except OSError:  # the emulator has ended
            return 0.0


def run(command: Sequence[str | Path], seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run an emulator to its end without input, for up to `seconds` of a `Deadline`.

    The emulator must compute in its own process, not in child processes.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    ) as process:
        deadline = Deadline(seconds, process)
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = process.communicate(timeout=STEP_S)
                    return subprocess.CompletedProcess(command, process.returncode, out, err)
                if process.poll() is None and deadline.expired():
                    raise subprocess.TimeoutExpired(command, seconds)
        except BaseException:
            process.kill()
            raise


def wait_for_end(process: "subprocess.Popen[Any]") -> int:
    """Wait until a program has ended; returns its exit code.

    A signal that arrives just before an unlimited wait is handled only after it, hence the polling.
    """
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(1)


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal."""
    return _states(pid) == {_STOPPED}


def _waits(pid: int) -> bool:
    """Whether all threads of a process wait for something other than a processor."""
    states = _states(pid)
    return bool(states) and states <= _WAITING


def _states(pid: int) -> set[str]:
    """The states of all threads of a process; waits ask often, and pathlib takes twice as long."""
    folder = f"/proc/{pid}/task"
    try:
        return {_state(f"{folder}/{task}/stat") for task in os.listdir(folder)}  # noqa: PTH208
    except OSError:  # a thread has just ended
        return set()


def _state(path: str) -> str:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        # The letter follows the name of the program, which may contain anything, and a space.
        return file.read().rpartition(b")")[2][1:2].decode()
