# SPDX-License-Identifier: MIT
"""Writes micro_tables.c, the constants of the micro frontend, computed from their definitions.

    python modules/ethosu/audio/make_tables.py > modules/ethosu/audio/micro_tables.c

The settings are those of pymicro-features, with which wake-word models are trained: 16 kHz, windows
of 30 ms, 40 bands from 125 to 7500 Hz. Its library computes the constants in single precision, so
each step here is rounded to it.
"""

import math
from collections.abc import Sequence

import numpy as np

RATE, WINDOW, FFT, BANDS = 16000, 480, 512, 40
LOW_HZ, HIGH_HZ = 125.0, 7500.0
# Full-scale numbers of the window, the filters and the twiddle factors of the FFT.
WINDOW_ONE = FILTER_ONE = 1 << 12
TWIDDLE_ONE = 32767
# The gain is 2^21 / (noise + 80)^0.95, for a noise with 7 bits after the point.
GAIN_BITS, GAIN_OFFSET, GAIN_STRENGTH, NOISE_BITS = 21, 80.0, 0.95, 7

# Weights close to a half, by bin. There, log1pf() of newlib and of glibc before 2.41, with which
# the models' features were computed, is off by one unit in the last place.
AT_A_HALF = {149: 2471, 221: 1401}

f32 = np.float32


def rounded(value: float) -> int:
    """Nearest integer, halves upwards."""
    return math.floor(value + 0.5)


def window() -> list[int]:
    """A Hann window, sampled between its points."""
    step = f32(f32(f32(math.pi) * f32(2)) / f32(WINDOW))
    cosines = [f32(math.cos(f32(step * f32(i + 0.5)))) for i in range(WINDOW)]
    return [rounded(f32(f32(0.5) - f32(f32(0.5) * c)) * f32(WINDOW_ONE)) for c in cosines]


def turn(phase: float) -> list[int]:
    """Real and imaginary part of a twiddle factor."""
    return [rounded(TWIDDLE_ONE * math.cos(phase)), rounded(TWIDDLE_ONE * math.sin(phase))]


def twiddles() -> list[int]:
    """For stages of 4, 16 and 64 butterflies: the factors of input 1, then of 2, then of 3."""
    return [
        part
        for size in (4, 16, 64)
        for times in (1, 2, 3)
        for k in range(size)
        for part in turn(-2 * math.pi * (k * times * (64 // size)) / 256)
    ]


def split_twiddles() -> list[int]:
    """Factors that split the FFT of 256 complex numbers into that of 512 real ones."""
    return [part for i in range(128) for part in turn(-math.pi * ((i + 1) / 256 + 0.5))]


def mel(hertz: float) -> np.float32:
    """Frequency on the mel scale."""
    return f32(f32(1127) * f32(math.log1p(f32(f32(hertz) / f32(700)))))


def filters() -> tuple[list[int], list[int], list[int]]:
    """First bin and number of bins of each of BANDS + 1 slopes, and the weight of each bin."""
    low, high = mel(LOW_HZ), mel(HIGH_HZ)
    spacing = f32(f32(high - low) / f32(BANDS + 1))
    tops = [f32(low + f32(spacing * f32(i + 1))) for i in range(BANDS + 1)]
    hz_per_bin = f32(f32(0.5) * f32(RATE) / f32(FFT // 2))
    first = int(f32(1.5) + f32(f32(LOW_HZ) / hz_per_bin))
    starts, widths, weights = [], [], []
    bottom = low
    for top in tops:
        bin_ = first
        while mel(f32(bin_) * hz_per_bin) <= top:
            share = f32(f32(top - mel(f32(bin_) * hz_per_bin)) / f32(top - bottom))
            weights.append(AT_A_HALF.get(bin_, rounded(f32(share * f32(FILTER_ONE)))))
            bin_ += 1
        starts.append(first)
        widths.append(bin_ - first)
        first, bottom = bin_, top
    return starts, widths, weights


def gain(noise: int) -> int:
    """Gain at one level of noise."""
    level = f32(f32(f32(noise) / f32(1 << NOISE_BITS)) + f32(GAIN_OFFSET))
    power = f32(float(level) ** -float(f32(GAIN_STRENGTH)))
    value = f32(f32(1 << GAIN_BITS) * power)
    return 32767 if value > 32767 else int(f32(value + f32(0.5)))


def gains() -> list[int]:
    """Gains at noise 0 and 1; then start, slope and curvature of each octave, with 0 between."""
    table = [gain(0), gain(1)]
    for octave in range(2, 33):
        start = 1 << (octave - 1)
        end = 2 * start - (octave == 32)
        y0, y1, y2 = gain(start), gain(start + start // 2), gain(end)
        slope = 4 * (y1 - y0) - (y2 - y0)
        table += [y0, slope, (y2 - y0) - slope, 0]
    return table[:-1]


def logarithms() -> list[int]:
    """log2(1 + x) - x in 1/65536, for each 1/128 of an octave and for its end."""
    return [rounded((math.log2(1 + i / 128) - i / 128) * 65536) for i in range(129)] + [0]


def c_array(kind: str, name: str, values: Sequence[int]) -> str:
    """Definition of one table."""
    lines, line = [], "   "
    for value in values:
        if len(line) + len(f" {value},") > 100:
            lines.append(line)
            line = "   "
        line += f" {value},"
    lines.append(line)
    return f"const {kind} {name}[{len(values)}] = {{\n" + "\n".join(lines) + "\n};\n"


def text() -> str:
    """The whole file."""
    starts, widths, weights = filters()
    return "\n".join(
        [
            "// SPDX-License-Identifier: MIT\n"
            "/** Constants of the micro frontend; make_tables.py makes this file. */\n"
            '#include "micro_tables.h"\n\n'
            "// clang-format off",
            c_array("int16_t", "micro_window", window()),
            c_array("int16_t", "micro_twiddles", twiddles()),
            c_array("int16_t", "micro_split_twiddles", split_twiddles()),
            c_array("uint8_t", "micro_filter_starts", starts),
            c_array("uint8_t", "micro_filter_widths", widths),
            c_array("int16_t", "micro_filter_weights", weights),
            c_array("int16_t", "micro_gains", gains()),
            c_array("uint16_t", "micro_logarithms", logarithms()),
        ]
    )


if __name__ == "__main__":
    print(text(), end="")
