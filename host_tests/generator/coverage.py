# SPDX-License-Identifier: MIT
"""Collects the NPU features that a compiled model's command streams use.

A feature is a short text such as "CONV ifm=int8 NHCWB16" or "POOL mode=1". The state of an
operation is that of the registers when its command is read.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator

from ethosu_tools.model import read_stream
from ethosu_tools.model.graph import NPU_CONSTANTS, NPU_STREAM
from ethosu_tools.tflite import parse

from host_tests.tools.npu_sim.hardware import commands as command_table

PAYLOAD = 0x4000
OPERATIONS = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE")  # on feature maps

# Parameter and payload of the last command that set each register.
State = dict[str, tuple[int, int]]

_NAMES = {
    code: name.partition("_")[2].partition("_")[2]
    for config in ("ethos-u85-256", "ethos-u65-512")
    for code, (name, _) in command_table(config).items()
}


def operators(model: bytes) -> Counter[str]:
    """The operators of a compiled model's main graph, by name."""
    return Counter(operator.name for operator in parse(model)[0].operators)


def streams(model: bytes) -> Iterator[bytes]:
    """The command streams of a compiled model's main graph."""
    graph = parse(model)[0]
    for operator in graph.operators:
        if operator.on_npu:
            yield read_stream(graph.tensors[operator.inputs[NPU_STREAM]].content)[1]


def constants(model: bytes) -> bytes:
    """The read-only data (region 0) of the first NPU operator, or empty."""
    graph = parse(model)[0]
    of_npu = (graph.tensors[node.inputs[NPU_CONSTANTS]] for node in graph.operators if node.on_npu)
    return next((tensor.content for tensor in of_npu), b"")


def commands(stream: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, parameter and payload of each command."""
    words = struct.unpack(f"<{len(stream) // 4}I", stream)
    at = 0
    while at < len(words):
        word = words[at]
        has_payload = bool(word & PAYLOAD)
        yield _NAMES[word & 0xFFFF], word >> 16, words[at + 1] if has_payload else 0
        at += 2 if has_payload else 1


def operations(model: bytes) -> Iterator[tuple[str, int, State]]:
    """Opcode, mode and registers (parameter, payload) of every operation on feature maps."""
    for stream in streams(model):
        state: State = {}
        for name, mode, payload in commands(stream):
            if name in OPERATIONS:
                yield name, mode, dict(state)
            else:
                state[name] = (mode, payload)


def features(model: bytes) -> Counter[str]:
    """Count the features of a compiled model."""
    found: Counter[str] = Counter()
    for stream in streams(model):
        state: dict[str, tuple[int, int]] = {}
        for name, param, payload in commands(stream):
            if name in _OPERATIONS:
                found.update(f"{name} {text}".strip() for text in _OPERATIONS[name](param, state))
            else:
                state[name] = (param, payload)
                found[f"SET_{name}"] += 1
    return found


# --- Required features of the sample --------------------------------------------------------------

_MODES = [
    "CONV",
    "DEPTHWISE",
    *(f"POOL {mode}" for mode in ("MAX", "AVERAGE", "REDUCE_SUM")),
    *(
        f"ELEMENTWISE {mode}"
        for mode in ("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL")
    ),
    "DMA_START to memory",
    "DMA_START to table memory",
    "DMA_WAIT 0",
    "KERNEL_WAIT 0",
    "KERNEL_WAIT 1",
    "STOP 65535",
]
_WAYS = [
    *("CONV order depth-first", "CONV order part-kernel", "CONV upscale zeros"),
    *("CONV padding uneven", "CONV kernel beyond 8", "CONV two cores", "CONV stride 3"),
    *("CONV accumulator 0", "CONV accumulator 1"),
    *("CONV weights in constants", "CONV weights in scratch", "CONV weights in fast scratch"),
    *("CONV ifm int8 NHWC", "CONV ifm int8 NHCWB16", "CONV ifm int16 NHWC"),
    *("DEPTHWISE dilation", "DEPTHWISE upscale nearest", "DEPTHWISE ofm int32 NHCWB16"),
    *("POOL AVERAGE ifm tiles", "POOL AVERAGE ofm reversed", "POOL AVERAGE upscale nearest"),
    *(
        "POOL AVERAGE activation table",
        "POOL AVERAGE activation tanh",
        "POOL AVERAGE padding uneven",
    ),
    *("POOL AVERAGE activation sigmoid", "POOL AVERAGE ofm int32 NHWC"),
    *("POOL REDUCE_SUM ifm int32 NHWC", "POOL REDUCE_SUM ifm int16 NHCWB16"),
    *("POOL REDUCE_SUM ifm int8 NHWC", "POOL MAX kernel beyond 8"),
    *(f"ELEMENTWISE ADD scale mode {mode}" for mode in range(3)),
    *(f"ELEMENTWISE SUB scale mode {mode}" for mode in range(3)),
    *(f"ELEMENTWISE ADD ifm int{bits} NHWC" for bits in (8, 16, 32)),
    *(f"ELEMENTWISE MUL ifm int{bits} NHWC" for bits in (8, 16, 32)),
    *(f"ELEMENTWISE SUB {way}" for way in ("broadcast", "scalar", "operands swapped")),
    *(
        "ELEMENTWISE SUB activation table",
        "ELEMENTWISE SUB clip 3",
        "ELEMENTWISE SHR rounding natural",
    ),
]

# Opcode and mode pairs, and their uses, that the sample must contain.
REQUIRED = [*_MODES, *_WAYS]

# Prefixes of features that Vela 5.2 never emits for TFLite graphs, and why.
NOT_EMITTED = {
    "IRQ": "the stream's STOP raises the only interrupt",
    "PMU_MASK": "profiling of parts of a stream is left to hand-written streams",
    "DMA_START stride mode 1": "strided transfers need a U65 operation that no TFLite graph makes",
    "DMA_START stride mode 2": "as stride mode 1",
    "CONV accumulator 2": "floating accumulators serve no integer model",
    "CONV rounding truncate": "TFLite rounds; TOSA does not truncate here either",
    "CONV ofm tiles": "only inputs are rolling buffers",
}

# --- Features of one operation ------------------------------------------------------------------

_ELEMENTWISE = ("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL")
_UNARY = ("LRELU", "ABS", "CLZ")
_POOLS = ("MAX", "AVERAGE", "REDUCE_SUM")
_ROUNDING = ("double", "truncate", "natural", "reserved")
_FORMATS = ("NHWC", "NHCWB16", "?", "?")
_UPSCALE = ("", "nearest", "zeros", "?")


def _param(state: State, name: str) -> int:
    return state.get(name, (0, 0))[0]


def _payload(state: State, name: str) -> int:
    return state.get(name, (0, 0))[1]


def _type(precision: int, width: int) -> str:
    sign = "int" if precision & 1 else "uint"
    return f"{sign}{8 << width} {_FORMATS[precision >> 6 & 3]}"


def _kernel(state: State) -> Iterator[str]:
    """Features of all operations on feature maps."""
    ifm, ofm = _param(state, "IFM_PRECISION"), _param(state, "OFM_PRECISION")
    yield f"ifm {_type(ifm, ifm >> 2 & 3)}"
    yield f"ofm {_type(ofm, ofm >> 1 & 3)}"
    yield f"rounding {_ROUNDING[ofm >> 14]}"
    yield "scale global" if ofm & 1 << 8 else "scale per channel"
    function = _param(state, "ACTIVATION") & 0x1F
    names = {0: "clamp", 3: "tanh", 4: "sigmoid"}
    yield f"activation {names.get(function, 'table')}"
    yield f"clip {_param(state, 'ACTIVATION') >> 12 & 7}"
    if _payload(state, "IFM_BASE2") and _payload(state, "IFM_BASE2") != _payload(
        state, "IFM_BASE0"
    ):
        yield "ifm tiles"
    if _payload(state, "OFM_BASE2") and _payload(state, "OFM_BASE2") != _payload(
        state, "OFM_BASE0"
    ):
        yield "ofm tiles"
    if any(_payload(state, f"OFM_STRIDE_{axis}") >> 31 for axis in "XYC"):
        yield "ofm reversed"
    yield f"accumulator {_param(state, 'ACC_FORMAT') & 3}"
    if _param(state, "PARALLEL_MODE"):
        yield "two cores"


def _window(state: State) -> Iterator[str]:
    """Features of operations with a sliding window."""
    yield from _kernel(state)
    stride = _param(state, "KERNEL_STRIDE")
    x, y = (stride & 1) + (stride >> 6 & 1) * 2 + 1, (stride >> 1 & 1) + (stride >> 9 & 1) * 2 + 1
    yield f"stride {max(x, y)}" + (" uneven" if x != y else "")
    if stride >> 3 & 3:
        yield "dilation"
    if _param(state, "IFM_UPSCALE"):
        yield f"upscale {_UPSCALE[_param(state, 'IFM_UPSCALE') & 3]}"
    sides = [_param(state, f"IFM_PAD_{side}") for side in ("TOP", "LEFT", "RIGHT", "BOTTOM")]
    if any(sides):
        uneven = sides[0] != sides[3] or sides[1] != sides[2]
        yield "padding uneven" if uneven else "padding"
    if max(_param(state, "KERNEL_HEIGHT_M1"), _param(state, "KERNEL_WIDTH_M1")) > 7:
        yield "kernel beyond 8"


def _weighted(state: State) -> Iterator[str]:
    yield from _window(state)
    regions = ("constants", "scratch", "fast scratch")
    region = _param(state, "WEIGHT_REGION")
    yield f"weights in {regions[region] if region < len(regions) else f'region {region}'}"


def _conv(_param_: int, state: State) -> Iterator[str]:
    yield ""
    yield from _weighted(state)
    yield "order part-kernel" if _param(state, "KERNEL_STRIDE") & 4 else "order depth-first"


def _depthwise(_param_: int, state: State) -> Iterator[str]:
    yield ""
    yield from _weighted(state)


def _pool(mode: int, state: State) -> Iterator[str]:
    yield _POOLS[mode]
    yield from (f"{_POOLS[mode]} {feature}" for feature in _window(state))


def _elementwise(mode: int, state: State) -> Iterator[str]:
    name = _ELEMENTWISE[mode]
    yield name
    yield from (f"{name} {feature}" for feature in _kernel(state))
    if name in ("ADD", "SUB"):
        yield f"{name} scale mode {_param(state, 'IFM_PRECISION') >> 8 & 3}"
    if name in _UNARY:
        return
    broadcast = _param(state, "IFM2_BROADCAST")
    if broadcast >> 7 & 1:
        yield f"{name} scalar"
    elif broadcast & 7:
        yield f"{name} broadcast"
    if broadcast >> 6 & 1:
        yield f"{name} operands swapped"


def _dma(_mode: int, state: State) -> Iterator[str]:
    yield ""
    yield "to table memory" if _param(state, "DMA0_DST_REGION") & 1 << 8 else "to memory"
    yield f"stride mode {_param(state, 'DMA0_DST_REGION') >> 9 & 3}"


def _plain(param: int, _state: State) -> Iterator[str]:
    yield str(param)


_OPERATIONS = {
    "CONV": _conv,
    "DEPTHWISE": _depthwise,
    "POOL": _pool,
    "ELEMENTWISE": _elementwise,
    "DMA_START": _dma,
    "DMA_WAIT": _plain,
    "KERNEL_WAIT": _plain,
    "STOP": _plain,
    "IRQ": _plain,
    "PMU_MASK": _plain,
}
