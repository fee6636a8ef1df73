# SPDX-License-Identifier: MIT
"""Collects the NPU features that a compiled model's command streams use.

A feature is a short text such as "CONV ifm=int8 NHCWB16" or "POOL mode=1". The state of an
operation is that of the registers when its command is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ethosu_tools.model.tflite import parse
from ethosu_tools.sim.trace import MODES

from host_tests.modules.ethosu.driver import streams
from host_tests.tools.npu_sim.hardware import commands as command_table

OPERATIONS = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE")  # on feature maps

# Parameter and payload of the last command that set each register.
State = Mapping[str, tuple[int, int]]
# A function that names the uses of an operation with this parameter.
Ways = Callable[[int, State], Iterator[str]]

NAMES = {
    code: name.partition("_")[2].partition("_")[2]
    for config in ("ethos-u85-256", "ethos-u65-512")
    for code, (name, _) in command_table(config).items()
}


def operators(model: bytes) -> Counter[str]:
    """Count the operators of a compiled model's main graph, by name."""
    return Counter(operator.name for operator in parse(model)[0].operators)


def commands(stream: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield name, parameter and payload of each command."""
    for command in streams.commands(stream):
        yield NAMES[command.code], command.param, command.payload or 0


def operations(
    model: bytes, names: Mapping[str, object] | tuple[str, ...] = OPERATIONS
) -> Iterator[tuple[str, int, State]]:
    """Yield opcode, mode and registers (parameter, payload) of operations with these names."""
    for call in streams.npu_calls(model):
        state: dict[str, tuple[int, int]] = {}
        for name, mode, payload in commands(call.stream):
            if name in names:
                yield name, mode, dict(state)
            else:
                state[name] = (mode, payload)


def count_features(model: bytes, ways: Mapping[str, Ways]) -> Counter[str]:
    """Count operations, their modes, and the ways in which they are used."""
    features: Counter[str] = Counter()
    for name, param, state in operations(model, ways):
        mode = MODES.get(f"NPU_OP_{name}", {}).get(param)
        kind = f"{name} {mode}" if mode else name
        label = name if name == "CONV" else kind
        features.update({name, kind})
        features.update(f"{label} {way}" for way in ways[name](param, state))
    return features


def features(model: bytes) -> Counter[str]:
    """Count the features of a model for an Ethos-U55 or U65."""
    return count_features(model, _WAYS)


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
_USES = [
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
REQUIRED = [*_MODES, *_USES]

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

_ROUNDING = ("double", "truncate", "natural", "reserved")
_FORMATS = ("NHWC", "NHCWB16", "?", "?")
_UPSCALE = ("", "nearest", "zeros", "?")


def param_of(state: State, name: str) -> int:
    """Return the parameter of the command that set a register."""
    return state.get(name, (0, 0))[0]


def _payload(state: State, name: str) -> int:
    return state.get(name, (0, 0))[1]


def _type(precision: int, width: int) -> str:
    sign = "int" if precision & 1 else "uint"
    return f"{sign}{8 << width} {_FORMATS[precision >> 6 & 3]}"


def _kernel(state: State) -> Iterator[str]:
    """Yield features of all operations on feature maps."""
    ifm, ofm = param_of(state, "IFM_PRECISION"), param_of(state, "OFM_PRECISION")
    yield f"ifm {_type(ifm, ifm >> 2 & 3)}"
    yield f"ofm {_type(ofm, ofm >> 1 & 3)}"
    yield f"rounding {_ROUNDING[ofm >> 14]}"
    yield "scale global" if ofm & 1 << 8 else "scale per channel"
    function = param_of(state, "ACTIVATION") & 0x1F
    names = {0: "clamp", 3: "tanh", 4: "sigmoid"}
    yield f"activation {names.get(function, 'table')}"
    yield f"clip {param_of(state, 'ACTIVATION') >> 12 & 7}"
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
    yield f"accumulator {param_of(state, 'ACC_FORMAT') & 3}"
    if param_of(state, "PARALLEL_MODE"):
        yield "two cores"


def _window(_mode: int, state: State) -> Iterator[str]:
    """Yield features of operations with a sliding window."""
    yield from _kernel(state)
    stride = param_of(state, "KERNEL_STRIDE")
    x, y = (stride & 1) + (stride >> 6 & 1) * 2 + 1, (stride >> 1 & 1) + (stride >> 9 & 1) * 2 + 1
    yield f"stride {max(x, y)}" + (" uneven" if x != y else "")
    if stride >> 3 & 3:
        yield "dilation"
    if param_of(state, "IFM_UPSCALE"):
        yield f"upscale {_UPSCALE[param_of(state, 'IFM_UPSCALE') & 3]}"
    sides = [param_of(state, f"IFM_PAD_{side}") for side in ("TOP", "LEFT", "RIGHT", "BOTTOM")]
    if any(sides):
        uneven = sides[0] != sides[3] or sides[1] != sides[2]
        yield "padding uneven" if uneven else "padding"
    if max(param_of(state, "KERNEL_HEIGHT_M1"), param_of(state, "KERNEL_WIDTH_M1")) > 7:
        yield "kernel beyond 8"


def _weighted(_mode: int, state: State) -> Iterator[str]:
    yield from _window(0, state)
    regions = ("constants", "scratch", "fast scratch")
    region = param_of(state, "WEIGHT_REGION")
    yield f"weights in {regions[region] if region < len(regions) else f'region {region}'}"
    yield "order part-kernel" if param_of(state, "KERNEL_STRIDE") & 4 else "order depth-first"


def _elementwise(_mode: int, state: State) -> Iterator[str]:
    yield from _kernel(state)
    yield f"scale mode {param_of(state, 'IFM_PRECISION') >> 8 & 3}"
    broadcast = param_of(state, "IFM2_BROADCAST")
    if broadcast >> 7 & 1:
        yield "scalar"
    elif broadcast & 7:
        yield "broadcast"
    if broadcast >> 6 & 1:
        yield "operands swapped"


def _dma(_mode: int, state: State) -> Iterator[str]:
    yield "to table memory" if param_of(state, "DMA0_DST_REGION") & 1 << 8 else "to memory"
    yield f"stride mode {param_of(state, 'DMA0_DST_REGION') >> 9 & 3}"


def plain(param: int, _state: State) -> Iterator[str]:
    """Return the parameter unchanged."""
    yield str(param)


_WAYS: dict[str, Ways] = {
    "CONV": _weighted,
    "DEPTHWISE": _weighted,
    "POOL": _window,
    "ELEMENTWISE": _elementwise,
    "DMA_START": _dma,
    **dict.fromkeys(("DMA_WAIT", "KERNEL_WAIT", "STOP", "IRQ", "PMU_MASK"), plain),
}
