# SPDX-License-Identifier: MIT
"""The board's `ethosu_audio` in this process: the same C code, the same face."""

from __future__ import annotations

import ctypes as c
from array import array
from typing import Protocol

from . import native, paths
from .errors import InputError

BANDS, WINDOW, FFT = 40, 480, 512
SCALE = 0.0390625


class _Window(c.Structure):
    _fields_ = (
        ("samples", c.c_void_p),
        ("size", c.c_size_t),
        ("hop", c.c_size_t),
        ("used", c.c_size_t),
    )


class _Micro(c.Structure):
    """struct ethosu_audio_micro of ethosu_audio.h."""

    _fields_ = (
        ("window", _Window),
        ("noise", c.c_uint32 * BANDS),
        ("samples", c.c_int16 * WINDOW),
        ("windowed", c.c_int16 * FFT),
        ("bins", c.c_uint32 * (FFT // 2 + 1)),
    )


_FUNCTIONS: native.Functions = {
    "ethosu_audio_micro_start": (None, c.POINTER(_Micro), c.c_size_t),
    "ethosu_audio_micro_row": (None, c.POINTER(_Micro), c.c_void_p),
    "ethosu_audio_window_take": (c.c_size_t, c.c_void_p, c.c_void_p, c.c_size_t),
    "ethosu_audio_window_full": (c.c_bool, c.c_void_p),
    "ethosu_audio_window_advance": (None, c.c_void_p),
}


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
        self._library = native.load_library(paths.host_library(), "sim-host", _FUNCTIONS)
        self._state = _Micro()
        self._library.ethosu_audio_micro_start(c.byref(self._state), hop)

    def process(self, ring: Ring, rows: array[float]) -> int:
        """Write so many rows as there are samples for and as fit; returns how many."""
        window = c.byref(self._state.window)
        made = 0
        while made < len(rows) // BANDS and ring.any():
            samples = ring.take(WINDOW - self._state.window.used)
            self._library.ethosu_audio_window_take(window, samples, len(samples) // 2)
            if self._library.ethosu_audio_window_full(window):
                row = (c.c_uint16 * BANDS)()
                self._library.ethosu_audio_micro_row(c.byref(self._state), row)
                self._library.ethosu_audio_window_advance(window)
                for i, value in enumerate(row):
                    rows[made * BANDS + i] = value * SCALE
                made += 1
        return made
