# SPDX-License-Identifier: MIT
"""Makes single random operations as command streams: shapes, layouts, strides, scales.

They go further than any compiler would. Weights are random numbers in Vela's encoding; their
values do not matter, because both sides decode the same stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ethosu import mlw_codec

from . import random_operations_u85 as u85
from .assembler import Stream
from .random_operations_u85 import up

KINDS = ("CONV", "DEPTHWISE", "AVERAGE", "MAX", "MUL", "ADD", "SUB")
U85_KINDS = (*KINDS, "SUM")
CONFIG = "ethos-u55-128"
_ELEMENTWISE = {"MUL": 0, "ADD": 1, "SUB": 2}
_POOL = {"MAX": 0, "AVERAGE": 1, "SUM": 3}
_TABLE_ADDRESS = 0x5800  # the tables in the 24 KB of ethos-u55-128
_TABLE_BYTES = 256
_REGION_BYTES = 1 << 18
_CLIP_RANGES = (2, 3, 5)  # uint8, int8, int16


@dataclass(frozen=True)
class Operation:
    """A command stream, the memory of its regions, and a description."""

    config: str
    stream: bytes
    regions: list[bytes]
    description: dict[str, int]


@dataclass(frozen=True)
class _Element:
    bits: int
    signed: bool

    @property
    def range(self) -> tuple[int, int]:
        low = -(1 << self.bits - 1) if self.signed else 0
        return low, low + (1 << self.bits) - 1


def make(kind: str, seed: int, config: str = CONFIG) -> Operation:
    """Make an operation of a kind."""
    random = np.random.default_rng([U85_KINDS.index(kind), seed])
    shape = tuple(int(random.integers(1, high)) for high in (5, 40, 40))
    ifm = _Element(int(random.choice([8, 8, 8, 16])), bool(random.integers(2)))
    is_u85 = config == u85.CONFIG
    arranged, stored = u85.arrangement(random, shape) if is_u85 else (0, shape)
    registers = _output(random, shape, stored)
    registers["OFM_PRECISION"] |= arranged
    registers |= _scales(random, kind)
    weights, scales = b"", b""
    if kind in _ELEMENTWISE:
        registers |= _operands(random, ifm, shape)
        command = ("ELEMENTWISE", _ELEMENTWISE[kind])
    else:
        registers |= _window(random, ifm, shape, kind)
        command = ("POOL", _POOL[kind]) if kind in _POOL else (kind, 0)
    if kind in ("CONV", "DEPTHWISE"):
        depthwise = kind == "DEPTHWISE"
        symbols = u85.symbols if is_u85 else _symbols
        weights = _weights(random, symbols(registers, _taps(registers), depthwise))
        scales = _scale_records(random, shape[2], 4 if is_u85 else 5)
        registers |= {
            "WEIGHT_LENGTH": len(weights),
            "SCALE_LENGTH": len(scales),
            "OFM_PRECISION": registers["OFM_PRECISION"] & ~0x100,
        }
    if random.integers(6) == 0:
        registers["OFM_REGION"] = 0  # the IFM's region: later rows may read what earlier ones wrote
    if is_u85:
        registers = u85.translate(random, registers, binary=kind in _ELEMENTWISE)
    stream = Stream(config).defaults(**registers)
    if registers["ACTIVATION"] & 0x1F:
        address = 0 if is_u85 else _TABLE_ADDRESS
        stream.set(DMA0_SRC_REGION=4, DMA0_DST_REGION=0x100, DMA0_DST=address)
        stream.set(DMA0_LEN=_TABLE_BYTES).op("DMA_START")
    second = weights or random.bytes(_REGION_BYTES)
    regions = [random.bytes(_REGION_BYTES), bytes(_REGION_BYTES), second, scales or bytes(16)]
    regions.append(random.bytes(_TABLE_BYTES))
    return Operation(config, stream.op(*command).stop(), regions, registers)


def _layout(
    random: np.random.Generator, prefix: str, shape: tuple[int, ...], element: _Element
) -> tuple[dict[str, int], int]:
    """Draw a feature map's strides and tiles, and the format bit of its precision."""
    height, width, depth = shape
    size = element.bits // 8
    bricks = bool(random.integers(2))
    gap = size * int(random.choice([0, 0, 5]))
    pixel = 16 * size if bricks else depth * size + gap
    brick = pixel * width if bricks else size
    row = brick * -(-depth // 16) if bricks else pixel * width + gap
    return {
        f"{prefix}_STRIDE_X": pixel,
        f"{prefix}_STRIDE_C": brick,
        f"{prefix}_STRIDE_Y": row,
        f"{prefix}_WIDTH0_M1": width - 1,
        f"{prefix}_HEIGHT0_M1": height - 1,
        f"{prefix}_HEIGHT1_M1": height - 1,
        f"{prefix}_ZERO_POINT": int(random.integers(*element.range, endpoint=True)),
    }, 0x40 if bricks else 0


def _output(
    random: np.random.Generator, shape: tuple[int, ...], stored: tuple[int, ...]
) -> dict[str, int]:
    """Draw an OFM of a shape, which differs in memory if its axes are swapped."""
    height, width, depth = shape
    ofm = _Element(int(random.choice([8, 8, 8, 16])), bool(random.integers(2)))
    registers, bricks = _layout(random, "OFM", stored, ofm)
    rounding = int(random.choice([0, 0, 0, 2, 2, 1]))
    low, high = ofm.range
    table = ofm.bits == 8 and random.integers(4) == 0
    if not table and random.integers(2):
        low, high = sorted(int(value) for value in random.integers(low, high, 2, endpoint=True))
    return registers | {
        "OFM_WIDTH_M1": width - 1,
        "OFM_HEIGHT_M1": height - 1,
        "OFM_DEPTH_M1": depth - 1,
        "OFM_PRECISION": ofm.signed | (ofm.bits == 16) << 1 | bricks | 0x100 | rounding << 14,
        "ACTIVATION": 16 if table else int(random.choice([0, 0, *_CLIP_RANGES])) << 12,
        "ACTIVATION_MIN": low,
        "ACTIVATION_MAX": high,
    }


def _ifm_precision(random: np.random.Generator, ifm: _Element, bricks: int) -> int:
    return ifm.signed | (ifm.bits == 16) << 2 | bricks


def _window(
    random: np.random.Generator, ifm: _Element, shape: tuple[int, ...], kind: str
) -> dict[str, int]:
    """Draw a kernel and the IFM that it implies."""
    registers: dict[str, int] = {}
    sizes, stride_bits = [], 0
    pointwise = not random.integers(3)
    for axis, name, before, after in (
        (0, "HEIGHT", "TOP", "BOTTOM"),
        (1, "WIDTH", "LEFT", "RIGHT"),
    ):
        taps, stride = (int(value) for value in random.integers(1, 2 if pointwise else 4, 2))
        dilation = int(random.integers(1, 3))
        reach = (taps - 1) * dilation + 1
        pads = [int(random.integers(0, reach)) if random.integers(2) else 0 for _ in range(2)]
        size = (shape[axis] - 1) * stride + reach - sum(pads)
        if size < 1:
            pads, size = [0, 0], size + sum(pads)
        sizes.append(size)
        registers[f"KERNEL_{name}_M1"] = reach - 1
        registers[f"IFM_PAD_{before}"], registers[f"IFM_PAD_{after}"] = pads
        low, high, dilated = ((1, 9, 4), (0, 6, 3))[axis]
        bits = stride - 1
        stride_bits |= (bits & 1) << low | bits >> 1 << high | (dilation - 1) << dilated
    layout, bricks = _layout(random, "IFM", (*sizes, shape[2]), ifm)
    depth = int(random.integers(1, 40)) if kind == "CONV" else shape[2]
    if kind == "CONV":
        layout, bricks = _layout(random, "IFM", (*sizes, depth), ifm)
    return registers | layout | {
        "KERNEL_STRIDE": stride_bits,
        "IFM_DEPTH_M1": depth - 1,
        "IFM_PRECISION": _ifm_precision(random, ifm, bricks),
    }  # fmt: skip


def _operands(random: np.random.Generator, ifm: _Element, shape: tuple[int, ...]) -> dict[str, int]:
    """Draw both operands of an elementwise operation: broadcast, scalar, swapped."""
    first, bricks = _layout(random, "IFM", shape, ifm)
    broadcast = int(random.choice([0, 0, 1, 2, 4, 7, 0x80])) | int(random.choice([0, 0x40]))
    other = tuple(1 if broadcast >> bit & 1 else size for bit, size in enumerate(shape))
    second_type = _Element(ifm.bits, bool(random.integers(2)))
    second, bricks2 = _layout(random, "IFM2", other, second_type)
    mode = int(random.integers(3))
    rounding = int(random.choice([0, 0, 2]))
    return first | second | {
        "IFM_DEPTH_M1": shape[2] - 1,
        "IFM_PRECISION": _ifm_precision(random, ifm, bricks) | mode << 8 | rounding << 14,
        "IFM2_PRECISION": _ifm_precision(random, second_type, bricks2),
        "IFM2_BROADCAST": broadcast,
        "IFM2_SCALAR": int(random.integers(-128, 128)),
        "OPA_SCALE": _scale(random, 20, 40),
        "OPB_SCALE": int(random.integers(0, 1 << 16)),
    }  # fmt: skip


def _scale(random: np.random.Generator, low: int, high: int) -> int:
    """Draw a multiplier near 2^30 … 2^31, sometimes any, with a shift as parameter."""
    if random.integers(8) == 0:
        return int(random.integers(64)) << 32 | int(random.integers(1 << 32))
    return int(random.integers(low, high)) << 32 | int(random.integers(1 << 30, 1 << 31))


def _scales(random: np.random.Generator, kind: str) -> dict[str, int]:
    if random.integers(4) == 0:
        # The scale 1, as Vela writes it for Ethos-U85 and U55; the largest; and 1 1/2.
        return {
            "OFM_SCALE": int(random.choice([1, 31 << 32 | 0x80000001, 0xFFFFFFFF, 1 << 32 | 3]))
        }
    return {"OFM_SCALE": _scale(random, 28, 42) if kind != "ADD" else _scale(random, 40, 56)}


def _scale_records(random: np.random.Generator, channels: int, bias_bytes: int) -> bytes:
    """Draw bias, multiplier and shift of each channel, 10 bytes.

    In most operations all channels have usual scales, since a single unusual one selects the exact
    path. Other operations have scales near 1 and above, or biases and multipliers that bring
    results to the limits of 32 bits.
    """
    low, high = random.choice([(34, 46), (34, 46), (34, 46), (28, 34), (0, 64), (48, 64)])
    bits = 31 if low == 48 else int(random.choice([20, 20, 20, 27, 30, 31]))
    records = b""
    for _ in range(channels):
        shift = int(random.integers(low, high))
        multiplier = int(random.integers(1 << 30, 1 << 31)) >> int(random.choice([0, 0, 0, 8]))
        bias = int(random.integers(-(1 << bits), 1 << bits))
        if low == 48 or random.integers(8) == 0:
            multiplier = (1 << 31) - 1 - int(random.integers(1 << 8))
            bias = int(random.choice([-1, 1])) * ((1 << bits) - 1 - int(random.integers(1 << 20)))
        record = bias.to_bytes(bias_bytes, "little", signed=True)
        record += multiplier.to_bytes(4, "little") + bytes([shift])
        records += record.ljust(10, b"\0")
    return records + bytes(-len(records) % 16)


def _weights(random: np.random.Generator, count: int) -> bytes:
    limit = int(random.choice([3, 128, 256]))
    stream = bytes(mlw_codec.encode(random.integers(1 - limit, limit, count).tolist()))
    return stream + b"\xff" * (-len(stream) % 16)


def _taps(registers: dict[str, int]) -> int:
    stride = registers["KERNEL_STRIDE"]
    height = registers["KERNEL_HEIGHT_M1"] // (1 + (stride >> 4 & 1)) + 1
    return height * (registers["KERNEL_WIDTH_M1"] // (1 + (stride >> 3 & 1)) + 1)


def _symbols(registers: dict[str, int], taps: int, depthwise: bool) -> int:
    """Count the weights in a stream of ethos-u55-128, including padding."""
    wide = registers["IFM_PRECISION"] & 0xC
    inputs = 1 if depthwise else up(registers["IFM_DEPTH_M1"] + 1, 16 if wide else 32)
    taps = up(taps, 4) if depthwise else taps
    return up(registers["OFM_DEPTH_M1"] + 1, 8) * inputs * taps
