# SPDX-License-Identifier: MIT
"""Assembles hand-written command streams, for tests that Vela's output cannot reach."""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass

import numpy as np

from host_tests.tools.npu_sim import hardware as npu

PAYLOAD = 0x4000

# CONFIG as Vela writes it to each payload.
CONFIGS = {
    "ethos-u55-32": 0x00001005,
    "ethos-u55-64": 0x00001006,
    "ethos-u55-128": 0x00001807,
    "ethos-u55-256": 0x00003008,
    "ethos-u65-256": 0x10003008,
    "ethos-u65-512": 0x10006009,
    "ethos-u85-128": 0x20000117,
    "ethos-u85-256": 0x20000118,
    "ethos-u85-512": 0x20001119,
    "ethos-u85-1024": 0x2000251A,
    "ethos-u85-2048": 0x2000261B,
}


@functools.cache
def codes(config: str) -> dict[str, int]:
    """Return the code of each command; loaded on first use, when the library has been built."""
    return {name.removeprefix("NPU_"): code for code, (name, _) in npu.commands(config).items()}


# An elementwise, pool or convolution of one row; tests override the registers they test.
DEFAULTS = {
    "IFM_PAD_TOP": 0, "IFM_PAD_LEFT": 0, "IFM_PAD_RIGHT": 0, "IFM_PAD_BOTTOM": 0,
    "IFM_DEPTH_M1": 0, "IFM_PRECISION": 0x1, "IFM_UPSCALE": 0, "IFM_ZERO_POINT": 0,
    "IFM_WIDTH0_M1": 15, "IFM_HEIGHT0_M1": 0, "IFM_HEIGHT1_M1": 0, "IFM_REGION": 0,
    "OFM_WIDTH_M1": 15, "OFM_HEIGHT_M1": 0, "OFM_DEPTH_M1": 0, "OFM_PRECISION": 0x101,
    "OFM_BLK_WIDTH_M1": 15, "OFM_BLK_HEIGHT_M1": 0, "OFM_BLK_DEPTH_M1": 7,
    "OFM_ZERO_POINT": 0, "OFM_WIDTH0_M1": 15, "OFM_HEIGHT0_M1": 0, "OFM_HEIGHT1_M1": 0,
    "OFM_REGION": 1, "KERNEL_WIDTH_M1": 0, "KERNEL_HEIGHT_M1": 0, "KERNEL_STRIDE": 0,
    "BLOCKDEP": 0, "IFM_IB_END": 4, "AB_START": 16, "IFM2_IB_START": 4,
    "ACC_FORMAT": 0, "ACTIVATION": 0, "ACTIVATION_MIN": 0xFF80, "ACTIVATION_MAX": 0x7F,
    "WEIGHT_REGION": 2, "SCALE_REGION": 3, "IFM2_BROADCAST": 0, "IFM2_SCALAR": 0,
    "IFM2_PRECISION": 0x1, "IFM2_ZERO_POINT": 0, "IFM2_WIDTH0_M1": 15, "IFM2_HEIGHT0_M1": 0,
    "IFM2_HEIGHT1_M1": 0, "IFM2_REGION": 2, "DMA0_SRC_REGION": 0, "DMA0_DST_REGION": 1,
    "IFM_BASE0": 0, "IFM_BASE1": 0, "IFM_BASE2": 0, "IFM_BASE3": 0, "IFM_STRIDE_X": 1,
    "IFM_STRIDE_Y": 16, "IFM_STRIDE_C": 1, "OFM_BASE0": 0, "OFM_BASE1": 0, "OFM_BASE2": 0,
    "OFM_BASE3": 0, "OFM_STRIDE_X": 1, "OFM_STRIDE_Y": 16, "OFM_STRIDE_C": 1,
    "IFM2_BASE0": 0, "IFM2_BASE1": 0, "IFM2_BASE2": 0, "IFM2_BASE3": 0, "IFM2_STRIDE_X": 1,
    "IFM2_STRIDE_Y": 16, "IFM2_STRIDE_C": 1, "WEIGHT_BASE": 0, "WEIGHT_LENGTH": 16,
    "SCALE_BASE": 0, "SCALE_LENGTH": 16, "OFM_SCALE": 1, "OPA_SCALE": 1, "OPB_SCALE": 1,
    "DMA0_SRC": 0, "DMA0_DST": 0, "DMA0_LEN": 16,
}  # fmt: skip

# The same for Ethos-U85: registers removed and added.
_NOT_U85 = {
    *("IFM2_SCALAR", "OPA_SCALE", "OPB_SCALE"),
    *("IFM_IB_END", "AB_START", "IFM2_IB_START"),
}
U85_DEFAULTS = {key: value for key, value in DEFAULTS.items() if key not in _NOT_U85} | {
    "ACC_FORMAT": 0x300, "WEIGHT_FORMAT": 0, "OFM_SCALE": 1 << 45 | 1, "IFM_SCALE": 1,
    "IFM2_SCALE": 1, "OP_SCALAR": 0, "IFM_BROADCAST": 0, "DMA0_SIZE0": 1, "OFM_BLK_DEPTH_M1": 15,
}  # fmt: skip


class Stream:
    """A command stream under construction."""

    def __init__(self, config: str = "ethos-u65-512") -> None:
        self.words: list[int] = []
        self._codes = codes(config)
        self._defaults = U85_DEFAULTS if "u85" in config else DEFAULTS

    def set(self, **registers: int) -> Stream:
        """Set registers; payload registers take bits 47:32 of the value as parameter."""
        for name, value in registers.items():
            code = self._codes[f"SET_{name}"]
            if code & PAYLOAD:
                high = value >> 32 & 0xFFFF
                self.words += [high << 16 | code, value & 0xFFFFFFFF]
            else:
                self.words.append((value & 0xFFFF) << 16 | code)
        return self

    def defaults(self, **registers: int) -> Stream:
        """Set every register that operations use, with these ones overridden."""
        return self.set(**{**self._defaults, **registers})

    def op(self, name: str, param: int = 0, payload: int | None = None) -> Stream:
        """Append an operation."""
        self.words.append(param << 16 | self._codes[f"OP_{name}"])
        self.words += [] if payload is None else [payload]
        return self

    def raw(self, *words: int) -> Stream:
        """Append words unchanged."""
        self.words += words
        return self

    def stop(self) -> bytes:
        """End the stream."""
        return self.op("STOP", 0xFFFF).bytes()

    def bytes(self) -> bytes:
        """Return the stream so far."""
        return struct.pack(f"<{len(self.words)}I", *self.words)


@dataclass(frozen=True)
class Run:
    """The result of a stream; region i is memories[i + 1]."""

    outcome: npu.Outcome
    status: int
    cycles: int
    accesses: int
    log: list[str]
    memories: list[npu.Memory]

    @property
    def result(self) -> np.ndarray:
        """Return region 1, which has the OFM, of a stream that ended well."""
        assert self.outcome is npu.Outcome.STOPPED and not self.log, self.log
        return self.memories[2].data

    def refused(self, words: str, outcome: npu.Outcome = npu.Outcome.PARSE_ERROR) -> None:
        """Check that it ended in a fault, which the log explains with these words."""
        assert self.outcome is outcome, self.log
        assert words in self.log[0]


def execute(config: str, stream: bytes, regions: list[bytes]) -> Run:
    """Run a stream on a fresh NPU."""
    with npu.Hardware(config) as device:
        memory = device.add(stream, writable=False)
        bases = [device.add(content).address for content in regions]
        device.start(memory, bases)
        outcome = device.execute()
        status = device.read(npu.Register.STATUS)
        return Run(outcome, status, device.cycles, device.accesses, device.log, device.memories)
