# SPDX-License-Identifier: MIT
"""A board's serial port, with waits in board time and bounded steps.

It uses mpremote's protocol. The port is locked while it is open (flock(2) on the device, as
pyserial does for mpremote), which keeps out other users of this computer.
"""

import contextlib
import errno
import io
import math
import os
import re
import select
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import serial
from mpremote.transport import TransportError
from mpremote.transport_serial import SerialTransport
from serial.urlhandler import protocol_socket

from ..base.deadline import Deadline
from ..base.errors import BoardLinkError
from ..base.locks import LockedError, not_a_port
from . import restart

BAUDRATE = 115200
# A responsive board answers within this time; time-outs are checked in reads of _POLL_S.
ANSWER_TIMEOUT_S = 10.0
_POLL_S = 0.05
# After its banner, a board that restarted prints its prompt within this time.
_PROMPT_S = 0.2
# Valid answers are far shorter; a board that sends endlessly must not fill the memory.
LARGEST_ANSWER = 16 << 20
# Number of bytes kept from a step for error reports.
_RECENT_BYTES = 8192
# Chunk size for writes to a port.
_PIECE_BYTES = 4096

# The raw REPL's mark for the end of a program, of its output and of its error.
EOT = b"\x04"
# This follows a program's output, unless the program itself has printed such a mark.
_ENDED = re.compile(rb"\x04([^\x04]*)\x04(?:>|MPY: soft reboot)")
# Answers to a request for raw paste mode, which old boards take for a request for the raw REPL.
_PASTES, _NO_PASTE, _OLD = b"R\x01", b"R\x00", b"raw REPL; CTRL-B to exit\r\n>"
_SOFT_RESET = b"MPY: soft reboot"
_WINDOW = b"\x01"  # the board has room for another window of code
_OLD_PIECE_BYTES, _OLD_PAUSE_S = 256, 0.01  # for boards without flow control

OnOutput = Callable[[bytes], None]
Deadlines = Callable[[float | None], Deadline]
_ENDLESS = Deadline(None)


class StepError(TransportError):  # type: ignore[misc]  # mpremote has no types
    """A step took too long in total, or the board sent too much."""


class RestartedError(StepError):
    """The board restarted: its banner was followed by the prompt of a new interpreter."""


_SOCKET_BYTES = 65536


def _waiting(port: serial.Serial) -> int:
    """Count the bytes that can be read at once: of `socket://`, pyserial knows no more than one."""
    if isinstance(port, protocol_socket.Serial):
        with contextlib.suppress(OSError):  # nothing is there, or nothing any more
            return len(port._socket.recv(_SOCKET_BYTES, socket.MSG_PEEK))
        return 0
    return int(port.in_waiting)


class Port:
    """A serial port whose waits are in board time, not host time; otherwise like pyserial's."""

    def __init__(self, port: serial.Serial, deadlines: Deadlines = Deadline) -> None:
        """Wrap an open port; `deadlines` makes the deadline of a wait."""
        self._port = port
        if port.timeout != _POLL_S:  # pyserial configures the port again, whose device may be gone
            port.timeout = _POLL_S
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

    def begin(self, seconds: float | None, *, watch: bool = False) -> None:
        """Begin a step: reads and writes raise StepError once its total time is exceeded.

        Silence ends a step sooner. The limit is for boards that never stop sending, or that accept
        data too slowly. With `watch`, a restart of the board raises RestartedError.
        """
        self._watches = watch
        self._restart: Deadline | None = None  # set when a banner was seen
        self._reply: bytes | None = None  # the reply to Enter
        self._skipped = b""
        self._seconds = math.inf if seconds is None else seconds
        self._step = self._deadlines(seconds)
        self._recent = bytearray(self._received)
        self._checked_at = time.monotonic()

    @property
    def recent(self) -> bytes:
        """The last bytes that the board sent in this step."""
        return bytes(self._recent)

    @property
    def history(self) -> bytes:
        """The last bytes that the board sent since `forget`, in all steps."""
        return self._history

    def forget(self) -> None:
        """Clear the history."""
        self._history = b""

    @property
    def in_waiting(self) -> int:
        """Number of bytes that can be read without waiting."""
        return len(self._received) + int(self._port.in_waiting)

    def inWaiting(self) -> int:  # noqa: N802  # mpremote calls this name
        """Return the same as `in_waiting`."""
        return self.in_waiting

    def read(self, size: int = 1) -> bytes:
        """Return the requested number of bytes, or fewer if the board falls silent."""
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
        """Return everything up to `ending`, or what was received before a time-out.

        StepError if that exceeds LARGEST_ANSWER.
        `timeout` limits the gap between two bytes. With `on_output`, which receives each byte as it
        arrives, only the last byte is returned.
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
                at = data.find(ending, max(0, before - len(ending) + 1))
                stop = len(data) if at < 0 else at + len(ending)
                self._received = data[stop:]
                del data[stop:]
        return bytes(data)

    def skip_to(
        self, *marks: bytes, timeout: float = ANSWER_TIMEOUT_S, or_end: bool = False
    ) -> bytes:
        """Consume input up to one of the marks, and return it; StepError after a silence.

        What the board sent before is kept for `take_skipped`: its timers may print at any time.
        With `or_end`, b"" if the program on the board ended instead; its output remains to be read.
        """
        silence, at = self._deadlines(timeout), 0
        longest = max(map(len, marks))
        while True:
            found = [(self._received.find(mark, at), mark) for mark in marks]
            if places := [pair for pair in found if pair[0] >= 0]:
                end, mark = min(places)
                self.skip(self._take(end))
                self._take(len(mark))
                return mark
            if or_end and EOT in self._received and _ENDED.search(self._received):
                return b""
            at = max(0, len(self._received) - longest + 1)
            if not self._more(silence):
                raise StepError("stopped responding")

    def hear(self, *, raw: bool) -> bytes:
        """Take what the board printed, without waiting for more than a moment.

        At the `raw` REPL, the end of a program and the prompt remain to be read.
        """
        self._receive()
        if not raw:
            return self._take(len(self._received))
        end = self._received.find(EOT)
        return self._take(len(self._received) if end < 0 else end)

    def hear_idle(self) -> bytes:
        """Take what a board without a program printed, such as its timers."""
        self._receive()
        data = self._take(len(self._received))
        if b">" in data:  # the prompt remains to be read
            self._received += b">"
        return data.replace(b">", b"", 1)

    def ended(self) -> bytes | None:
        """Return the traceback of a program that has ended, b"" without one; None if it runs."""
        found = _ENDED.match(self._received)
        return found[1] if found else None

    def is_at_prompt(self) -> bool:
        """Whether the raw REPL's prompt, or a soft reset, follows what the program sent."""
        silence = self._deadlines(_PROMPT_S)
        while EOT not in self._received:
            start = bytes(self._received[: len(_SOFT_RESET)])
            if start.startswith(b">") or (start and _SOFT_RESET.startswith(start)):
                return True
            if not self._more(silence):
                return not self._received or self._received.endswith(b">")
        return self._received.startswith(b">")

    def skip(self, data: bytes) -> None:
        """Keep unsolicited data of the board for `take_skipped`."""
        self._skipped = (self._skipped + data)[-_RECENT_BYTES:]

    def take_skipped(self) -> bytes:
        """Return the last unsolicited data of this step."""
        skipped, self._skipped = self._skipped, b""
        return skipped

    def read_exactly(self, size: int, timeout: float) -> bytes:
        """Return the requested number of bytes; StepError if the board falls silent first."""
        _check_size(size)
        silence = self._deadlines(timeout)
        while len(self._received) < size:
            if not self._more(silence):
                raise StepError(f"sent only {len(self._received)} of {size} bytes")
        return self._take(size)

    def _more(self, silence: Deadline) -> bool:
        """Receive available data; False after a silence."""
        before = len(self._received)
        self._receive()
        if len(self._received) > before:
            silence.restart()
            return True
        return not silence.expired()

    def write(self, data: bytes) -> int:
        """Write all data; SerialTimeoutException if the board neither accepts nor sends anything.

        StepError if the step's time expires before the board has accepted everything.

        Data received meanwhile is kept. Otherwise an echoing board would wait for its reader, and
        the writer for the board.
        """
        try:
            line = self._port.fileno()
        except (AttributeError, io.UnsupportedOperation):  # no descriptor, such as rfc2217
            for at in range(0, len(data), _PIECE_BYTES):
                self._check_step(f"accepted only {at} of {len(data)} bytes")
                self._port.write(data[at : at + _PIECE_BYTES])
            return len(data)
        if self._port.write_timeout != 0:  # pyserial sets all of the device's attributes
            self._port.write_timeout = 0  # non-blocking
        silence, written = self._deadlines(ANSWER_TIMEOUT_S), 0
        while written < len(data):
            self._check_step(f"accepted only {written} of {len(data)} bytes")
            readable, writable, _ = select.select([line], [line], [], _POLL_S)
            if readable:
                self._receive()
            if writable:
                written += int(self._port.write(data[written : written + _PIECE_BYTES]))
            if readable or writable:
                silence.restart()
            elif silence.expired():
                raise serial.SerialTimeoutException(
                    f"the board accepted only {written} of {len(data)} bytes"
                )
        return written

    def _check_step(self, behaviour: str) -> None:
        """Raise StepError if the step's time is over; `behaviour` is what the board did."""
        now = time.monotonic()
        if now - self._checked_at < _POLL_S:  # an emulator's deadline is slow to query
            return
        self._checked_at = now
        if self._step.expired():
            raise StepError(f"{behaviour} within {self._seconds:g} s")

    def _receive(self) -> None:
        """Receive available data, or the next byte if it arrives soon."""
        self._check_step("kept sending, but sent no valid response")
        try:
            data = self._port.read(max(1, _waiting(self._port)))
            self._received += data
            self._recent = (self._recent + data)[-_RECENT_BYTES:]
            self._history = (self._history + data)[-_RECENT_BYTES:]
        except OSError as error:  # a pseudo terminal whose other end is closed
            raise serial.SerialException(f"the port cannot be read: {error}") from error
        _check_size(len(self._received))
        if self._watches:
            self._check_restart(data)

    def check_idle(self) -> None:
        """Raise RestartedError if the board has restarted since the last program."""
        if self._port.in_waiting:
            self._receive()
        if restart.BANNER.search(self._recent):
            raise RestartedError("restarted")

    def _check_restart(self, data: bytes) -> None:
        """Raise RestartedError if `data` shows that the board is at a new interpreter's prompt.

        A program may print a banner and a prompt as well, such as those of another board, but it
        does not answer Enter with a prompt.
        """
        if self._reply is not None:
            self._reply += data
            if restart.PROMPT in self._reply:
                raise RestartedError("restarted")
        elif self._restart is not None:
            if self._restart.expired():
                self._reply = b""
                self._port.write(b"\r")
        elif restart.BANNER.search(self._recent):
            self._restart = self._deadlines(_PROMPT_S)

    def _fill(self, silence: Deadline, end: Deadline = _ENDLESS) -> bool:
        """Whether a byte is available, or arrives before silence or the end of the step."""
        while not self._received:
            self._receive()
            if end.expired() or (not self._received and silence.expired()):
                return False
        return True

    def _take(self, size: int) -> bytes:
        """Take up to `size` of the received bytes."""
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken


def _check_size(received: int) -> None:
    if received > LARGEST_ANSWER:
        raise StepError(f"sent more than {LARGEST_ANSWER:,} bytes, but no complete response")


def usb_ports() -> list[Any]:
    """List ports of USB devices only, because no board is connected to a PC's own UARTs."""
    from serial.tools.list_ports import comports

    return [port for port in sorted(comports()) if port.vid is not None]


class UsbDevice(NamedTuple):
    """What a USB device keeps when it leaves and comes back, perhaps under another port's name.

    Many adapters of one kind have the same serial number: the socket tells them apart.
    """

    identity: tuple[int, int, str, str]
    where: str
    name: str
    is_shared: bool  # another device here had the same identity

    @classmethod
    def at(cls, name: str) -> "UsbDevice | None":
        """Return the device with this port; None for other ports, and without a serial number."""
        place, ports = os.path.realpath(name), usb_ports()
        port = next((each for each in ports if os.path.realpath(each.device) == place), None)
        if port is None or not port.serial_number:
            return None
        identity, where = _identity(port), _where(port)
        places = {_where(each) for each in ports if _identity(each) == identity}
        return cls(identity, where, port.device, len(places) > 1)

    def port(self) -> str:
        """Return the name of its port today; BoardLinkError if that is not certain."""
        found = [port for port in usb_ports() if _identity(port) == self.identity]
        here = [port for port in found if _where(port) == self.where]
        named = [port for port in here if port.device == self.name]
        left = named or here or ([] if self.is_shared else found)
        if len(left) == 1:
            return str(left[0].device)
        number, names = self.identity[2], ", ".join(port.device for port in found)
        if left:
            raise BoardLinkError(
                f"{len(left)} USB ports have the board's serial number {number}, and none is where "
                f"the board was ({self.where}): {names}"
            )
        other = f", only on another device, at {names}" if found else ""
        raise BoardLinkError(f"no USB port has the board's serial number {number}{other}")


def _identity(port: Any) -> tuple[int, int, str, str]:
    """Return vendor, product, serial number and interface, as in 1-2:1.0.

    macOS tells no interface, but ends the names of a device's ports with different digits.
    """
    interface = (port.location or "").partition(":")[2]
    if not interface and "usbmodem" in port.device:
        interface = port.device[-1]
    return port.vid, port.pid, port.serial_number, interface


def _where(port: Any) -> str:
    """Return where a device is plugged in, or the port's name if the system does not tell."""
    return str(port.location or port.device)


def open_port(name: str, baudrate: int = BAUDRATE, **options: Any) -> serial.Serial:
    """Open a device or a pyserial URL; BoardLinkError with the reason on failure.

    Of socket://WORD@HOST:PORT, the word is sent first, which a board of this computer may require.
    LockedError: another program is using it.
    """
    options = {"timeout": _POLL_S} | options
    try:
        port = serial.serial_for_url(name, baudrate, exclusive=True, do_not_open=True, **options)
        is_socket = name.lower().startswith("socket://")
        if is_socket:  # else the greeting of another service is lost
            port.reset_input_buffer = lambda: None
        port.open()
        if is_socket and (word := urlsplit(name).username):
            port.write(word.encode())
        return port
    except ValueError:
        raise not_a_port(name) from None
    except OSError as error:
        # For network ports, pyserial includes the reason only in the message.
        source = error.__context__ if isinstance(error.__context__, OSError) else error
        number = source.errno or 0
        if number in (errno.EAGAIN, errno.EBUSY):
            raise LockedError(name, "") from None
        reason = os.strerror(number) if number > 0 else source.strerror or str(source)
    hint = _ACCESS if number == errno.EACCES else ""
    if number == errno.ENOENT:
        found = ", ".join(port.device for port in usb_ports()) or "none"
        hint = f"; USB serial ports here: {found} (see `ethosu doctor`)"
    raise BoardLinkError(f"{name} cannot be opened: {reason}{hint}")


_ACCESS = "; your user may need to join the group of the device (usually dialout)"


class Transport(SerialTransport):  # type: ignore[misc]  # mpremote has no types
    """mpremote's protocol over a port with waits in board time."""

    def __init__(self, name: str, deadlines: Deadlines) -> None:
        # Does not call mpremote's constructor, which drops the reason when a port cannot be opened.
        self.device_name = name
        self.in_raw_repl, self.use_raw_paste, self.mounted = False, True, False
        port = open_port(name, inter_byte_timeout=1)
        if isinstance(line := getattr(port, "_socket", None), socket.socket):
            # pyserial does not do this for `socket://`
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.serial = Port(port, deadlines)

    def exec_raw_no_follow(self, command: str | bytes) -> None:
        """Start a program at the raw REPL's prompt.

        mpremote's function takes what the board prints on its own for a part of the protocol.
        """
        code = command.encode() if isinstance(command, str) else command
        port = self.serial
        port.skip_to(b">")
        if self.use_raw_paste:
            port.write(b"\x05A\x01")
            if port.skip_to(_PASTES, _NO_PASTE, _OLD) == _PASTES:
                self._paste(code)
                return
            self.use_raw_paste = False
        for at in range(0, len(code), _OLD_PIECE_BYTES):
            port.write(code[at : at + _OLD_PIECE_BYTES])
            time.sleep(_OLD_PAUSE_S)
        port.write(EOT)
        port.skip_to(b"OK")

    def _paste(self, code: bytes) -> None:
        """Send a program, with the flow control of MicroPython's "raw paste mode"."""
        port = self.serial
        window = room = int.from_bytes(port.read_exactly(2, ANSWER_TIMEOUT_S), "little")
        at = 0
        while at < len(code):
            while not room or port.in_waiting:
                control = port.read(1)
                if control == _WINDOW:
                    room += window
                elif control == EOT:  # for example, a syntax error
                    port.write(EOT)
                    return
                elif not control:
                    raise StepError("stopped responding")
                else:
                    port.skip(control)
            sent = port.write(code[at : at + room])
            at, room = at + sent, room - sent
        port.write(EOT)
        port.skip_to(EOT)

    def follow(self, timeout: float, data_consumer: OnOutput | None = None) -> tuple[bytes, bytes]:
        """Return the running program's output and error; StepError after a silence of `timeout`."""
        output, error = (self._part(timeout, each) for each in (data_consumer, None))
        while not self.serial.is_at_prompt():  # the program has printed Ctrl-D itself
            if data_consumer:
                data_consumer(error + EOT)
            else:
                output += EOT + error
            error = self._part(timeout, None)
        return output, error

    def _part(self, timeout: float, data_consumer: OnOutput | None) -> bytes:
        data = self.read_until(1, EOT, timeout, data_consumer)
        if not data.endswith(EOT):
            raise StepError(f"sent nothing for longer than {timeout:g} s")
        return data[:-1]

    def read_until(
        self,
        min_num_bytes: int,
        ending: bytes,
        timeout: float | None = 10,
        data_consumer: OnOutput | None = None,
        timeout_overall: float | None = None,
    ) -> bytes:
        """Read until `ending` or one of the time-outs, in seconds of board time."""
        return self.serial.read_until(
            ending, timeout, overall=timeout_overall, on_output=data_consumer
        )
