# SPDX-License-Identifier: MIT
"""Makes random operations for Ethos-U85, with its different and additional registers."""

from __future__ import annotations

import numpy as np

from .assembler import U85_DEFAULTS

CONFIG = "ethos-u85-256"
TABLE_SIGNED, TABLE_UNSIGNED = 4, 1
_WRAPS = 1 << 12  # a clip range that does not clip
_ROUNDINGS = 6
_MICROBLOCK_DEPTH = 8  # depth of 2x2x8, which ACC_FORMAT 3 << 8 chooses
_INPUTS, _TAPS = 64, 10  # streams of CONV and DEPTHWISE are padded to these
_WIDE_PADDING = 2  # additional taps for each ten, of 16-bit DEPTHWISE
# OFM_PRECISION.transpose, and the axes that become H, W and C in memory.
_TRANSPOSES = {0: (0, 1, 2), 1: (1, 0, 2), 2: (0, 2, 1), 3: (1, 2, 0), 6: (2, 0, 1), 7: (2, 1, 0)}


def arrangement(random: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Draw bits of OFM_PRECISION that reverse or swap axes; returns the shape in memory, too."""
    if random.integers(2):
        return int(random.integers(4)) << 9, shape
    transpose = int(random.choice(list(_TRANSPOSES)))
    return transpose << 11, tuple(shape[axis] for axis in _TRANSPOSES[transpose])


def translate(random: np.random.Generator, old: dict[str, int], *, binary: bool) -> dict[str, int]:
    """Translate the registers of an operation."""
    precision = old["OFM_PRECISION"] & 0x3FFF
    rounding = int(random.integers(_ROUNDINGS)) if random.integers(2) else 0
    new = {name: value for name, value in old.items() if name in U85_DEFAULTS}
    new["OFM_PRECISION"] = precision
    new["OFM_SCALE"] = old["OFM_SCALE"] & ((1 << 38) - 1) | rounding << 45
    new["ACTIVATION"] = _activation(random, old["ACTIVATION"], precision)
    new["IFM_PRECISION"] = old["IFM_PRECISION"] & 0xFF
    if binary:
        new["IFM_SCALE"] = _input_scale(random)
        new["IFM2_SCALE"] = _input_scale(random)
        new["OP_SCALAR"] = int(random.integers(1 << 32))
        broadcast, scalar = old["IFM2_BROADCAST"] & 7, old["IFM2_BROADCAST"] >> 7 << 3
        new["IFM2_BROADCAST"] = broadcast | scalar
        if old["IFM2_BROADCAST"] & 0x40:
            new["IFM_BROADCAST"], new["IFM2_BROADCAST"] = scalar, broadcast
    return new


def _activation(random: np.random.Generator, old: int, precision: int) -> int:
    if old & 0x1F:
        return TABLE_SIGNED if precision & 1 else TABLE_UNSIGNED
    return _WRAPS if random.integers(4) == 0 else 0


def _input_scale(random: np.random.Generator) -> int:
    """Draw 1, or a multiplier near 2^30 with left and right shifts, in either rounding."""
    if random.integers(3) == 0:
        return 1
    before, shift = int(random.integers(0, 20)), int(random.integers(28, 33))
    multiplier = int(random.integers(1 << 29, 1 << 31))
    return int(random.integers(2)) << 45 | before << 38 | shift << 32 | multiplier


def symbols(registers: dict[str, int], taps: int, depthwise: bool) -> int:
    """Count the weights in a stream, including padding."""
    per_output = up(registers["IFM_DEPTH_M1"] + 1, _INPUTS) * taps
    if depthwise:
        wide = registers["IFM_PRECISION"] & 0xC
        per_output = up(taps, _TAPS) // _TAPS * (_TAPS + (_WIDE_PADDING if wide else 0))
    return up(registers["OFM_DEPTH_M1"] + 1, _MICROBLOCK_DEPTH) * per_output


def up(value: int, unit: int) -> int:
    """Round up to whole units."""
    return -(-value // unit) * unit
