# SPDX-License-Identifier: MIT
"""Compares memory traffic and cycles of the NPU with the counters of Arm's Fast Model.

Arm publishes counters for kws_micronet_m, compiled for Ethos-U55-128 (docs/use_cases/kws.md of the
evaluation kit), in beats of 8 bytes. The stream here has the same operations in the same blocks,
written by hand; only the weights' length matters, not their values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from ethosu import mlw_codec

from host_tests.tools.npu_sim.assembler import Stream
from host_tests.tools.npu_sim.hardware import Hardware, Outcome, Register
from host_tests.tools.npu_sim.random_operations_u85 import up

FAST_MODEL_READ, FAST_MODEL_WRITTEN, FAST_MODEL_CYCLES = 132_130, 48_252, 414_172
# Beats read at port M1, without the 2,416 bytes of the published stream's commands.
FAST_MODEL_CONSTANTS = 17_544 - 2_416 // 8
NHCWB16 = 1 << 6
PART_KERNEL = 1 << 2


@dataclass(frozen=True)
class Layer:
    """One operation of the published stream; weights and scales are bytes."""

    op: str
    ofm: tuple[int, int, int]
    block: tuple[int, int, int]
    inputs: int
    weights: int = 0
    scales: int = 0
    kernel: tuple[int, int] = (1, 1)
    stride: int = 0
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    formats: tuple[int, int] = (NHCWB16, NHCWB16)
    copied: bool = True
    blockdep: int = 3


def separable(wide: int, narrow: int) -> list[Layer]:
    """Return three layers of the network: 3x3 depthwise, then 1x1 in two parts."""
    small, block = (25, 5, 140), (14, 6, 16)
    return [
        Layer("DEPTHWISE", small, block, 140, 1488, 1408, (3, 3), 0, (1,) * 4, blockdep=1),
        Layer("CONV", (25, 5, 112), (7, 6, 48), 140, wide, 1120),
        Layer("CONV", (25, 5, 28), (7, 6, 48), 140, narrow, 288),
    ]


FIRST = ((10, 4), PART_KERNEL, (4, 1, 2, 5), (0, NHCWB16))
LAYERS = [
    Layer("CONV", (49, 10, 16), (11, 10, 16), 1, 944, 160, *FIRST, blockdep=0),
    Layer("CONV", (49, 10, 124), (11, 10, 16), 1, 7264, 1248, *FIRST),
    Layer("DEPTHWISE", (25, 5, 140), (10, 6, 16), 140, 1488, 1408, (3, 3), 3, (1, 0, 1, 1)),
    *separable(16480, 4192)[1:],
    *separable(17104, 4320),
    *separable(17040, 4384),
    separable(0, 0)[0],
    Layer("CONV", (25, 5, 112), (5, 6, 64), 140, 17024, 1120),
    Layer("DEPTHWISE", (25, 5, 112), (14, 6, 16), 112, 1184, 1120, (3, 3), 0, (1,) * 4, blockdep=2),
    Layer("CONV", (25, 5, 96), (7, 6, 48), 112, 11664, 960),
    Layer("CONV", (25, 5, 100), (7, 6, 48), 112, 12208, 1008),
    Layer("POOL", (1, 1, 196), (1, 2, 128), 196, kernel=(25, 5), copied=False, blockdep=0),
    Layer("CONV", (1, 1, 12), (1, 2, 16), 196, 2576, 128, formats=(NHCWB16, 0), copied=False,
          blockdep=1),
]  # fmt: skip


def symbols(layer: Layer) -> int:
    """Count the weights in the stream of a layer, including padding."""
    height, width = layer.kernel
    inputs = 1 if layer.op == "DEPTHWISE" else up(layer.inputs, 8 if layer.stride & 4 else 32)
    taps = height * width
    taps = taps if layer.op == "CONV" and not layer.stride & 4 else up(taps, 4)
    return up(layer.ofm[2], 8) * inputs * taps


def constants(layer: Layer) -> bytes:
    """Return weights, padded with the end-of-stream marker, then scales."""
    weights = bytes(mlw_codec.encode([0] * symbols(layer))) if layer.weights else b""
    assert len(weights) <= layer.weights
    return weights.ljust(layer.weights, b"\xff") + bytes(layer.scales)


def strides(prefix: str, width: int, depth: int, format_: int) -> dict[str, int]:
    """Return the registers of a feature map's layout."""
    bricks = up(depth, 16)
    if format_:
        return {f"{prefix}_STRIDE_X": 16, f"{prefix}_STRIDE_C": 16 * width,
                f"{prefix}_STRIDE_Y": width * bricks}  # fmt: skip
    return {f"{prefix}_STRIDE_X": depth, f"{prefix}_STRIDE_Y": width * depth}


def registers(layer: Layer, weights: int) -> dict[str, int]:
    """Return all registers of a layer, with its weights at an offset in their region."""
    height, width, depth = layer.ofm
    columns = (width - 1) * (2 if layer.stride & 1 else 1) + layer.kernel[1]
    columns -= layer.padding[1] + layer.padding[2]
    pads = dict(zip(("TOP", "LEFT", "RIGHT", "BOTTOM"), layer.padding, strict=True))
    region = 1 if layer.copied else 0
    return {
        **{f"IFM_PAD_{side}": value for side, value in pads.items()},
        **strides("IFM", columns, layer.inputs, layer.formats[0]),
        **strides("OFM", width, depth, layer.formats[1]),
        "IFM_DEPTH_M1": layer.inputs - 1, "IFM_PRECISION": 1 | layer.formats[0],
        "IFM_WIDTH0_M1": 63, "IFM_HEIGHT0_M1": 63, "IFM_REGION": 1,
        "OFM_HEIGHT_M1": height - 1, "OFM_WIDTH_M1": width - 1, "OFM_DEPTH_M1": depth - 1,
        "OFM_PRECISION": (0x101 if layer.op == "POOL" else 1) | layer.formats[1],
        "OFM_BLK_HEIGHT_M1": layer.block[0] - 1, "OFM_BLK_WIDTH_M1": layer.block[1] - 1,
        "OFM_BLK_DEPTH_M1": layer.block[2] - 1, "OFM_BASE0": 1 << 17,
        "OFM_WIDTH0_M1": 63, "OFM_HEIGHT0_M1": 63,
        "KERNEL_HEIGHT_M1": layer.kernel[0] - 1, "KERNEL_WIDTH_M1": layer.kernel[1] - 1,
        "KERNEL_STRIDE": layer.stride, "BLOCKDEP": layer.blockdep, "WEIGHT_REGION": region,
        "WEIGHT_BASE": weights, "WEIGHT_LENGTH": layer.weights, "SCALE_REGION": region,
        "SCALE_BASE": weights + layer.weights, "SCALE_LENGTH": layer.scales,
    }  # fmt: skip


BUFFER = 1 << 18  # weights are copied to this offset in the region of the tensors


def stream_and_flash() -> tuple[bytes, bytes]:
    """Return the commands and constants of the whole network."""
    commands, flash = Stream("ethos-u55-128").defaults(), b""
    for layer in LAYERS:
        data = constants(layer)
        source = len(flash)
        if layer.copied:
            commands.set(DMA0_SRC=source, DMA0_DST=BUFFER, DMA0_LEN=len(data))
            commands.op("DMA_START").op("DMA_WAIT")
        elif layer.op == "CONV":
            assert len(data) == 2704
        commands.set(**registers(layer, BUFFER if layer.copied else source))
        commands.op(layer.op, int(layer.op == "POOL"))
        flash += data
    return commands.stop(), flash


# The system simulated by Arm: SRAM at full speed, flash at an eighth of it.
CORSTONE_300 = [
    {"millibytes": 1000, "read_latency": 64, "burst": 128, "regions": 0b1},
    {"millibytes": 8000, "read_latency": 32, "write_latency": 32, "burst": 32, "regions": 0xFE},
]


def counters(
    memories: list[dict[str, int]], adapters: Mapping[int, tuple[int, ...]] | None = None
) -> list[int]:
    """Return beats read and written at M0, beats read at M1 without commands, and cycles."""
    stream, flash = stream_and_flash()
    with Hardware("ethos-u55-128") as device:
        assert device.set_memories(memories)
        for port, values in (adapters or {}).items():
            device.set_adapter(port, *values)
        for counter, event in enumerate((0x82, 0x87, 0x182, 0x11)):
            device.write(Register.PMEVTYPER + 4 * counter, event)
        device.write(Register.PMCR, 7)
        device.write(Register.PMCNTENSET, 0xF)
        regions = [device.add(flash, writable=False), device.add(1 << 19)]
        device.start(device.add(stream), [region.address for region in regions], regions=0b0010)
        assert device.execute() is Outcome.STOPPED, device.log
        counts = [device.read(Register.PMEVCNTR + 4 * counter) for counter in range(4)]
    counts[2] -= up(len(stream), 8) // 8
    return counts


@pytest.mark.parametrize("memories", [[], CORSTONE_300], ids=["ideal", "corstone-300"])
def test_beats_are_those_of_arms_fast_model(memories):
    read, written, constant, _ = counters(memories)
    assert (read, written) == (FAST_MODEL_READ, FAST_MODEL_WRITTEN)
    assert constant == FAST_MODEL_CONSTANTS


def test_cycles_are_near_those_of_arms_fast_model():
    assert counters(CORSTONE_300)[3] == pytest.approx(FAST_MODEL_CYCLES, rel=0.1)


def test_slower_memory_takes_longer_and_moves_the_same():
    slow = [{"millibytes": 500, "read_latency": 64, "burst": 128, "regions": 0b1}, CORSTONE_300[1]]
    fast, slower = counters(CORSTONE_300), counters(slow)
    assert fast[:3] == slower[:3]
    assert slower[3] > 1.1 * fast[3]


@pytest.mark.parametrize("wrong", [{"millibytes": 0}, {"burst": 0}])
def test_memories_without_a_speed_or_a_burst_are_refused(wrong):
    right = {"millibytes": 1000, "burst": 32}
    with Hardware("ethos-u55-128") as device:
        assert device.set_memories([right] * 4)
        assert not device.set_memories([right] * 5)
        assert not device.set_memories([right | wrong])
