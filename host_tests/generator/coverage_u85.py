# SPDX-License-Identifier: MIT
"""Collects the features of a model compiled for Ethos-U85, as coverage.py does for the others.

A feature is an operation, its mode, and one use: "POOL SUM transpose CHW".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .coverage import State, Ways, count_features, param_of, plain

_STORAGE = ("tiles", "3x1", "chained", "nowhere")
_TRANSPOSES = {1: "WHC", 2: "HCW", 3: "WCH", 6: "CHW", 7: "CWH"}
_REVERSES = {1: "H", 2: "W", 3: "C"}
_ROUNDING = ("double", "natural", "double asymmetric", "away", "to zero", "down", "?", "?")
_FUNCTIONS = {
    **{1: "table u8", 4: "table s8", 5: "table s8 to s16", 7: "table s8 to s32"},
    **{8: "table s16", 9: "table s16 to s32", 10: "tanh", 11: "sigmoid"},
}
_BINARY_BROADCAST = 7
_SCALAR = 8

# Required features of the sample.
REQUIRED = [
    *("CONV", "CONV order depth-first", "CONV order part-kernel"),
    *("CONV accumulator 48", "CONV MATMUL", "DEPTHWISE", "DEPTHWISE chained"),
    *(f"{name} accumulators kept" for name in ("CONV", "DEPTHWISE", "POOL MAX", "POOL SUM")),
    *("CONV ofm 16", "CONV rounding double", "CONV rounding natural", "CONV chained"),
    *(f"POOL {mode}" for mode in ("MAX", "AVERAGE", "REDUCE_SUM", "SUM", "NONE", "MIN")),
    *("POOL ARGMAX_X", "POOL NONE accumulators from IFM2", "POOL SUM table s8", "POOL SUM tanh"),
    *("POOL SUM sigmoid", "POOL SUM table s16", "POOL SUM reverse H", "POOL SUM reverse W"),
    *(f"POOL SUM transpose {order}" for order in ("HCW", "CHW")),
    *("RESIZE BILINEAR", "RESIZE NEAREST", "RESIZE BILINEAR rounding away"),
    *(
        f"ELEMENTWISE {mode}"
        for mode in ("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL", "DIV")
    ),
    *(f"ELEMENTWISE {mode}" for mode in ("CMP_EQ", "CMP_NE", "CMP_GE", "CMP_GT", "AND", "OR")),
    *("ELEMENTWISE NOT", "ELEMENTWISE AND_NOT", "ELEMENTWISE CMP_NE chained"),
    *("ELEMENTWISE MUL first broadcast", "ELEMENTWISE ADD scalar", "ELEMENTWISE ADD no clip"),
    *("DMA_START to table memory", "DMA_START indexed source", "DMA_START indexed target"),
    "DMA_START strides",
]

# Prefixes of features that Vela 5.2 never emits for TFLite graphs, and why.
NOT_EMITTED = {
    "IRQ": "as on the smaller NPUs",
    "BRANCH": "TFLite's control flow stays on the CPU",
    "ELEMENTWISE XOR": "TFLite has no operator that Vela makes it of; TOSA has",
    "ELEMENTWISE LSR": "TFLite has no operator that Vela makes it of; TOSA has",
    "POOL ARGMAX_Y": "Vela reshapes, so that it is the width that is reduced",
    "RESIZE REPLICATE": "TFLite has no such resize",
}


def features(model: bytes) -> Counter[str]:
    """Count the features of a model for an Ethos-U85."""
    return count_features(model, _WAYS)


def _kernel(_mode: int, state: State) -> Iterator[str]:
    """Yield features of all operations on feature maps."""
    ifm, ofm = param_of(state, "IFM_PRECISION"), param_of(state, "OFM_PRECISION")
    yield f"ifm {8 << (ifm >> 2 & 3)}"
    yield f"ofm {8 << (ofm >> 1 & 3)}"
    if "chained" in (_STORAGE[ifm >> 14], _STORAGE[ofm >> 14]):
        yield "chained"
    if ofm >> 11 & 7:
        yield f"transpose {_TRANSPOSES.get(ofm >> 11 & 7, '?')}"
    if ofm >> 9 & 3:
        yield f"reverse {_REVERSES[ofm >> 9 & 3]}"
    yield f"rounding {_ROUNDING[param_of(state, 'OFM_SCALE') >> 13]}"
    activation = param_of(state, "ACTIVATION")
    if activation & 0x1F:
        yield _FUNCTIONS.get(activation & 0x1F, "?")
    if activation >> 12 & 1:
        yield "no clip"
    accumulator = param_of(state, "ACC_FORMAT")
    yield f"accumulator {48 if accumulator & 3 else 32}"
    if accumulator >> 4 & 3:
        yield f"accumulators {('', 'kept', 'from IFM2', '?')[accumulator >> 4 & 3]}"


def _weighted(_mode: int, state: State) -> Iterator[str]:
    yield from _kernel(0, state)
    yield "order part-kernel" if param_of(state, "KERNEL_STRIDE") & 4 else "order depth-first"
    if param_of(state, "IFM_UPSCALE"):
        yield f"upscale {('', 'nearest', 'zeros', '?')[param_of(state, 'IFM_UPSCALE')]}"
    if param_of(state, "WEIGHT_FORMAT") & 1:
        yield "fast weights"
    if param_of(state, "WEIGHT_FORMAT") >> 4 & 1:
        yield "sparse weights"


def _elementwise(_mode: int, state: State) -> Iterator[str]:
    yield from _kernel(0, state)
    first, second = param_of(state, "IFM_BROADCAST"), param_of(state, "IFM2_BROADCAST")
    if (first | second) & _SCALAR:
        yield "scalar"
    if first & _BINARY_BROADCAST:
        yield "both broadcast" if second & _BINARY_BROADCAST else "first broadcast"


def _dma(_mode: int, state: State) -> Iterator[str]:
    source, target = param_of(state, "DMA0_SRC_REGION"), param_of(state, "DMA0_DST_REGION")
    yield "to table memory" if target >> 8 & 1 else "to memory"
    if source >> 9 & 3:
        yield "strides"
    if source >> 11 & 1:
        yield "indexed source"
    if target >> 11 & 1:
        yield "indexed target"


_WAYS: dict[str, Ways] = {
    "CONV": _weighted,
    "DEPTHWISE": _weighted,
    "POOL": _kernel,
    "ELEMENTWISE": _elementwise,
    "RESIZE": _kernel,
    "DMA_START": _dma,
    **dict.fromkeys(("STOP", "IRQ", "BRANCH"), plain),
}
