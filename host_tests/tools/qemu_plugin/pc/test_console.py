# SPDX-License-Identifier: MIT
"""Tests the emulator's registers: fast console, host log, bad buffers."""

from __future__ import annotations

import contextlib
import os
import random
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethosu_tools.base.deadline import STEP_S, Deadline

from host_tests.tools.qemu_plugin.guest import TIMEOUT_S, Guest, outcome

NO_PROGRESS_S = 0.5


class Client:
    """A program on the host that has the console open."""

    def __init__(self, process: subprocess.Popen[str], path: str) -> None:
        self.process = process
        # Nothing is set up, because the terminal must be raw already.
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)

    def close(self) -> None:
        """Close the console."""
        os.close(self.fd)

    def write_until_blocked(self, data: bytes) -> int:
        """Write without reading until all is written or progress stops."""
        done = 0
        silence = Deadline(NO_PROGRESS_S, self.process)
        while done < len(data) and not silence.expired():
            if select.select([], [self.fd], [], STEP_S)[1]:
                with contextlib.suppress(BlockingIOError):
                    done += os.write(self.fd, data[done : done + 65536])
                    silence.restart()
        return done

    def exchange(self, data: bytes, expected: int) -> bytes:
        """Write all data and read this many bytes at the same time, at full speed."""
        received = bytearray()
        silence = Deadline(TIMEOUT_S, self.process)
        while data or len(received) < expected:
            readable, writable, _ = select.select([self.fd], [self.fd] if data else [], [], STEP_S)
            if readable or writable:
                silence.restart()
            assert not silence.expired(), f"stuck after {len(received)} of {expected} bytes"
            # What select() saw may be gone: the plugin flushes what the client before left.
            with contextlib.suppress(BlockingIOError):
                if readable:
                    received += os.read(self.fd, 65536)
            with contextlib.suppress(BlockingIOError):
                if writable:
                    data = data[os.write(self.fd, data[:65536]) :]
        return bytes(received)


@contextlib.contextmanager
def console(guest: Guest, scenario: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Return a guest whose console is open for clients, and the console's path."""
    with guest.start(scenario, "console=pty") as process:
        for line in process.stderr:
            if line.startswith("ethosu: console "):
                yield process, line.split()[-1]
                return
        pytest.fail("the console was not announced")


def client(process: subprocess.Popen[str], path: str) -> contextlib.closing[Client]:
    """Return a client that is closed at the end."""
    return contextlib.closing(Client(process, path))


def echoed(data: bytes) -> bytes:
    """Return the guest's echo: each byte plus one."""
    return bytes((byte + 1) & 0xFF for byte in data)


def random_bytes(size: int) -> bytes:
    """Return all byte values, including those that a terminal would interpret."""
    return random.Random(size).randbytes(size)


def test_echo_at_full_speed_is_byte_exact(guest: Guest) -> None:
    data = random_bytes(1_000_000)
    with console(guest, "echo") as (process, path), client(process, path) as one:
        assert one.exchange(data, len(data)) == echoed(data)


def test_a_client_that_does_not_read_makes_the_guest_wait(guest: Guest) -> None:
    data = random_bytes(2_000_000)
    with console(guest, "echo") as (process, path), client(process, path) as one:
        sent = one.write_until_blocked(data)
        assert sent < len(data), "the FIFOs are bounded"
        assert_idle(process)
        rest = data[sent:]
        assert one.exchange(rest, len(data)) == echoed(data)


def test_clients_connect_and_disconnect(guest: Guest) -> None:
    with console(guest, "echo") as (process, path):
        for turn in range(10):
            data = random_bytes(1000 + turn)
            with client(process, path) as one:
                assert one.exchange(data, len(data)) == echoed(data)
        assert_idle(process)


def test_bytes_of_a_client_that_left_arrive(guest: Guest) -> None:
    data = random_bytes(100_000).replace(b"\xff", b"\xfe")
    with console(guest, "count_bytes") as (process, path):
        with client(process, path) as one:
            one.exchange(data, 0)
        with client(process, path) as two:
            two.exchange(data + b"\xff", 0)
            values = outcome(process.communicate()[1], 0).values
    assert values == {"count": 2 * len(data), "sum": 2 * sum(data) & 0xFFFFFFFF}


def test_the_first_client_gets_earlier_output(guest: Guest) -> None:
    greeting = b"before the first client"
    with console(guest, "greet_then_echo") as (process, path):
        with client(process, path) as one:
            assert one.exchange(b"", len(greeting)) == greeting
        with client(process, path) as two:
            assert two.exchange(b"a", 1) == b"b", "the next one does not"


def test_guest_that_does_not_read_makes_the_client_wait(guest: Guest) -> None:
    data = random_bytes(1_000_000)
    with console(guest, "deaf") as (process, path):
        with client(process, path) as one:
            assert 65536 <= one.write_until_blocked(data) < len(data)
            assert_idle(process)
        assert_idle(process)


def assert_idle(process: subprocess.Popen[str]) -> None:
    """Check that QEMU sleeps: it uses little CPU time in the next half second."""

    def used_ticks() -> int:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    time.sleep(0.2)
    before = used_ticks()
    time.sleep(0.5)
    assert used_ticks() - before <= 0.2 * os.sysconf("SC_CLK_TCK")


def test_it_is_idle_before_the_first_client(guest: Guest) -> None:
    with console(guest, "deaf") as (process, _):
        assert_idle(process)


def test_the_features_register_reports_the_console(guest: Guest) -> None:
    assert guest.run("identify").values["features"] == 0x2
    assert guest.run("identify", "console=pty").values["features"] == 0x3


def test_guest_writes_on_the_host_s_stderr(guest: Guest) -> None:
    assert "hello from the guest\n" in guest.run("print_log").output


def test_bad_buffers_transfer_nothing(guest: Guest) -> None:
    outcome = guest.run("bad_buffers")
    assert outcome.values == {"sent": 0, "received": 0, "unknown_register": 0}
    assert outcome.messages == [
        "emulator registers: no memory for 16 bytes at 0xe0000000",
        "emulator registers: no writable memory for 16 bytes at 0x28000000",
        "emulator registers: no memory for 268435456 bytes at 0x28000000",
        "emulator registers: no register to read at 0x300",
    ]
