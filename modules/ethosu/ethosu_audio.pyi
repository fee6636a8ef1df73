# SPDX-License-Identifier: MIT
"""Features of sound, as models of speech and of sounds take them.

Sound is 16-bit samples at 16 kHz, one channel: an array("h"), or its bytes. A front end makes a row
of numbers of each window of samples, and moves on by a hop. It remembers what was left over, so
sound may come in pieces of any size. Nothing is allocated after construction.
"""

from typing import Any

_Buffer = Any

RATE: int
"""Samples in a second: 16000."""

class _Frontend:
    values: int
    """Numbers of a row."""
    window: int
    """Samples of which a row is made."""
    hop: int
    """Samples from one row to the next."""

    def process(self, samples: _Buffer | Ring, rows: _Buffer) -> int:
        """Take samples and write the rows that they finish; returns how many rows.

        All samples of a buffer are taken. ValueError: they finish more rows than `rows` has room
        for; then none is taken. Of a Ring so many are taken as there are and as `rows` has room
        for. `rows`: an array("f") for whole rows of real numbers; of a MicroFrontend also an
        array("H") for the integers of which each is 0.0390625.
        """

    def rows(self, samples: int, /) -> int:
        """How many rows so many further samples finish."""

    def reset(self) -> None:
        """Forget all sound."""

class MicroFrontend(_Frontend):
    """The micro frontend of TensorFlow Lite: what microWakeWord and Micro Speech models take.

    40 values: window of 30 ms, FFT, filters from 125 to 7500 Hz, noise reduction, gain (PCAN),
    logarithm. Equal to the package pymicro-features bit by bit.
    """

    def __init__(self, *, hop: int = 160) -> None:
        """`hop`: samples from row to row; 160 for microWakeWord, 320 for Micro Speech."""

class Mfcc(_Frontend):
    """Mel-frequency cepstral coefficients, as the keyword benchmark of MLPerf Tiny takes them.

    Amplitudes of a Hann window, bands on HTK's mel scale, natural logarithm, DCT: tf.signal's.
    """

    gain: float
    """Each sample is multiplied by this; 1/32768 at first. May be assigned."""

    def __init__(
        self,
        *,
        window: int = 480,
        hop: int = 320,
        bands: int = 40,
        low_hz: float = 20,
        high_hz: float = 4000,
        coefficients: int = 10,
    ) -> None:
        """ValueError: a number is out of its range, which the message tells."""

class LogMel(_Frontend):
    """Log-mel spectrum in decibels, as the anomaly benchmark of MLPerf Tiny takes it.

    Squares of a Hann window's spectrum, bands of equal area on Slaney's mel scale: librosa's.
    librosa puts half a window of silence in front: its row n + 1 is this one's row n.
    """

    gain: float
    """Each sample is multiplied by this; 1/32768 at first. May be assigned."""

    def __init__(
        self,
        *,
        window: int = 1024,
        hop: int = 512,
        bands: int = 128,
        low_hz: float = 0,
        high_hz: float = 8000,
    ) -> None:
        """ValueError: a number is out of its range, which the message tells."""

class Ring:
    """Samples on their way from one writer to one reader; either may be an interrupt."""

    size: int
    """Samples that it holds."""
    lost: int
    """Samples that found no room."""
    overruns: int
    """How often some were lost."""

    def __init__(self, size: int, /) -> None:
        """`size`: samples, rounded up to a power of two."""

    def write(self, samples: _Buffer, /) -> int:
        """Write samples; returns how many found room. The others are lost and counted.

        Allocates nothing, so a hard interrupt may call it.
        """

    def fill(self, stream: Any, most: int = ..., /) -> int:
        """Read up to `most` samples from anything with readinto(); returns how many.

        A file, a UART, machine.I2S, an object of yours. It reads what there is room for, and ends
        when the stream gives less. 0: the stream has ended, or has nothing now.
        """

    def readinto(self, buffer: _Buffer, /) -> int:
        """Read the oldest samples into a buffer; returns the number of bytes."""

    def any(self) -> int:
        """Samples that can be read."""
