# SPDX-License-Identifier: MIT
"""Implements the definitions of modules/ethosu/image/image.h in NumPy."""

from dataclasses import dataclass, field

import numpy as np

GRAY, RGB565, RGB888 = range(3)
NEAREST, BILINEAR, AREA, CORNERS = range(4)
STRETCH, PAD, CROP = range(3)
PIXEL = {GRAY: 1, RGB565: 2, RGB888: 3}


@dataclass
class Case:
    """A picture and the requested conversion."""

    pixels: np.ndarray
    """uint8: height x width x bytes of a pixel."""
    format: int
    target: tuple[int, int, int]
    """Height, width, channels."""
    roi: tuple[int, int, int, int] | None = None
    quarters: int = 0
    mirror: bool = False
    fit: int = STRETCH
    filter: int = BILINEAR
    table: np.ndarray | None = field(default=None)
    """Elements, channels x 256 or 256."""


def channels(pixels: np.ndarray, kind: int, count: int) -> np.ndarray:
    """Return samples from 0 to 255: height x width x count."""
    raw = pixels.astype(np.int64)
    if kind == GRAY:
        return np.repeat(raw, count, axis=2)
    if kind == RGB565:
        both = raw[..., 0] | raw[..., 1] << 8
        parts = [(both >> 11, 31), (both >> 5 & 63, 63), (both & 31, 31)]
        raw = np.stack([np.floor(v * 255 / most + 0.5) for v, most in parts], -1).astype(np.int64)
    if count == 3:
        return raw
    gray = 19595 * raw[..., 0] + 38470 * raw[..., 1] + 7471 * raw[..., 2]
    return (gray + 32768 >> 16)[..., None]


def nearest(size: int, into: int) -> np.ndarray:
    step = np.float32(size) / np.float32(into)
    place = (np.arange(into, dtype=np.float32) + np.float32(0.5)) * step
    return np.minimum(np.floor(place).astype(int), size - 1)


def between(size: int, into: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two neighbours, and the weight of the second in 1024ths."""
    step = (size * 1024 + into // 2) // into
    place = np.arange(into) * step + step // 2 - 512
    low = np.clip(np.trunc(place / 1024).astype(int), 0, size - 1)
    high = np.minimum((place + 1023) // 1024, size - 1)
    return low, high, place - low * 1024


def spans(size: int, into: int) -> list[tuple[int, int]]:
    """Return the pixels to average."""
    edges = [(i * size // into, (i + 1) * size // into) for i in range(into)]
    return [(first, max(end, first + 1)) for first, end in edges]


def resize(samples: np.ndarray, height: int, width: int, how: int) -> np.ndarray:
    if how == NEAREST:
        return samples[nearest(samples.shape[0], height)][:, nearest(samples.shape[1], width)]
    if how == AREA:
        rows, columns = spans(samples.shape[0], height), spans(samples.shape[1], width)
        means = [[samples[a:b, c:d].sum((0, 1)) for c, d in columns] for a, b in rows]
        counts = [[(b - a) * (d - c) for c, d in columns] for a, b in rows]
        counts = np.array(counts)[..., None]
        return (np.array(means) + counts // 2) // counts
    y0, y1, fy = between(samples.shape[0], height)
    x0, x1, fx = between(samples.shape[1], width)
    fx = fx[:, None]
    rows = samples[y0] * (1024 - fy)[:, None, None] + samples[y1] * fy[:, None, None]
    total = rows[:, x0] * (1024 - fx) + rows[:, x1] * fx
    return total + 2**19 >> 20


def pairs(size: int, into: int, cut: int, plain: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two neighbours, and the second's weight in 65536ths, after `cut` pixels."""
    scale = np.float32(into) / np.float32(size)
    begin = np.float32(int(np.float32(cut) * scale) * 65536)
    place = np.arange(into) * int(np.float32(65536) / scale) + int(begin / scale)
    place -= cut * 65536 + (0 if plain else 32768)
    low = place >> 16
    high = np.where((low >= 0) & (low < size - 1), low + 1, np.clip(low, 0, size - 1))
    return np.clip(low, 0, size - 1), high, place & (0 if plain else 65535)


def corners(raw: np.ndarray, size: tuple[int, int], cut: tuple[int, int], bits: int) -> np.ndarray:
    """Interpolate and round rows, then columns, unless OpenMV draws without a filter."""
    plain = raw.shape[:2] == size or min(raw.shape[:2]) <= 1
    for axis in (0, 1):
        low, high, place = pairs(raw.shape[axis], size[axis], cut[axis], plain)
        weight = (place >> 16 - bits).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        first, second = raw.take(low, axis), raw.take(high, axis)
        raw = first * (2**bits - weight) + second * weight + 2 ** (bits - 1) >> bits
    return raw


def unpacked(pixels: np.ndarray, kind: int) -> np.ndarray:
    """Return channels at their bit width."""
    raw = pixels.astype(np.int64)
    if kind != RGB565:
        return raw
    both = raw[..., 0] | raw[..., 1] << 8
    return np.stack([both >> 11, both >> 5 & 63, both & 31], -1)


def repeated(raw: np.ndarray, kind: int, count: int) -> np.ndarray:
    """Expand such channels to samples from 0 to 255 by bit replication."""
    if kind == GRAY:
        return np.repeat(raw, count, axis=2)
    if kind == RGB565:
        shift = np.array([3, 2, 3])
        raw = raw << shift | raw >> np.array([2, 4, 2])
    return raw if count == 3 else (raw @ np.array([38, 75, 15]) >> 7)[..., None]


def largest(width: int, height: int, room_width: int, room_height: int) -> tuple[int, ...]:
    """Return the largest centred rectangle of this aspect ratio: x, y, width, height."""
    if width * room_height > height * room_width:
        inside = max((height * room_width + width // 2) // width, 1)
        return 0, (room_height - inside) // 2, room_width, inside
    inside = max((width * room_height + height // 2) // height, 1)
    return (room_width - inside) // 2, 0, inside, room_height


def write(case: Case) -> np.ndarray:
    """Return the elements to write."""
    height, width, count = case.target
    coarse = case.filter == CORNERS
    samples = (
        unpacked(case.pixels, case.format) if coarse else channels(case.pixels, case.format, count)
    )
    x, y, w, h = case.roi or (0, 0, samples.shape[1], samples.shape[0])
    cut = (x, y) if case.quarters & 1 else (y, x)
    samples = np.rot90(samples[y : y + h, x : x + w], -case.quarters)
    if case.mirror:
        samples = samples[:, ::-1]
    h, w = samples.shape[:2]
    inner = (0, 0, width, height)
    if case.fit == CROP:
        x, y, w, h = largest(width, height, w, h)
        cut = cut[0] + y, cut[1] + x
        samples = samples[y : y + h, x : x + w]
    elif case.fit == PAD:
        inner = largest(w, h, width, height)
    x, y, w, h = inner
    out = np.zeros(case.target, np.int64)
    if coarse:
        bits = 5 if case.format == RGB565 else 8
        mixed = corners(samples, (h, w), cut, bits)
        out[y : y + h, x : x + w] = repeated(mixed, case.format, count)
    else:
        out[y : y + h, x : x + w] = resize(samples, h, w, case.filter)
    if case.table is None:
        return out.astype(np.uint8)
    if case.table.ndim == 1:
        return case.table[out]
    return np.stack([case.table[c][out[..., c]] for c in range(count)], -1)
