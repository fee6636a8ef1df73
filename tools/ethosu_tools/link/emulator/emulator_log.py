# SPDX-License-Identifier: MIT
"""Keeps the output of an emulator or its firmware in bounded memory."""

import os
import select
import sys
import threading

from ...base.closeable import Closeable
from ...base.errors import NotHereError

# Numbers of bytes kept from the beginning and from the end.
KEPT = 1 << 20
# Capacity of a pipe, and number of bytes read at once.
_PIPE, _CHUNK = 1 << 20, 1 << 16
_END_S = 2.0
# This text marks the gap; also used by callers that need a whole log.
LEFT_OUT = "bytes of output are left out"


class Excerpt:
    """The beginning and the end of data of any length."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._head, self._tail = bytearray(), bytearray()
        self._left_out = 0

    def take(self, data: bytes) -> None:
        """Add data."""
        room = self._kept - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._kept:  # rarely, because it copies
            self._left_out += len(self._tail) - self._kept
            del self._tail[: -self._kept]

    def size(self) -> int:
        """Size of all data."""
        return len(self._head) + self._left_out + len(self._tail)

    def data(self, since: int = 0) -> bytes:
        """Return what is kept of the data after the first `since` bytes.

        A line says how much is left out between beginning and end.
        """
        head, end = self._head[since:], max(self.size() - self._kept, len(self._head))
        left_out = end - max(since, len(self._head))
        gap = f"\n[{left_out:,} {LEFT_OUT}]\n".encode() if left_out > 0 else b""
        return bytes(head + gap + self.end(min(self.size() - end, self.size() - since)))

    def end(self, size: int) -> bytes:
        """Return the last bytes, at most `size`."""
        missing = max(0, size - len(self._tail))
        head = self._head[len(self._head) - missing :] if missing < len(self._head) else self._head
        return bytes(head + self._tail[max(0, len(self._tail) - size) :])


class EmulatorLog(Closeable):
    """A pipe whose content is kept as an `Excerpt`, so that no writer waits for long."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise NotHereError("an emulated board")
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._kept, self._lock = Excerpt(), threading.Lock()
        self._has_writer = self._has_reader = True
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Return the writing end, for the emulator."""
        return self._write

    def size(self) -> int:
        """Return the number of bytes that have been written so far."""
        with self._lock:
            self._drain()
            return self._kept.size()

    def text(self, since: int = 0) -> str:
        """Return what has been written after the first `since` bytes, as far as it is kept."""
        with self._lock:
            self._drain()
            return self._kept.data(since).decode(errors="replace")

    def end(self, limit: int) -> str:
        """Return the last `limit` bytes that have been written so far."""
        with self._lock:
            self._drain()
            return self._kept.end(limit).decode(errors="replace")

    def close(self) -> None:
        """Close the pipe; the text remains."""
        if self._has_writer:
            self._has_writer = False
            os.close(self._write)
            self._thread.join(_END_S)  # longer only if another process still writes

    def _follow(self) -> None:
        """Read until all writing ends are closed."""
        if sys.platform != "linux":
            return
        ready = select.poll()  # select() takes no descriptor above 1023
        ready.register(self._read, select.POLLIN)
        while self._has_reader:
            ready.poll()
            with self._lock:
                self._has_reader = self._take() != b""
        os.close(self._read)

    def _drain(self) -> None:
        """Read what is in the pipe now."""
        for _ in range(_PIPE // _CHUNK if self._has_reader else 0):
            if not self._take():
                break

    def _take(self) -> bytes | None:
        """Read some data from the pipe; None if it is empty now, b"" if it is closed."""
        try:
            data = os.read(self._read, _CHUNK)
        except BlockingIOError:
            return None
        self._kept.take(data)
        return data
