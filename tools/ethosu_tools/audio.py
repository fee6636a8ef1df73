# SPDX-License-Identifier: MIT
"""The board's `ethosu_audio` in this process: the same C code, the same face."""

from __future__ import annotations

from array import array
from typing import Protocol

from .errors import InputError
from .library import ffi, load_sim

BANDS, WINDOW, FFT = 40, 480, 512
SCALE = 0.0390625


class Stream(Protocol):
    """Anything with readinto()."""

    def readinto(self, buffer: bytearray, /) -> int | None:
        """Read into a buffer; returns the number of bytes."""


class Ring:
    """Samples on their way; on a PC nothing interrupts, so a list of bytes will do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._bytes = bytearray()

    def fill(self, stream: Stream, most: int) -> int:
        """Read up to `most` samples; returns how many."""
        piece = bytearray(2 * min(most, self.size - self.any()))
        count = stream.readinto(piece) or 0
        self._bytes += piece[:count]
        return count // 2

    def any(self) -> int:
        """Samples that can be read."""
        return len(self._bytes) // 2

    def take(self, most: int) -> bytes:
        """The oldest samples."""
        piece = bytes(self._bytes[: 2 * most])
        del self._bytes[: 2 * most]
        return piece


class MicroFrontend:
    """Rows of features of samples, see modules/ethosu/ethosu_audio.pyi."""

    values, window = BANDS, WINDOW

    def __init__(self, *, hop: int = 160) -> None:
        if not 1 <= hop <= WINDOW:
            raise InputError(f"hop is {hop}, 1 to {WINDOW} expected")
        self._library = load_sim()
        self._state = ffi().new("struct ethosu_audio_micro *")
        self._library.ethosu_audio_micro_start(self._state, hop)

    def process(self, ring: Ring, rows: array[float]) -> int:
        """Write so many rows as there are samples for and as fit; returns how many."""
        window = ffi().addressof(self._state, "window")
        row = ffi().new("uint16_t[]", BANDS)
        made = 0
        while made < len(rows) // BANDS and ring.any():
            samples = ffi().from_buffer("int16_t[]", ring.take(WINDOW - window.used))
            self._library.ethosu_audio_window_take(window, samples, len(samples))
            if self._library.ethosu_audio_window_full(window):
                self._library.ethosu_audio_micro_row(self._state, row)
                self._library.ethosu_audio_window_advance(window)
                for i, value in enumerate(row):
                    rows[made * BANDS + i] = value * SCALE
                made += 1
        return made
