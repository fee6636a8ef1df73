# SPDX-License-Identifier: MIT
"""A board's serial port: waits that count the board's time, and steps that end.

The protocol on it is mpremote's. The port is locked while it is open (flock(2) on the device, as
pyserial does for mpremote, too): that keeps out other users of this computer.
"""

import errno
import io
import math
import os
import select
import socket
import time
from collections.abc import Callable
from typing import Any

import serial
from mpremote.transport import TransportError
from mpremote.transport_serial import SerialTransport

from .deadline import Deadline
from .errors import BoardLinkError
from .locks import LockedError

BAUDRATE = 115200
# A board that is asked answers within this time; time-outs are looked at in reads of _POLL_S.
ANSWER_TIMEOUT_S = 10.0
_POLL_S = 0.05
# No answer comes near this; a board that sends more without an end would fill the memory.
LARGEST_ANSWER = 16 << 20
# So much of a step is kept for the case that it fails.
_HEARD_BYTES = 8192
# Pieces in which data go to a port.
_PIECE_BYTES = 4096

# How the raw REPL marks the end of a program's output, and of its error.
EOT = b"\x04"

OnOutput = Callable[[bytes], None]
Deadlines = Callable[[float | None], Deadline]
_ENDLESS = Deadline(None)


class StepError(TransportError):  # type: ignore[misc]  # mpremote has no types
    """A step took longer in all, or the board sent more, than is allowed."""


class Port:
    """A serial port that waits for the board's time, not the host's; else as pyserial's."""

    def __init__(self, port: serial.Serial, deadlines: Deadlines = Deadline) -> None:
        """Take over an open port; `deadlines` makes the deadline of a wait."""
        self._port = port
        self._port.timeout = _POLL_S
        self._deadlines = deadlines
        self._received = bytearray()
        self._history = b""
        self.begin(None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._port, name, value)

    def begin(self, seconds: float | None) -> None:
        """Begin a step: reads and writes raise StepError once it took so long in all.

        A silence ends a step sooner. This is for boards that never stop sending, or that take
        what we send too slowly.
        """
        self._seconds = math.inf if seconds is None else seconds
        self._step = self._deadlines(seconds)
        self._heard = bytearray(self._received)
        self._looked = time.monotonic()

    @property
    def heard(self) -> bytes:
        """The last bytes that the board sent in this step."""
        return bytes(self._heard)

    @property
    def history(self) -> bytes:
        """The last bytes that the board sent since `forget`, in all steps."""
        return self._history

    def forget(self) -> None:
        """Begin a new history."""
        self._history = b""

    @property
    def in_waiting(self) -> int:
        """Number of bytes that can be read at once."""
        return len(self._received) + int(self._port.in_waiting)

    def inWaiting(self) -> int:  # noqa: N802  # the name that mpremote calls
        """Return the same as `in_waiting`."""
        return self.in_waiting

    def read(self, size: int = 1) -> bytes:
        """Return so many bytes, or fewer if the board keeps silent."""
        data, silence = b"", self._deadlines(ANSWER_TIMEOUT_S)
        while len(data) < size and self._fill(silence):
            data += self._take(size - len(data))
        return data

    def read_until(
        self,
        ending: bytes,
        timeout: float | None = ANSWER_TIMEOUT_S,
        *,
        overall: float | None = None,
        on_output: OnOutput | None = None,
    ) -> bytes:
        """Return all up to `ending`, or what came until a time-out.

        StepError when that is more than LARGEST_ANSWER.
        `timeout` bounds the silence between two bytes. With `on_output`, which gets each byte as
        it comes, only the last one is returned.
        """
        data, silence, end = bytearray(), self._deadlines(timeout), self._deadlines(overall)
        while not data.endswith(ending) and self._fill(silence, end):
            silence.restart()
            if on_output:
                data[:] = self._take(1)
                on_output(bytes(data))
            else:
                before = len(data)
                data += self._received
                _check_size(len(data))
                found = data.find(ending, max(0, before - len(ending) + 1))
                stop = len(data) if found < 0 else found + len(ending)
                self._received = data[stop:]
                del data[stop:]
        return bytes(data)

    def wait_for(self, mark: bytes, timeout: float) -> bool:
        """Take all up to the byte `mark`; False if the program on the board ended instead.

        What it printed before that stays to be read.
        """
        silence, at = self._deadlines(timeout), 0
        while True:
            text = self._received[at:]
            for end in (mark, EOT):
                if end in text:
                    self._received[:] = self._received.replace(mark, b"", 1)
                    return end == mark
            at += len(text)
            if not self._more(silence):
                raise StepError("fell silent")

    def read_exactly(self, size: int, timeout: float) -> bytes:
        """Return so many bytes; StepError if the board falls silent before."""
        _check_size(size)
        silence = self._deadlines(timeout)
        while len(self._received) < size:
            if not self._more(silence):
                raise StepError(f"sent {len(self._received)} of {size} bytes, then nothing more")
        return self._take(size)

    def _more(self, silence: Deadline) -> bool:
        """Take what comes; False after a silence."""
        before = len(self._received)
        self._receive()
        if len(self._received) > before:
            silence.restart()
            return True
        return not silence.expired()

    def write(self, data: bytes) -> int:
        """Write all; SerialTimeoutException if the board takes nothing and says nothing.

        StepError if the step's time is over before the board has taken all.

        What the board says meanwhile is kept: a board that echoes would else wait for its reader,
        and the writer for the board.
        """
        try:
            line = self._port.fileno()
        except (AttributeError, io.UnsupportedOperation):  # a URL without one, such as rfc2217
            for at in range(0, len(data), _PIECE_BYTES):
                self._check_step(f"took only {at} of {len(data)} bytes")
                self._port.write(data[at : at + _PIECE_BYTES])
            return len(data)
        self._port.write_timeout = 0  # writes what fits
        silence, written = self._deadlines(ANSWER_TIMEOUT_S), 0
        while written < len(data):
            self._check_step(f"took only {written} of {len(data)} bytes")
            readable, writable, _ = select.select([line], [line], [], _POLL_S)
            if readable:
                self._receive()
            if writable:
                written += int(self._port.write(data[written : written + _PIECE_BYTES]))
            if readable or writable:
                silence.restart()
            elif silence.expired():
                raise serial.SerialTimeoutException(
                    f"the board took {written} of {len(data)} bytes, then nothing more"
                )
        return written

    def _check_step(self, found: str) -> None:
        """End a step whose time is over; `found` is what the board did."""
        now = time.monotonic()
        if now - self._looked < _POLL_S:  # an emulator's deadline is slow to ask
            return
        self._looked = now
        if self._step.expired():
            raise StepError(f"{found} within {self._seconds:g} s")

    def _receive(self) -> None:
        """Take what has come, or the next byte if it comes soon."""
        self._check_step("kept sending, but gave no proper answer")
        try:
            data = self._port.read(max(1, self._port.in_waiting))
            self._received += data
            self._heard = (self._heard + data)[-_HEARD_BYTES:]
            self._history = (self._history + data)[-_HEARD_BYTES:]
        except OSError as error:  # a pseudo terminal without its other end
            raise serial.SerialException(f"nothing can be read: {error}") from error
        _check_size(len(self._received))

    def _fill(self, silence: Deadline, end: Deadline = _ENDLESS) -> bool:
        """Is there a byte, or does one come before a silence and the end?"""
        while not self._received:
            self._receive()
            if end.expired() or (not self._received and silence.expired()):
                return False
        return True

    def _take(self, size: int) -> bytes:
        """So many of the bytes that have come."""
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken


def _check_size(received: int) -> None:
    if received > LARGEST_ANSWER:
        raise StepError(f"sent more than {LARGEST_ANSWER:,} bytes, but no whole answer")


def _send_at_once(port: serial.Serial) -> None:
    """Have a network's port send without delay; pyserial leaves `socket://` as it is."""
    line = getattr(port, "_socket", None)
    if isinstance(line, socket.socket):
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def open_port(name: str, baudrate: int = BAUDRATE, **options: Any) -> serial.Serial:
    """Open a device or a URL of pyserial; BoardLinkError says why that fails.

    LockedError: another program has it.
    """
    try:
        return serial.serial_for_url(name, baudrate, exclusive=True, **options)
    except ValueError:
        raise BoardLinkError(
            f"{name} names no port: expected a device such as /dev/ttyACM0, socket://HOST:PORT or "
            "rfc2217://HOST:PORT"
        ) from None
    except OSError as error:
        # pyserial puts the reason of a network's port into its text only.
        source = error.__context__ if isinstance(error.__context__, OSError) else error
        number = source.errno or 0
        if number in (errno.EAGAIN, errno.EBUSY):
            raise LockedError(name, "") from None
        reason = os.strerror(number) if number > 0 else source.strerror or str(source)
    more = _ACCESS if number == errno.EACCES else ""
    raise BoardLinkError(f"{name} cannot be opened: {reason}{more}")


_ACCESS = "; your user may have to be in the group of the device (dialout, as a rule)"


class Transport(SerialTransport):  # type: ignore[misc]  # mpremote has no types
    """mpremote's protocol over a port that counts the board's time."""

    def __init__(self, name: str, deadlines: Deadlines) -> None:
        # Not mpremote's constructor, which drops the reason when a port cannot be opened.
        self.device_name = name
        self.in_raw_repl, self.use_raw_paste, self.mounted = False, True, False
        port = open_port(name, inter_byte_timeout=1)
        _send_at_once(port)
        self.serial = Port(port, deadlines)

    def follow(self, timeout: float, data_consumer: OnOutput | None = None) -> tuple[bytes, bytes]:
        """Output and error of the program that runs; StepError after a silence of `timeout`."""
        found = []
        for consumer in (data_consumer, None):
            data = self.read_until(1, EOT, timeout, consumer)
            if not data.endswith(EOT):
                raise StepError(f"sent nothing for longer than {timeout:g} s")
            found.append(data[:-1])
        return found[0], found[1]

    def read_until(
        self,
        min_num_bytes: int,
        ending: bytes,
        timeout: float | None = 10,
        data_consumer: OnOutput | None = None,
        timeout_overall: float | None = None,
    ) -> bytes:
        """Read until `ending`, or until one of the time-outs, in seconds of the board."""
        return self.serial.read_until(
            ending, timeout, overall=timeout_overall, on_output=data_consumer
        )
