# SPDX-License-Identifier: MIT
"""Tests all modes of Ethos-U85's weight format FWD, and malformed streams."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from host_tests.tools.npu_sim.assembler import Run, Stream, execute
from host_tests.tools.npu_sim.hardware import Outcome

CONFIG = "ethos-u85-256"
OUTPUTS, INPUTS = 8, 64  # one micro block 2x2x8, one unit of inputs
HEADER_BITS = 256

# Bits per weight, the flags that select it, and the maximum number of different weights.
MODES = {"raw": (8, 1, 256), "4 bits": (4, 0, 16), "2 bits": (2, 2, 4)}


def in_stream_order(weights: np.ndarray) -> np.ndarray:
    """Order weights depth first: eight inputs of each output, then the next eight."""
    return weights.reshape(OUTPUTS, INPUTS // 8, 8).transpose(1, 0, 2).ravel()


def encode(weights: np.ndarray, mode: str, adjust: int = 0) -> bytes:
    """Encode a stream: header, then indices into its table, or the weights themselves."""
    bits, flags, _ = MODES[mode]
    table = [] if mode == "raw" else sorted(set(weights.ravel().tolist()))
    header = flags | (adjust & 0xFF) << 104
    for index, value in enumerate(table):
        header |= (abs(value) << 1 | (value < 0)) << (112 + 9 * index)
    body = 0
    for place, value in enumerate(in_stream_order(weights).tolist()):
        symbol = (value + adjust) & 0xFF if mode == "raw" else table.index(value)
        body |= symbol << (place * bits)
    size = (weights.size * bits + HEADER_BITS - 1) // HEADER_BITS * HEADER_BITS // 8
    return header.to_bytes(HEADER_BITS // 8, "little") + body.to_bytes(size, "little")


def convolve(inputs: np.ndarray, weights: bytes) -> Run:
    """Convolve one pixel with a 1x1 kernel, to int32 without scaling."""
    scales = struct.pack("<iIBB", 0, 1, 0, 0) * OUTPUTS
    content = Stream(CONFIG).defaults(
        IFM_DEPTH_M1=INPUTS - 1, IFM_STRIDE_X=INPUTS, OFM_WIDTH_M1=0, OFM_DEPTH_M1=OUTPUTS - 1,
        OFM_PRECISION=5, OFM_STRIDE_X=4 * OUTPUTS, OFM_STRIDE_Y=4 * OUTPUTS, ACTIVATION=0x1000,
        WEIGHT_FORMAT=1, WEIGHT_LENGTH=len(weights), SCALE_LENGTH=80,
    ).op("CONV")  # fmt: skip
    regions = [inputs.tobytes(), bytes(4 * OUTPUTS), weights, scales]
    return execute(CONFIG, content.stop(), regions)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_its_weights(npu_library, mode):
    random = np.random.default_rng(7)
    inputs = random.integers(-128, 127, INPUTS, np.int8, endpoint=True)
    choice = random.choice(np.arange(-255, 256), MODES[mode][2] - 1, replace=False)
    if mode == "raw":
        choice = np.arange(-128, 128)
    weights = random.choice(choice, (OUTPUTS, INPUTS)).astype(np.int32)
    found = convolve(inputs, encode(weights, mode)).result.view(np.int32)
    np.testing.assert_array_equal(found, weights @ inputs.astype(np.int32))


@pytest.mark.parametrize(("low", "adjust"), [(-200, 72), (-20, -108)])
def test_raw_weights_are_adjusted(npu_library, low, adjust):
    """256 raw weights from `low` on are shifted by the header's zero adjustment."""
    random = np.random.default_rng(8)
    weights = random.integers(low, low + 255, (OUTPUTS, INPUTS), np.int32, endpoint=True)
    inputs = random.integers(-128, 127, INPUTS, np.int8, endpoint=True)
    found = convolve(inputs, encode(weights, "raw", adjust)).result.view(np.int32)
    np.testing.assert_array_equal(found, weights @ inputs.astype(np.int32))


@pytest.mark.parametrize(("damage", "words"), [
    (lambda stream: stream[:-32], "has a fast weight stream of 512 bytes, needs 544"),
    (lambda stream: stream + bytes(64), "of 608 bytes, needs 544"),
    (lambda stream: stream[:16], "its header is invalid"),
    (lambda stream: bytes([3]) + stream[1:], "its header is invalid"),
    (lambda stream: stream[:12] + b"\1" + stream[13:], "its header is invalid"),
])  # fmt: skip
def test_a_malformed_stream(npu_library, damage, words):
    stream = encode(np.zeros((OUTPUTS, INPUTS), np.int32), "raw")
    convolve(np.zeros(INPUTS, np.int8), damage(stream)).refused(words, Outcome.WEIGHT_FAULT)
