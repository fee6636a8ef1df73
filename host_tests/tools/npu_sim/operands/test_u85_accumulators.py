# SPDX-License-Identifier: MIT
"""Tests accumulators kept between operations of Ethos-U85, and weights from IFM2."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from host_tests.tools.npu_sim.assembler import Stream, execute
from host_tests.tools.npu_sim.weights.test_u85_weights import CONFIG, INPUTS, OUTPUTS, encode

PIXELS = 3
RESET, KEEP, FROM_IFM2, LEAVE = 0x300, 0x310, 0x320, 0x40
INT32 = 0x9


def registers(**more: int) -> dict[str, int]:
    """Return registers of a 1x1 convolution of three pixels to int32, without scale or clamp."""
    row = OUTPUTS * PIXELS * 4
    return {
        "IFM_DEPTH_M1": INPUTS - 1, "IFM_STRIDE_X": INPUTS, "IFM_STRIDE_Y": PIXELS * INPUTS,
        "OFM_WIDTH_M1": PIXELS - 1, "OFM_DEPTH_M1": OUTPUTS - 1, "OFM_PRECISION": 5,
        "OFM_STRIDE_X": 4 * OUTPUTS, "OFM_STRIDE_Y": row, "ACTIVATION": 0x1000,
        "WEIGHT_FORMAT": 1, "WEIGHT_LENGTH": 544, "SCALE_LENGTH": 80, "IFM2_REGION": 4,
        "IFM2_PRECISION": INT32, "IFM2_STRIDE_X": 4 * OUTPUTS, "IFM2_STRIDE_Y": row, **more,
    }  # fmt: skip


def run(stream: Stream, inputs: np.ndarray, weights: np.ndarray, ifm2: np.ndarray) -> np.ndarray:
    """Return the int32 OFM; weights [n] are consecutive streams, the bias of channel c is c."""
    scales = b"".join(struct.pack("<iIBB", channel, 1, 0, 0) for channel in range(OUTPUTS))
    streams = b"".join(encode(each, "raw") for each in weights)
    regions = [inputs.tobytes(), bytes(4 * OUTPUTS * PIXELS), streams, scales, ifm2.tobytes()]
    found = execute(CONFIG, stream.stop(), regions).result
    return found.view(np.int32).reshape(PIXELS, OUTPUTS)


@pytest.fixture
def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(11)
    inputs = random.integers(-128, 127, (2, PIXELS, INPUTS), np.int8, endpoint=True)
    weights = random.integers(-128, 127, (2, OUTPUTS, INPUTS), np.int32, endpoint=True)
    start = random.integers(-(1 << 31), (1 << 31) - 1, (PIXELS, OUTPUTS), np.int64, endpoint=True)
    return inputs, weights, start.astype(np.int32)


def products(inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return sums of products, without bias."""
    return inputs.astype(np.int32) @ weights.T


def test_an_operation_continues_from_the_previous_accumulators(npu_library, operands):
    inputs, weights, start = operands
    stream = Stream(CONFIG).defaults(**registers(ACC_FORMAT=RESET | LEAVE)).op("CONV")
    stream.set(ACC_FORMAT=KEEP, IFM_BASE0=PIXELS * INPUTS, WEIGHT_BASE=544).op("CONV")
    found = run(stream, inputs, weights, start)
    expected = products(inputs[0], weights[0]) + products(inputs[1], weights[1])
    np.testing.assert_array_equal(found, expected + np.arange(OUTPUTS))


def test_accumulators_begin_with_ifm2_and_wrap(npu_library, operands):
    inputs, weights, start = operands
    stream = Stream(CONFIG).defaults(**registers(ACC_FORMAT=FROM_IFM2)).op("CONV")
    found = run(stream, inputs, weights, start)
    with np.errstate(over="ignore"):
        expected = start + products(inputs[0], weights[0]) + np.arange(OUTPUTS, dtype=np.int32)
    np.testing.assert_array_equal(found, expected)


def test_kept_accumulators_are_used_once(npu_library, operands):
    """Kept accumulators are used once: an operation that writes its OFM clears them."""
    inputs, weights, _ = operands
    stream = Stream(CONFIG).defaults(**registers(ACC_FORMAT=RESET)).op("CONV")
    stream.set(ACC_FORMAT=KEEP).op("CONV")
    regions = [inputs.tobytes(), bytes(96), encode(weights[0], "raw"), bytes(80), bytes(96)]
    done = execute(CONFIG, stream.stop(), regions)
    done.refused("keeps accumulators of 1x3x8, but 0x0x0 were left")


@pytest.mark.parametrize("precision", [5, 0x205, 0x805, 0x8005], ids=hex)
def test_an_operation_that_keeps_accumulators_writes_no_ofm(npu_library, operands, precision):
    """An operation that keeps accumulators writes no OFM, whatever the OFM's layout."""
    inputs, weights, _ = operands
    leaving = registers(ACC_FORMAT=RESET | LEAVE, OFM_PRECISION=precision)
    stream = Stream(CONFIG).defaults(**leaving).op("CONV").stop()
    before = bytes(range(OUTPUTS * PIXELS * 4))
    regions = [inputs.tobytes(), before, encode(weights[0], "raw"), bytes(80), bytes(96)]
    assert execute(CONFIG, stream, regions).result.tobytes() == before


def test_an_operation_that_keeps_accumulators_fills_no_chaining_buffer(npu_library, operands):
    inputs, weights, _ = operands
    leaving = registers(ACC_FORMAT=RESET | LEAVE, OFM_PRECISION=0x8005)
    stream = Stream(CONFIG).defaults(**leaving).op("CONV")
    stream.set(IFM_PRECISION=0x8009, OFM_PRECISION=0x105).op("ELEMENTWISE", 5)
    regions = [inputs.tobytes(), bytes(96), encode(weights[0], "raw"), bytes(80), bytes(96)]
    done = execute(CONFIG, stream.stop(), regions)
    done.refused("from chaining buffer 0, which holds 0")


@pytest.mark.parametrize("zero_point", [0, -5, 127])
def test_weights_from_ifm2(npu_library, operands, zero_point):
    inputs, _, _ = operands
    random = np.random.default_rng(12)
    weights = random.integers(-128, 127, (OUTPUTS, INPUTS), np.int8, endpoint=True)
    stream = Stream(CONFIG).defaults(
        **registers(IFM2_PRECISION=1, IFM2_STRIDE_X=INPUTS, IFM2_STRIDE_Y=OUTPUTS * INPUTS),
        IFM2_ZERO_POINT=zero_point, IFM2_WIDTH0_M1=OUTPUTS - 1,
    )  # fmt: skip
    stream.set(OFM_PRECISION=0x105, WEIGHT_FORMAT=0)
    found = run(stream.op("CONV", 1), inputs, np.zeros((1, OUTPUTS, INPUTS), int), weights)
    np.testing.assert_array_equal(found, products(inputs[0], weights.astype(np.int32) - zero_point))


MAX, MIN = 0, 5


@pytest.mark.parametrize(("mode", "better"), [(MAX, np.maximum), (MIN, np.minimum)])
def test_a_pool_continues_with_the_extreme_that_was_left(npu_library, mode, better):
    """A pool continues with an earlier extreme, also if its own window is only padding."""
    random = np.random.default_rng(13)
    a, b = random.integers(-128, 127, (2, PIXELS, INPUTS), np.int8, endpoint=True)
    a[0] = b[0] = 127 if mode == MIN else -128  # would lose against a padding of zeros
    row = PIXELS * INPUTS
    stream = Stream(CONFIG).defaults(
        IFM_DEPTH_M1=INPUTS - 1, IFM_STRIDE_X=INPUTS, IFM_STRIDE_Y=row, IFM_ZERO_POINT=0xFFFD,
        OFM_WIDTH_M1=PIXELS - 1, OFM_DEPTH_M1=INPUTS - 1, OFM_STRIDE_X=INPUTS, OFM_STRIDE_Y=row,
        OFM_ZERO_POINT=0xFFFD, ACTIVATION=0x1000, ACC_FORMAT=RESET | LEAVE,
    )  # fmt: skip
    stream.op("POOL", mode).set(ACC_FORMAT=KEEP | LEAVE, IFM_BASE0=row).op("POOL", mode)
    # The last window begins one pixel to the left, so that the first one is only padding.
    stream.set(ACC_FORMAT=KEEP, IFM_BASE0=0, IFM_PAD_LEFT=1).op("POOL", mode)
    done = execute(CONFIG, stream.stop(), [a.tobytes() + b.tobytes(), bytes(row)])
    found = done.result.view(np.int8).reshape(PIXELS, INPUTS)
    expected = better(a, b)
    expected[1:] = better(expected[1:], a[:-1])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("accumulators", [KEEP, FROM_IFM2, RESET | LEAVE], ids=hex)
def test_a_position_is_neither_kept_nor_continued(npu_library, accumulators):
    stream = Stream(CONFIG).defaults(ACC_FORMAT=RESET | LEAVE).op("POOL", 3)
    stream.set(ACC_FORMAT=accumulators, OFM_SCALE=5 << 45 | 16 << 32 | 1)
    stream.set(IFM2_PRECISION=INT32, IFM2_STRIDE_X=4, IFM2_STRIDE_Y=64, IFM2_STRIDE_C=4)
    done = execute(CONFIG, stream.op("POOL", 6).stop(), [bytes(64)] * 3)
    done.refused("of mode 6 has accumulators")
