# SPDX-License-Identifier: MIT
"""Tests operators of Ethos-U85 that Vela never emits for TFLite, and edge cases.

Operators of TFLite graphs are compared with LiteRT in conformance/generator/test_sample.py. The
expectations here are numpy's, following TOSA's specification of the operator if there is one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from host_tests.tools.npu_sim.assembler import Stream, execute

CONFIG = "ethos-u85-256"
COUNT = 16
NO_CLIP = 0x1000
INT32 = {"IFM_PRECISION": 9, "IFM2_PRECISION": 9, "OFM_PRECISION": 0x105, "ACTIVATION": NO_CLIP}
FOUR_BYTES = {
    f"{kind}_STRIDE_{axis}": size
    for kind in ("IFM", "IFM2", "OFM")
    for axis, size in (("X", 4), ("Y", 64), ("C", 4))
}
LSR, DIV, CLZ, SHR, SHL, XOR, NOT = 10, 11, 7, 8, 9, 35, 36


def run(stream: Stream, *inputs: np.ndarray) -> np.ndarray:
    """Return the bytes of the OFM, region 1; inputs are regions 0 and 2."""
    contents = [array.tobytes().ljust(2048, b"\0") for array in inputs]
    return execute(CONFIG, stream.stop(), [contents[0], bytes(2048), *contents[1:]]).result


def stream(**registers: int) -> Stream:
    return Stream(CONFIG).defaults(**registers)


def elementwise(mode: int, a: np.ndarray, b: np.ndarray, **registers: int) -> np.ndarray:
    """Return sixteen 32-bit results."""
    content = stream(**INT32 | FOUR_BYTES | registers).op("ELEMENTWISE", mode)
    return run(content, a, b)[: 4 * COUNT].view(np.int32)


A = np.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 12345, -12345, 3, -3, 64, 5, -5, 99, -100])
B = np.array([1, 2, 3, 4, 5, 6, 7, 31, 31, 1, 1, 6, 2, 2, 3, 3])
A, B = A.astype(np.int32), B.astype(np.int32)


def test_logical_shift_fills_with_zeros():
    assert (elementwise(LSR, A, B).view(np.uint32) == A.view(np.uint32) >> B.view(np.uint32)).all()


def test_left_shift_loses_what_leaves_the_word():
    assert (elementwise(SHL, A, B) == (A.astype(np.int64) << B).astype(np.int32)).all()


@pytest.mark.parametrize("shift", [0, 31, 32, 63, -1])
@pytest.mark.parametrize("mode", [LSR, SHL])
def test_shifts_of_whole_words(mode, shift):
    """Shifts by 0 to 31 follow TOSA; others follow README.md's "Not verified"."""
    bits = A.view(np.uint32).tolist()
    by = min(max(shift, 0), 32)
    wanted = [a >> by if mode == LSR else a << by & 0xFFFF_FFFF for a in bits]
    found = elementwise(mode, A, np.full(COUNT, shift, np.int32)).view(np.uint32)
    assert found.tolist() == wanted


def narrow(mode, dtype, a, b, **registers):
    """Return sixteen results of 8 or 16 bits."""
    bits = np.dtype(dtype).itemsize - 1
    precision = {"IFM_PRECISION": 1 | bits << 2, "IFM2_PRECISION": 1 | bits << 2}
    strides = {name: size * (bits + 1) // 4 for name, size in FOUR_BYTES.items()}
    more = {"OFM_PRECISION": 0x101 | bits << 1, "ACTIVATION": NO_CLIP, **registers}
    content = stream(**precision, **strides, **more).op("ELEMENTWISE", mode)
    return run(content, a.astype(dtype), b.astype(dtype)).view(dtype)[:COUNT]


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_shifts_take_narrow_operands(dtype):
    """Shifts take int8 and int16, as ExecuTorch's tests on Arm's model do."""
    limits = np.iinfo(dtype)
    a = np.array([limits.min, limits.max, -1, 1, 0, 5, -5, 100, -100, 7, -7, 64, 3, -3, 2, -2])
    b = np.arange(COUNT) % (limits.bits - 1)
    for mode, rounded in ROUNDINGS.items():
        wanted = [rounded(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        assert narrow(SHR, dtype, a, b, OFM_SCALE=mode << 45 | 1).tolist() == wanted
    # Without a clamp, the bits that leave the element are lost.
    np.testing.assert_array_equal(narrow(SHL, dtype, a, b), (a << b).astype(dtype))
    registers = {
        "ACTIVATION": 0,
        "ACTIVATION_MIN": limits.min & 0xFFFF,
        "ACTIVATION_MAX": limits.max,
    }
    np.testing.assert_array_equal(
        narrow(SHL, dtype, a, b, **registers), np.clip(a << b, limits.min, limits.max)
    )


def test_leading_zeros_are_counted_in_the_low_word_of_a_scaled_operand():
    """Leading zeros are counted in the low word: 2**30 scaled by 4 leaves no bits."""
    words = [value * 4 & 0xFFFFFFFF for value in [*A.tolist()[:-1], 2**30]]
    operand = np.append(A[:-1], np.int32(2**30))
    wanted = [32 - word.bit_length() for word in words]
    assert elementwise(CLZ, operand, B, IFM_SCALE=4).tolist() == wanted


ROUNDINGS = {
    1: lambda x, s: (x + (1 << s >> 1)) >> s,
    3: lambda x, s: np.sign(x) * ((abs(x) + (1 << s >> 1)) >> s),
    4: lambda x, s: np.sign(x) * (abs(x) >> s),
    5: lambda x, s: x >> s,
}


@pytest.mark.parametrize("mode", ROUNDINGS)
def test_arithmetic_shift_rounds_as_the_ofm_scale_says(mode):
    wanted = [ROUNDINGS[mode](int(a), int(b)) for a, b in zip(A, B, strict=True)]
    assert elementwise(SHR, A, B, OFM_SCALE=mode << 45 | 1).tolist() == wanted


def test_division_goes_toward_zero_and_saturates():
    divisors = B * np.where(np.arange(COUNT) % 2, -1, 1).astype(np.int32)
    divisors[6] = -1  # of the least number: past int32, whose low bits are stored
    divisors[9] = 0
    found = elementwise(DIV, A, divisors).tolist()
    pairs = zip(A.tolist(), divisors.tolist(), strict=True)
    wanted = [0 if b == 0 else math.trunc(a / b) for a, b in pairs]
    wanted[6] = -(2**31)
    assert found == wanted


def test_bits():
    assert (elementwise(XOR, A, B) == A ^ B).all()
    assert (elementwise(NOT, A, B) == ~A).all()


def test_either_operand_may_be_a_number():
    number = {"OP_SCALAR": -9 & 0xFFFF_FFFF}
    first = elementwise(2, A, B, IFM_BROADCAST=8, IFM_PRECISION=0xC009, **number)
    second = elementwise(2, A, B, IFM2_BROADCAST=8, IFM2_PRECISION=0xC009, **number)
    assert (first == (-9 - B.astype(np.int64)).astype(np.int32)).all()
    assert (second == (A.astype(np.int64) + 9).astype(np.int32)).all()


def test_both_operands_may_be_broadcast():
    """Both operands may be broadcast: a row of 4 by a column of 4."""
    shape = {"OFM_HEIGHT_M1": 3, "OFM_WIDTH_M1": 3, "OFM_HEIGHT0_M1": 3, "OFM_WIDTH0_M1": 3}
    steps = {"OFM_STRIDE_Y": 16, "IFM2_STRIDE_Y": 4, "IFM2_HEIGHT0_M1": 3}
    found = elementwise(1, A[3:], B, IFM_BROADCAST=1, IFM2_BROADCAST=2, **shape, **steps)
    assert (found.reshape(4, 4) == A[3:7] + B[:4, None]).all()


BYTES = np.array([3, -8, 5, 5, 9, -1, 0, 127, -128, 4, 4, 2, 1, 90, -90, 6], np.int8)


def pool(mode: int, **registers: int) -> Stream:
    return stream(**registers).op("POOL", mode)


def test_replicate_takes_the_element_at_or_before():
    """REPLICATE takes the element at or before: four become sixteen, offset by an eighth."""
    scales = {"RESIZE_X_SCALE_N_M1": 3, "RESIZE_Y_SCALE_N_M1": 0, "RESIZE_Y_OFFSET": 0}
    steps = {"RESIZE_X_STEP": 1, "RESIZE_Y_STEP": 1 << 32, "RESIZE_X_OFFSET": 2}
    content = stream(**scales, **steps, KERNEL_WIDTH_M1=3, OFM_SCALE=3 << 45 | 16 << 32 | 1)
    found = run(content.op("RESIZE", 1), BYTES)[:COUNT].view(np.int8)
    assert found.tolist() == [BYTES[min((x + 2) // 4, 3)] for x in range(COUNT)]


@pytest.mark.parametrize("down", [False, True])
def test_the_place_of_the_first_greatest(down):
    """The place of the first greatest is found in one window over everything."""
    axis = "HEIGHT" if down else "WIDTH"
    window = {"OFM_WIDTH_M1": 0, f"KERNEL_{axis}_M1": 11, f"IFM_{axis}0_M1": 15}
    precise = {"OFM_PRECISION": 0x105, "ACTIVATION": NO_CLIP, "OFM_STRIDE_X": 4}
    precise |= {"IFM_STRIDE_Y": 1, "OFM_SCALE": 5 << 45 | 16 << 32 | 1}
    values = BYTES.copy()
    values[9] = 127
    found = run(pool(7 if down else 6, **window, **precise), values)[:4].view(np.int32)
    assert found[0] == 7


def test_an_argmax_that_would_show_the_value_is_refused():
    execute(CONFIG, pool(6).stop(), [bytes(256)] * 4).refused("ARGMAX scale is not 1 >> 16")


@pytest.mark.parametrize("scale", [2, 1, 30 << 32 | 1 << 30, 36 << 32 | 0x40000001])
def test_an_average_is_divided_and_not_scaled(scale):
    """An average divides by the taps inside; Vela 4 and 5.0 set a scale of 1 / taps."""
    registers = {"KERNEL_WIDTH_M1": 2, "IFM_PAD_LEFT": 2, "OFM_SCALE": 1 << 45 | scale}
    found = run(pool(1, **registers), BYTES)[:3].view(np.int8)
    assert found.tolist() == [3, -3, 0]  # 3, -2.5 rounded as TFLite does, 0


def test_a_maximum_is_scaled():
    found = run(pool(0, OFM_SCALE=1 << 45 | 2), BYTES)[:3].view(np.int8)
    assert found.tolist() == [6, -16, 10]


TABLES = {5: (2, 0x103), 7: (4, 0x105)}


@pytest.mark.parametrize("function", TABLES)
def test_a_table_of_wider_values(function):
    """A table of wider values works in the second slot for its size."""
    size, precision = TABLES[function]
    table = np.random.default_rng(1).integers(-30_000, 30_000, 256).astype(f"<i{size}")
    content = stream().set(
        DMA0_SRC_REGION=2, DMA0_DST_REGION=0x100, DMA0_DST=256 * size, DMA0_LEN=256 * size
    )
    content.op("DMA_START").set(OFM_PRECISION=precision, ACTIVATION=function | 1 << 5)
    content.set(OFM_STRIDE_X=size, OFM_STRIDE_Y=16 * size).op("POOL", 3)
    found = run(content, BYTES, table)[: COUNT * size].view(table.dtype)
    assert (found == table[BYTES.astype(int) + 128]).all()


def test_without_a_clamp_the_low_bits_index_the_table():
    """Low bits index the table without a clamp, as in CAST with an int8 function by Vela."""
    table = np.random.default_rng(4).permutation(256).astype(np.uint8)
    values = np.random.default_rng(5).integers(-32768, 32767, COUNT).astype("<i2")
    content = stream().set(DMA0_SRC_REGION=2, DMA0_DST_REGION=0x100, DMA0_LEN=256).op("DMA_START")
    content.set(IFM_PRECISION=5, IFM_STRIDE_X=2, IFM_STRIDE_Y=32, ACTIVATION=4 | 1 << 12)
    found = run(content.op("POOL", 3), values, table)[:COUNT].view(np.uint8)
    assert (found == table[values.astype(np.int8).astype(int) + 128]).all()


def test_a_table_of_16_bit_segments_keeps_its_fraction():
    """TOSA's TABLE of int16 has 512 pairs of base and slope, and keeps 7 bits of fraction."""
    pairs = np.random.default_rng(2).integers(-3000, 3000, (512, 2)).astype("<i2")
    values = np.random.default_rng(3).integers(-32768, 32767, COUNT).astype("<i2")
    content = stream().set(DMA0_SRC_REGION=2, DMA0_DST_REGION=0x100, DMA0_LEN=2048).op("DMA_START")
    content.set(IFM_PRECISION=5, IFM_STRIDE_X=2, IFM_STRIDE_Y=32, OFM_STRIDE_X=4, OFM_STRIDE_Y=64)
    content.set(OFM_PRECISION=0x105, ACTIVATION=9, ACTIVATION_MIN=0x8000, ACTIVATION_MAX=0x7FFF)
    found = run(content.op("POOL", 3), values, pairs)[: 4 * COUNT].view("<i4")
    index = values.astype(int) + 32768
    base, slope = pairs[index >> 7].astype(int).T
    assert (found == base * 128 + slope * (index & 127)).all()


def test_channels_are_reversed():
    registers = {"OFM_WIDTH_M1": 3, "OFM_DEPTH_M1": 3, "IFM_DEPTH_M1": 3, "OFM_PRECISION": 0x701}
    steps = {"IFM_STRIDE_X": 4, "OFM_STRIDE_X": 4}
    found = run(pool(3, **registers, **steps), BYTES)[:COUNT].view(np.int8).reshape(4, 4)
    assert (found == BYTES.reshape(4, 4)[:, ::-1]).all()
