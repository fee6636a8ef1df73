# SPDX-License-Identifier: MIT
"""The weight decoder reads the output of Vela's own encoder, in every encoding.

A depthwise convolution of 1x1 with n channels has a stream of n weights; its input is 1, its
scale 1, so its 32-bit output is the weights themselves.
"""

import numpy as np
import pytest
from ethosu import mlw_codec

from host_tests.tools.npu_sim.assembler import Stream, execute
from host_tests.tools.npu_sim.hardware import Outcome

UBLOCK = 8
TAPS = 4  # a depthwise sub-kernel is padded to this


def padded(stream: bytes) -> bytes:
    """Pad to 16 bytes with end-of-stream markers, as Vela does."""
    return stream + b"\xff" * (-len(stream) % 16)


def decode(stream: bytes, count: int):
    """Decode a stream of `count` weights on the NPU: outcome, weights."""
    channels = count // TAPS
    commands = Stream().defaults(
        IFM_DEPTH_M1=channels - 1, OFM_DEPTH_M1=channels - 1, OFM_WIDTH_M1=TAPS - 1,
        IFM_WIDTH0_M1=255, OFM_WIDTH0_M1=255, OFM_PRECISION=0x5, OFM_BLK_DEPTH_M1=127,
        KERNEL_WIDTH_M1=TAPS - 1, IFM_STRIDE_X=channels, OFM_STRIDE_X=4 * channels,
        IFM_STRIDE_Y=65536, OFM_STRIDE_Y=65536, WEIGHT_LENGTH=len(stream),
        SCALE_LENGTH=-(-10 * channels // 16) * 16, ACTIVATION_MIN=0, ACTIVATION_MAX=0,
    ).op("DEPTHWISE").stop()  # fmt: skip
    # Input pixel 3 is 1, all others 0: output pixel x is the weight of tap 3 - x.
    pixels = np.zeros((2 * TAPS, channels), np.int8)
    pixels[TAPS - 1] = 1
    scales = bytes(5) + (1).to_bytes(4, "little") + b"\0"
    done = execute(
        "ethos-u55-128",
        commands,
        [pixels.tobytes(), bytes(4 * count), stream, padded(scales * channels)],
    )
    out = done.memories[2].data.view(np.int32).reshape(TAPS, channels)[::-1]
    return done.outcome, stream_order(out), done.log


def stream_order(taps: np.ndarray) -> np.ndarray:
    """Order weights [tap][channel] as in the stream."""
    blocks = taps.reshape(TAPS, -1, UBLOCK)
    return blocks.transpose(1, 0, 2).reshape(-1)


def sample(kind: str, count: int, random: np.random.Generator) -> np.ndarray:
    """Draw weights for which the encoder chooses different slices."""
    if kind == "uniform":
        return random.integers(-255, 256, count)
    if kind == "normal":
        return np.clip(random.normal(0, 20, count).round(), -255, 255)
    if kind == "sparse":
        return np.where(random.random(count) < 0.9, 0, random.integers(-127, 128, count))
    if kind == "palette":
        return random.choice([-90, -3, 0, 5, 17, 120], count)
    if kind == "two":
        return random.choice([-1, 1], count)
    if kind == "zeros":
        return np.zeros(count)
    parts = np.array_split(np.empty(count), 5)
    kinds = ("sparse", "uniform", "palette", "normal", "zeros")
    return np.concatenate(
        [sample(k, len(part), random) for k, part in zip(kinds, parts, strict=True)]
    )


@pytest.mark.parametrize("count", [32, 64, 4000, 70016])
@pytest.mark.parametrize(
    "kind", ["uniform", "normal", "sparse", "palette", "two", "zeros", "mixed"]
)
def test_decodes_what_vela_encodes(kind, count):
    weights = sample(kind, count, np.random.default_rng(count)).astype(np.int64)
    stream = padded(bytes(mlw_codec.encode(weights.tolist())))
    outcome, found, log = decode(stream, count)
    assert outcome is Outcome.STOPPED, log
    np.testing.assert_array_equal(found, weights)


def test_concatenated_streams_are_one():
    parts = [np.arange(-16, 16), np.full(32, 7), np.zeros(64, int)]
    stream = padded(b"".join(bytes(mlw_codec.encode(part.tolist())) for part in parts))
    outcome, found, log = decode(stream, 128)
    assert outcome is Outcome.STOPPED, log
    np.testing.assert_array_equal(found, np.concatenate(parts))


@pytest.mark.parametrize("count", [32, 96])
def test_wrong_number_of_weights_is_a_decoder_fault(count):
    stream = padded(bytes(mlw_codec.encode(list(range(64)))))
    outcome, _, log = decode(stream, count)
    assert outcome is Outcome.WEIGHT_FAULT
    assert "weight stream" in log[0]


def test_damaged_streams_end_in_a_fault_or_in_weights():
    """A damaged byte anywhere gives a fault or weights, never a crash or a hang."""
    stream = bytearray(padded(bytes(mlw_codec.encode(list(range(-32, 32))))))
    for position in range(len(stream)):
        damaged = bytearray(stream)
        damaged[position] ^= 0x5A
        outcome, _, _ = decode(bytes(damaged), 64)
        assert outcome in (Outcome.STOPPED, Outcome.WEIGHT_FAULT)


@pytest.mark.parametrize(
    ("byte", "first_bit", "divisor"),
    [(0, 0, 4), (0, 0, 5), (2, 2, 6)],
    ids=["zero runs", "zero runs, too", "weights"],
)
def test_a_divisor_that_does_not_exist_is_a_decoder_fault(byte, first_bit, divisor):
    """An invalid divisor, of zero runs (bits 0 to 2) or weights (18 to 20), is a fault."""
    stream = bytearray(padded(bytes(mlw_codec.encode(list(range(64))))))
    stream[byte] = stream[byte] & ~(7 << first_bit) | divisor << first_bit
    outcome, _, log = decode(bytes(stream), 64)
    assert outcome is Outcome.WEIGHT_FAULT, log
