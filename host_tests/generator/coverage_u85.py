# SPDX-License-Identifier: MIT
"""Collects the features of a model compiled for Ethos-U85, as coverage.py does for the others.

Feature: operation, mode, and one way in which it is used: "POOL SUM transpose CHW".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ethosu_tools.trace import MODES

from .coverage import commands, streams

State = Mapping[str, tuple[int, int]]

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
    """Features of all command streams of a compiled model, with their number of uses."""
    found: Counter[str] = Counter()
    for stream in streams(model):
        state: dict[str, tuple[int, int]] = {}
        for name, param, word in commands(stream):
            if name in _OPERATIONS:
                mode = MODES.get(f"NPU_OP_{name}", {}).get(param)
                found.update({name, f"{name} {mode}" if mode else name})
                label = name if name in ("CONV", "DEPTHWISE") else f"{name} {mode or ''}".rstrip()
                found.update(f"{label} {way}" for way in _OPERATIONS[name](state))
            else:
                state[name] = (param, word)
    return found


def _param(state: State, name: str) -> int:
    return state.get(name, (0, 0))[0]


def _kernel(state: State) -> Iterator[str]:
    """Features of all operations on feature maps."""
    ifm, ofm = _param(state, "IFM_PRECISION"), _param(state, "OFM_PRECISION")
    yield f"ifm {8 << (ifm >> 2 & 3)}"
    yield f"ofm {8 << (ofm >> 1 & 3)}"
    if "chained" in (_STORAGE[ifm >> 14], _STORAGE[ofm >> 14]):
        yield "chained"
    if ofm >> 11 & 7:
        yield f"transpose {_TRANSPOSES.get(ofm >> 11 & 7, '?')}"
    if ofm >> 9 & 3:
        yield f"reverse {_REVERSES[ofm >> 9 & 3]}"
    yield f"rounding {_ROUNDING[_param(state, 'OFM_SCALE') >> 13]}"
    activation = _param(state, "ACTIVATION")
    if activation & 0x1F:
        yield _FUNCTIONS.get(activation & 0x1F, "?")
    if activation >> 12 & 1:
        yield "no clip"
    accumulator = _param(state, "ACC_FORMAT")
    yield f"accumulator {48 if accumulator & 3 else 32}"
    if accumulator >> 4 & 3:
        yield f"accumulators {('', 'kept', 'from IFM2', '?')[accumulator >> 4 & 3]}"


def _weighted(state: State) -> Iterator[str]:
    yield from _kernel(state)
    yield "order part-kernel" if _param(state, "KERNEL_STRIDE") & 4 else "order depth-first"
    if _param(state, "IFM_UPSCALE"):
        yield f"upscale {('', 'nearest', 'zeros', '?')[_param(state, 'IFM_UPSCALE')]}"
    if _param(state, "WEIGHT_FORMAT") & 1:
        yield "fast weights"
    if _param(state, "WEIGHT_FORMAT") >> 4 & 1:
        yield "sparse weights"


def _elementwise(state: State) -> Iterator[str]:
    yield from _kernel(state)
    first, second = _param(state, "IFM_BROADCAST"), _param(state, "IFM2_BROADCAST")
    if (first | second) & _SCALAR:
        yield "scalar"
    if first & _BINARY_BROADCAST:
        yield "both broadcast" if second & _BINARY_BROADCAST else "first broadcast"


def _dma(state: State) -> Iterator[str]:
    source, target = _param(state, "DMA0_SRC_REGION"), _param(state, "DMA0_DST_REGION")
    yield "to table memory" if target >> 8 & 1 else "to memory"
    if source >> 9 & 3:
        yield "strides"
    if source >> 11 & 1:
        yield "indexed source"
    if target >> 11 & 1:
        yield "indexed target"


def _plain(_state: State) -> Iterator[str]:
    yield from ()


_OPERATIONS = {
    "CONV": _weighted,
    "DEPTHWISE": _weighted,
    "POOL": _kernel,
    "ELEMENTWISE": _elementwise,
    "RESIZE": _kernel,
    "DMA_START": _dma,
    "STOP": _plain,
    "IRQ": _plain,
    "BRANCH": _plain,
}
