# SPDX-License-Identifier: MIT
"""A serial line with faults, in a pseudo terminal that relays bytes of a board's port."""

import contextlib
import os
import select
import termios
import threading
import time
import tty
from dataclasses import dataclass, field

KINDS = ("drop", "double", "damage", "delay", "noise", "flood", "silence")
_ROOM = 4096


@dataclass(frozen=True)
class Fault:
    """A fault at byte number `place` of one direction, affecting `size` bytes."""

    to_board: bool
    place: int
    kind: str
    size: int


@dataclass
class _Way:
    """One direction: pending faults, and data to be written."""

    source: int
    target: int
    faults: list[Fault] = field(default_factory=list)
    waiting: bytearray = field(default_factory=bytearray)
    passed: int = 0
    held_until: float = 0.0
    flood: bool = False
    silent: bool = False

    def take(self, data: bytes, dice) -> None:
        """Relay bytes, applying the faults."""
        while self.faults and self.faults[0].place < self.passed + len(data):
            fault = self.faults.pop(0)
            at = max(0, fault.place - self.passed)
            self.passed += at
            self.waiting += b"" if self.silent else data[:at]
            data = self._spoil(fault, data[at:], dice)
        self.passed += len(data)
        self.waiting += b"" if self.silent else data

    def _spoil(self, fault: Fault, data: bytes, dice) -> bytes:
        head, rest = data[: fault.size], data[fault.size :]
        match fault.kind:
            case "drop":
                return rest
            case "double":
                return head + head + rest
            case "damage":
                return bytes(byte ^ 1 << dice.randrange(8) for byte in head) + rest
            case "noise":
                return dice.randbytes(fault.size) + data
            case "delay":
                self.held_until = time.monotonic() + fault.size * 1e-3
            case "flood":
                self.flood = True
            case "silence":
                self.silent = True
        return data

    def write(self, dice) -> None:
        """Write pending data, or a part of a flood."""
        if self.flood and not self.waiting:
            self.waiting += dice.randbytes(512)
        if time.monotonic() >= self.held_until:
            with contextlib.suppress(BlockingIOError):
                del self.waiting[: os.write(self.target, self.waiting[:_ROOM])]

    def wants_to_write(self) -> bool:
        """Whether there is anything to write now."""
        return bool(self.waiting or self.flood) and time.monotonic() >= self.held_until


class BadLine:
    """Serves one board until closed; `port` is the tools' end."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(self._slave)
        self._stop: threading.Event | None = None
        self.begin([], None)

    def begin(self, faults: list[Fault], dice) -> None:
        """Discard pending data and schedule these faults."""
        self.pause()
        self._dice = dice
        self._faults = sorted(faults, key=lambda fault: fault.place)
        self.resume()

    def pause(self) -> None:
        """Close the board's port so that others can use it."""
        if self._stop:
            self._stop.set()
            self._thread.join()
            os.close(self._board)
        self._stop = None

    def resume(self) -> None:
        """Connect again."""
        self._board = os.open(self._target, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self._board)
        for end in (self._slave, self._board):
            termios.tcflush(end, termios.TCIOFLUSH)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(self._stop,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self.pause()
        os.close(self._slave)
        os.close(self._master)

    def _serve(self, stop: threading.Event) -> None:
        ways = [_Way(self._master, self._board), _Way(self._board, self._master)]
        for fault in self._faults:
            ways[0 if fault.to_board else 1].faults.append(fault)
        while not stop.is_set():
            sources = [way.source for way in ways if len(way.waiting) < _ROOM]
            targets = [way.target for way in ways if way.wants_to_write()]
            readable, writable, _ = select.select(sources, targets, [], 0.005)
            for way in ways:
                with contextlib.suppress(OSError):
                    if way.source in readable:
                        way.take(os.read(way.source, _ROOM), self._dice)
                    if way.target in writable:
                        way.write(self._dice)
