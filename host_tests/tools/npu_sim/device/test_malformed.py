# SPDX-License-Identifier: MIT
"""Malformed streams give a parse error and a log line before memory is touched."""

import pytest

from host_tests.tools.npu_sim import hardware as npu
from host_tests.tools.npu_sim.assembler import Stream, execute
from host_tests.tools.npu_sim.hardware import Outcome

U55, U65, U85 = "ethos-u55-128", "ethos-u65-512", "ethos-u85-256"
_CHAINED = 0x8000
_LSR = 10


def u85(**registers: int) -> Stream:
    return Stream(U85).defaults(**registers)


def pool(mode: int, **registers: int) -> Stream:
    return u85(**registers).op("POOL", mode)


# For Ethos-U55: the stream.
COMMANDS = [
    (Stream().bytes(), "without NPU_OP_STOP"),
    (Stream().set(IFM_REGION=1).bytes(), "without NPU_OP_STOP"),
    (Stream().raw(0x000003FF).bytes(), "unknown command word 0x000003ff"),
    (Stream().raw(0x00008000).bytes(), "unknown command word"),
    (Stream().raw(0x00004000).bytes(), "lacks its payload"),
    (Stream().set(IFM_REGION=9).bytes(), "NPU_SET_IFM_REGION has parameter 0x0009"),
    (Stream().set(PARALLEL_MODE=0).stop(), "does not exist on ethos-u55-128"),
    (Stream().op("POOL", 3).stop(), "has mode 3"),
    (Stream().op("ELEMENTWISE", 10).stop(), "has mode 10"),
    (Stream().op("CONV").stop(), "needs NPU_SET_OFM_HEIGHT_M1, which this job never set"),
]  # fmt: skip

INT16 = {"OFM_PRECISION": 0x103, "OFM_STRIDE_X": 2}
# For Ethos-U55: an operation, registers.
OPERATIONS = [
    (("POOL", 1), {"IFM_PRECISION": 0xC}, "IFM_PRECISION 0x000c"),
    (("POOL", 1), {"OFM_PRECISION": 0xC101}, "rounding mode 3"),
    (("POOL", 1), {"IFM_UPSCALE": 3}, "IFM_UPSCALE 3"),
    (("POOL", 1), {"IFM_PAD_LEFT": 100}, "implies an IFM"),
    (("POOL", 1), {"IFM_DEPTH_M1": 4}, "IFM depth 5 but OFM depth 1"),
    (("POOL", 1), {"ACTIVATION": 5}, "activation function 5"),
    (("POOL", 1), {"ACTIVATION": 5, **INT16}, "activation function 5 with a 16-bit OFM"),
    (("POOL", 1), {"ACTIVATION": 16}, "no DMA of this job has filled"),
    (("POOL", 1), {"ACTIVATION": 3}, "activation function 3 with a 8-bit OFM"),
    (("POOL", 1), {"ACTIVATION": 0x1000}, "clip range 1"),
    (("POOL", 1), {"ACTIVATION_MIN": 8, "ACTIVATION_MAX": 7}, "clamps to 8..7"),
    (("POOL", 1), {"KERNEL_STRIDE": 0x20}, "4x4 kernel decomposition"),
    (("POOL", 1), {"KERNEL_STRIDE": 0x08, "KERNEL_WIDTH_M1": 3}, "impossible with dilation"),
    (("POOL", 1), {"IFM_PRECISION": 0x45, "IFM_BASE0": 8}, "misaligned IFM"),
    (("CONV", 0), {"ACC_FORMAT": 2, "OFM_PRECISION": 1}, "ACC_FORMAT 2"),
    (("CONV", 0), {"WEIGHT_BASE": 8, "OFM_PRECISION": 1}, "WEIGHT_BASE 0x8"),
    (("CONV", 0), {"SCALE_LENGTH": 0, "OFM_PRECISION": 1}, "length 0"),
    (("CONV", 0), {"IFM_PRECISION": 9, "OFM_PRECISION": 1, "IFM_STRIDE_X": 4}, "32-bit IFM"),
    (("DEPTHWISE", 0), {"IFM_PRECISION": 9, "OFM_PRECISION": 1, "IFM_STRIDE_X": 4}, "32-bit IFM"),
    (("DEPTHWISE", 0), {}, "OFM_SCALE instead of per-channel scales"),
    (("DEPTHWISE", 0), {"IFM_DEPTH_M1": 4, "OFM_PRECISION": 1}, "IFM depth 5 but OFM depth 1"),
    (("POOL", 2), {"OFM_PRECISION": 1}, "REDUCE_SUM without OFM_SCALE"),
    (("ELEMENTWISE", 1), {"IFM_DEPTH_M1": 4}, "IFM depth 5 but OFM depth 1"),
    (("ELEMENTWISE", 7), {}, "8-bit IFM, not supported"),
    (("ELEMENTWISE", 8), {}, "mode 8 has a 8-bit IFM, not supported"),
    (("ELEMENTWISE", 9), {}, "mode 9 has a 8-bit IFM, not supported"),
    (("ELEMENTWISE", 1), {"IFM2_PRECISION": 5, "IFM2_STRIDE_X": 2}, "8-bit IFM but a 16-bit IFM2"),
    (("ELEMENTWISE", 1), {"IFM_PRECISION": 0x301}, "scale mode 3"),
    (("DMA_START", 0), {"DMA0_LEN": 8}, "not multiples of 16"),
    (("DMA_START", 0), {"DMA0_LEN": 0}, "copies 0 bytes"),
    (("DMA_START", 0), {"DMA0_DST_REGION": 0x200}, "stride mode 1"),
    (("DMA_START", 0), {"DMA0_DST_REGION": 0x100}, "outside the tables"),
    (("DMA_START", 0), {"DMA0_SRC_REGION": 0x100}, "internal memory"),
    (("CONV", 0), {"OFM_PRECISION": 1, "WEIGHT_LENGTH": 0}, "length 0"),
]  # fmt: skip

# For Ethos-U85: the stream without its end.
FOR_U85 = [
    (u85(ACC_FORMAT=0x000).op("CONV"), "has microblock 0"),
    (u85(ACC_FORMAT=0x700).op("CONV"), "has microblock 7"),
    (u85(ACC_FORMAT=0x302).op("CONV"), "ACC_FORMAT 2 with input 0"),
    (u85(ACC_FORMAT=0x330).op("CONV"), "input 3"),
    (u85(ACC_FORMAT=0x310).op("CONV"), "keeps accumulators of 1x16x1, but 0x0x0"),
    (u85(ACC_FORMAT=0x320).op("CONV"), "begins with an IFM2 of 8 bits, needs 32"),
    (u85(ACC_FORMAT=0x320, IFM2_PRECISION=9, IFM2_STRIDE_X=4).op("CONV", 1),
     "both weights and accumulators"),
    (u85(KERNEL_WIDTH_M1=1, IFM_PAD_LEFT=1).op("CONV", 1), "a kernel of 1x2"),
    (u85(IFM2_PRECISION=5, IFM2_STRIDE_X=2).op("CONV", 1), "weights of 16 bits"),
    (u85(IFM_PRECISION=0xD).op("POOL", 1), "IFM_PRECISION 0x000d"),
    (u85(IFM_PRECISION=0x4001).op("POOL", 1), "IFM in 3x1 tiles"),
    (u85(IFM_PRECISION=_CHAINED | 1, IFM_REGION=6).op("CONV"), "chaining buffer 6"),
    (u85(IFM_PRECISION=_CHAINED | 1, IFM_REGION=5).op("CONV", 1), "holds 0 of 0"),
    (u85(OFM_SCALE=1 << 38 | 1).op("CONV", 1), "dbl_rnd 1"),
    (u85(OFM_SCALE=6 << 45 | 1).op("CONV", 1), "rounding mode 6"),
    (u85(WEIGHT_FORMAT=1, OFM_PRECISION=1).op("DEPTHWISE"), "weights of format 0x1"),
    (u85(DMA0_SRC_REGION=0x600).op("DMA_START"), "stride mode 3"),
    (u85(DMA0_SRC_REGION=0x800, DMA0_SRC_STRIDE0=16).op("DMA_START"),
     "needs NPU_SET_DMA0_IDX_REGION"),
    (u85(DMA0_SRC_REGION=0x800, DMA0_DST_REGION=0x801).op("DMA_START"),
     "indexes both source and destination"),
    (u85(DMA0_DST_REGION=0x100, DMA0_DST=2048).op("DMA_START"), "outside the tables"),
    (Stream(U85).set(IFM_REGION=0).raw(0x00000181), "NPU_SET_IFM2_SCALAR does not exist"),
    (Stream(U85).raw(0x00010012 | 2 << 16), "KERNEL_WAIT has parameter 0x0003"),
    (u85().op("ELEMENTWISE", 12), "has mode 12"),
    (u85().op("ELEMENTWISE", _LSR), "mode 10 has a 8-bit IFM"),
    (u85(IFM2_PRECISION=5, IFM2_STRIDE_X=2).op("ELEMENTWISE", 1), "8-bit IFM but a 16-bit IFM2"),
    (u85(IFM_DEPTH_M1=3).op("ELEMENTWISE", 1), "has IFM depth 4 but OFM depth 1"),
    (u85(IFM_PRECISION=0xC001).op("ELEMENTWISE", 1), "an operand without storage"),
    (pool(4), "of mode 4 has accumulators of input 0"),
    (pool(2, OFM_PRECISION=1), "REDUCE_SUM without OFM_SCALE"),
    (pool(2, ACC_FORMAT=0x301), "REDUCE_SUM in 48 bits with OFM_SCALE 1: Arm's model gives zeros"),
    (pool(3, ACC_FORMAT=0x301, OFM_SCALE=0x8000), "sums in 48 bits with OFM_SCALE 32768"),
    (pool(3, OFM_PRECISION=0x2101), "transpose 4 and reverse 0"),
    (pool(3, OFM_PRECISION=0x0B01), "transpose 1 and reverse 1"),
    (pool(3, OFM_PRECISION=0x8901), "in a chaining buffer"),
    (pool(3, ACTIVATION=2), "activation function 2 with a 8-bit OFM"),
    (pool(3, ACTIVATION=5), "activation function 5 with a 8-bit OFM"),
    (pool(3, ACTIVATION=4 | 7 << 5), "no DMA of this job has filled byte 0"),
    (pool(3, ACTIVATION=8 | 1 << 5, OFM_PRECISION=0x103, OFM_STRIDE_X=2), "at 2048 for a table"),
    (u85().op("RESIZE", 3), "has mode 3"),
    (u85(RESIZE_X_SCALE_N_M1=0, RESIZE_Y_SCALE_N_M1=0, RESIZE_X_OFFSET=0, RESIZE_Y_OFFSET=0,
            RESIZE_X_STEP=7, RESIZE_Y_STEP=0).op("RESIZE", 0), "steps by 0 and 7 parts of 1"),
    (u85(IFM2_PRECISION=2 << 14 | 1).op("ELEMENTWISE", 1), "NPU_OP_ELEMENTWISE"),
    (u85().op("RESIZE"), "NPU_OP_RESIZE"),
]  # fmt: skip

ROWS = [
    *((U55, stream, words, "") for stream, words in COMMANDS),
    *(
        (U55, Stream(U55).defaults(**registers).op(*operation).stop(), words, operation[0])
        for operation, registers, words in OPERATIONS
    ),
    (U65, Stream(U65).defaults(DMA0_SRC_REGION=3 << 9).op("DMA_START").stop(), "mode 3", ""),
    *((U85, stream.stop(), words, "") for stream, words in FOR_U85),
]


@pytest.mark.parametrize("config", [U55, U65, U85])
def test_a_malformed_stream_is_refused(config):
    for _, stream, words, operation in (row for row in ROWS if row[0] == config):
        run = execute(config, stream, [bytes(4096) for _ in range(4)])
        assert run.outcome is Outcome.PARSE_ERROR, (words, run.log)
        assert words in "".join(run.log)
        assert not operation or f"NPU_OP_{operation}" in run.log[-1]
        assert run.status & npu.STATUS_PARSE_ERROR and run.status & npu.STATUS_IRQ
        # A DMA to the tables reads its source first; in other cases only the stream was read.
        assert run.accesses <= (2 if words == "outside the tables" else 1)
