# SPDX-License-Identifier: MIT
"""Features of sound, as input for models of speech and other sounds.

Sound is 16-bit samples at 16 kHz, one channel: an array("h"), or its bytes. A front end computes a
row of numbers from each window of samples, then moves on by a hop. It keeps remaining samples, so
sound may arrive in pieces of any size. Nothing is allocated after construction.
"""

from typing import Any

_Buffer = Any

RATE: int
"""Samples per second: 16000."""

class _Frontend:
    values: int
    """Numbers per row."""
    window: int
    """Samples per row."""
    hop: int
    """Samples from one row to the next."""

    def process(self, samples: _Buffer | Ring, rows: _Buffer) -> int:
        """Process samples and write the rows that they complete; returns the number of rows.

        A buffer is consumed whole. Raises ValueError, and consumes nothing, if it completes more
        rows than `rows` can hold. From a Ring, as many samples are read as are available and as
        `rows` has room for. `rows` is an array("f") for whole rows of real numbers; MicroFrontend
        also accepts an array("H") for integers in units of 0.0390625.
        """

    def rows(self, samples: int, /) -> int:
        """Return the number of rows that this number of further samples completes."""

    def reset(self) -> None:
        """Discard the samples received so far."""

class MicroFrontend(_Frontend):
    """The micro frontend of TensorFlow Lite, for microWakeWord and Micro Speech models.

    40 values: window of 30 ms, FFT, filters from 125 to 7500 Hz, noise reduction, gain (PCAN),
    logarithm. Bit-exact with the package pymicro-features.
    """

    def __init__(self, *, hop: int = 160) -> None:
        """`hop`: samples between rows; 160 for microWakeWord, 320 for Micro Speech."""

class Mfcc(_Frontend):
    """Mel-frequency cepstral coefficients, for the keyword benchmark of MLPerf Tiny.

    Amplitudes of a Hann window, bands on HTK's mel scale, natural logarithm, DCT, as in tf.signal.
    """

    gain: float
    """Factor for each sample, initially 1/32768; may be assigned."""

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
        """Raises ValueError if a number is out of range; the message gives the range."""

class LogMel(_Frontend):
    """Log-mel spectrum in decibels, for the anomaly benchmark of MLPerf Tiny.

    Squares of a Hann window's spectrum, bands of equal area on Slaney's mel scale, as in librosa.
    librosa prepends half a window of silence, so its row n + 1 is row n here.
    """

    gain: float
    """Factor for each sample, initially 1/32768; may be assigned."""

    def __init__(
        self,
        *,
        window: int = 1024,
        hop: int = 512,
        bands: int = 128,
        low_hz: float = 0,
        high_hz: float = 8000,
    ) -> None:
        """Raises ValueError if a number is out of range; the message gives the range."""

class Ring:
    """A queue of samples with one writer and one reader; either may be an interrupt."""

    size: int
    """Capacity in samples."""
    lost: int
    """Samples lost because the queue was full."""
    overruns: int
    """Number of times that samples were lost."""

    def __init__(self, size: int, /) -> None:
        """`size`: samples, rounded up to a power of two."""

    def write(self, samples: _Buffer, /) -> int:
        """Write samples; returns the number written. The others are lost and counted.

        Allocates nothing, so a hard interrupt may call it.
        """

    def fill(self, stream: Any, most: int = ..., /) -> int:
        """Read up to `most` samples from any object with readinto(); returns their number.

        The stream may be a file, a UART, machine.I2S, or an object of yours. Reads until the queue
        is full or the stream returns less than requested. 0 means that the stream has ended, or has
        no data now.
        """

    def readinto(self, buffer: _Buffer, /) -> int:
        """Read the oldest samples into a buffer; returns the number of bytes."""

    def any(self) -> int:
        """Return the number of samples that can be read."""
