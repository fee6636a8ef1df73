# SPDX-License-Identifier: MIT
"""Known defects of Vela 5.2: for each a small fixed graph that it compiles wrongly.

The generator does not draw these graphs: the function that draws the operator avoids them, at a
comment with the defect's name. test_defects.py shows for each row that the compiled graph is wrong,
and by which registers; where registers alone are wrong, that the right ones give the right result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .builder import Builder, Value
from .operators.variables import streaming

_SCALE = 1 / 16
_SAME = 0
_EMBEDDED = ("--system-config", "Ethos_U55_High_End_Embedded", "--memory-mode", "Shared_Sram")
_DRAM = ("--system-config", "Ethos_U85_SYS_DRAM_Mid", "--memory-mode", "Sram_Only")
_U55, _SMALL, _U85 = "ethos-u55-128", "ethos-u55-64", "ethos-u85-256"

_Draw = Callable[[Builder], None]


@dataclass(frozen=True)
class Register:
    """What a register holds when an operation starts, and what the graph requires.

    The name of the operation's own opcode stands for its mode.
    """

    operation: int  # on feature maps, counted from 0
    name: str
    found: int
    required: int


@dataclass(frozen=True)
class Constant:
    """Bytes of the constants, from an offset on."""

    offset: int
    found: bytes
    required: bytes


@dataclass(frozen=True)
class Offset:
    """Where a tensor begins in the arena."""

    graph: int
    tensor: str  # its name, or the end of it
    found: int
    required: int


@dataclass(frozen=True)
class Count:
    """How many operations of a kind there are."""

    name: str
    found: int
    required: int


Shown = Register | Constant | Offset | Count


@dataclass(frozen=True)
class Defect:
    """A row: what Vela does wrong, a graph that shows it, and how the compiled graph shows it."""

    name: str
    does: str
    npu: str
    graph: _Draw
    shows: Sequence[Shown]
    # Whether the required registers and constants give the right result. If not, operations are
    # missing or memory is planned wrongly, which no register repairs.
    repaired: bool = True
    unsigned: bool = False
    choices: tuple[int, ...] = ()  # of the Builder, where not the simplest ones

    @property
    def options(self) -> tuple[str, ...]:
        """What Vela is told."""
        return _DRAM if self.npu == _U85 else _EMBEDDED


DEFECTS: list[Defect] = []


def _defect(npu: str, *shows: Shown, **fields: Any) -> Callable[[_Draw], _Draw]:
    """Make the function that draws a graph a row of the table: its docstring says what is wrong."""

    def add(graph: _Draw) -> _Draw:
        name, does = graph.__name__.replace("_", "-"), " ".join((graph.__doc__ or "").split())
        DEFECTS.append(Defect(name, does, npu, graph, shows, **fields))
        return graph

    return add


def _at(operation: int, **registers: tuple[int, int]) -> list[Register]:
    """What registers hold for an operation, and what is required."""
    return [Register(operation, name, *numbers) for name, numbers in registers.items()]


# --- Parts of the graphs -------------------------------------------------------------------------


def _input(b: Builder, *shape: int, dtype: str = "int8", scale: float = _SCALE) -> Value:
    return b.input(shape, dtype, scale, 0)


def _append(
    b: Builder,
    kind: str,
    inputs: Sequence[Value],
    shape: Sequence[int],
    options: str | None = None,
    *,
    dtype: str = "int8",
    scale: float = _SCALE,
    **fields: Any,
) -> Value:
    out = b.tensor(shape, dtype, scale, 0)
    b.operator(kind, inputs, [out], options, **fields)
    return out


def _slice(b: Builder, x: Value, begin: Sequence[int], size: Sequence[int]) -> Value:
    return _append(b, "SLICE", [x, b.integers(*begin), b.integers(*size)], size, "SliceOptions")


def _every_other(b: Builder, x: Value, axis: int) -> Value:
    steps = [2 if this == axis else 1 for this in range(x.rank)]
    shape = [size // step for size, step in zip(x.shape, steps, strict=True)]
    vectors = (b.integers(*vector) for vector in ([0] * x.rank, x.shape, steps))
    return _append(b, "STRIDED_SLICE", [x, *vectors], shape, "StridedSliceOptions")


def _reduce(b: Builder, kind: str, x: Value, axes: Sequence[int], keep: bool = True) -> Value:
    shape = [1 if axis in axes else n for axis, n in enumerate(x.shape) if keep or axis not in axes]
    return _append(b, kind, [x, b.integers(*axes)], shape, "ReducerOptions", keepDims=keep)


def _pad(b: Builder, x: Value) -> Value:
    """One row or column of zeros on each side."""
    n, h, w, c = x.shape
    table = b.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    return _append(b, "PAD", [x, table], (n, h + 2, w + 2, c), "PadOptions", scale=x.scale)


def _weights(b: Builder, *shape: int) -> Value:
    data = np.random.default_rng(1).integers(-127, 128, shape)
    return b.constant(data.astype(np.int8), 1 / 64)


def _convolve(
    b: Builder, kind: str, x: Value, weights: Value, channels: int, first: int = 0, **fields: Any
) -> Value:
    bias = b.constant(first + np.arange(channels, dtype=np.int32) * 100, _SCALE / 64)
    options = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}[kind]
    steps: dict[str, Any] = dict.fromkeys(
        ("strideH", "strideW", "dilationHFactor", "dilationWFactor"), 1
    )
    shape = (*x.shape[:3], channels)
    inputs = [x, weights, bias]
    return _append(b, kind, inputs, shape, options, scale=0.5, padding=_SAME, **steps, **fields)


def _transpose_conv(b: Builder, x: Value, kernel: int) -> Value:
    """Twice as many rows and columns."""
    n, h, w, c = x.shape
    shape = (n, 2 * h, 2 * w, c)
    inputs = [b.integers(*shape), _weights(b, c, kernel, kernel, c), x]
    fields: dict[str, Any] = {"padding": _SAME, "strideH": 2, "strideW": 2}
    return _append(b, "TRANSPOSE_CONV", inputs, shape, "TransposeConvOptions", scale=0.5, **fields)


def _resize(b: Builder, kind: str, x: Value, size: tuple[int, int], **fields: Any) -> Value:
    options = {"BILINEAR": "ResizeBilinearOptions"}.get(kind, "ResizeNearestNeighborOptions")
    shape = (x.shape[0], *size, x.shape[3])
    return _append(b, f"RESIZE_{kind}", [x, b.integers(*size)], shape, options, **fields)


def _arg_max(b: Builder, x: Value, axis: int, dtype: str) -> None:
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    kind = {"int32": 2, "int64": 4}[dtype]
    inputs = [x, b.integers(axis)]
    _append(b, "ARG_MAX", inputs, shape, "ArgMaxOptions", dtype=dtype, scale=1.0, outputType=kind)


def _transposed(b: Builder, x: Value) -> Value:
    return _append(b, "TRANSPOSE", [x, b.integers(1, 0)], x.shape[::-1], "TransposeOptions")


# --- The table


@_defect(
    _U55,
    *_at(0, IFM_PAD_RIGHT=(3, 0), IFM_HEIGHT0_M1=(0, 3), OFM_HEIGHT0_M1=(0, 3)),
    *_at(0, OFM_HEIGHT_M1=(0, 3), OFM_WIDTH_M1=(3, 0), OFM_STRIDE_Y=(4, 1)),
)
def reduce_without_dims(b: Builder) -> None:
    """REDUCE_MAX, REDUCE_MIN, REDUCE_ALL and REDUCE_ANY without keep_dims, or only over axes of
    length 1: the output's shape is used as the input's.
    """
    _reduce(b, "REDUCE_MAX", _input(b, 4, 8), [1], keep=False)


@_defect(_U55, *_at(0, IFM_BASE0=(48, 96), IFM_WIDTH0_M1=(5, 2), KERNEL_WIDTH_M1=(5, 2)))
def reduce_of_slice(b: Builder) -> None:
    """REDUCE_MAX and REDUCE_MIN of a slice: the window covers the whole tensor."""
    x = _input(b, 1, 6, 6, 8)
    _reduce(b, "REDUCE_MAX", _slice(b, x, (0, 1, 0, 0), (1, 3, 6, 8)), [1])


@_defect(
    _U55,
    *_at(0, IFM_PAD_RIGHT=(2, 0), IFM_DEPTH_M1=(47, 31), OFM_DEPTH_M1=(47, 31)),
    *_at(0, OFM_WIDTH_M1=(2, 0), OFM_BASE0=(0, 56)),
)
def reduce_before_pad(b: Builder) -> None:
    """REDUCE_MAX and REDUCE_MIN before a PAD: the padded shape is used as the output's."""
    _pad(b, _reduce(b, "REDUCE_MAX", _input(b, 1, 4, 4, 8), [1]))


@_defect(_U55, Register(0, "IFM_BASE0", 192, 128))
def padding_of_slice(b: Builder) -> None:
    """SAME padding around a slice: the window begins elsewhere in the whole tensor."""
    x = _every_other(b, _input(b, 1, 4, 8, 8), 1)
    _convolve(b, "DEPTHWISE_CONV_2D", x, _weights(b, 1, 3, 3, 8), 8, depthMultiplier=1)


@_defect(
    _U55,
    *[
        register
        for at in (0, 1, 4, 5)
        for register in (
            *_at(at, IFM_PAD_TOP=(0, 1), IFM_PAD_LEFT=(0, 1)),
            *_at(at, IFM_PAD_BOTTOM=(2, 1), IFM_PAD_RIGHT=(2, 1)),
        )
    ],
)
def groups_of_batch(b: Builder) -> None:
    """Grouped convolution of a batch: the padding is applied to the wrong sides."""
    _convolve(b, "CONV_2D", _input(b, 2, 4, 4, 8), _weights(b, 8, 3, 3, 4), 8)


@_defect(
    _U85,
    *[
        fact
        for group in (1, 3)
        for fact in (
            Constant(16 * group, bytes(2), (100 * group).to_bytes(2, "little")),
            Constant(16 * group + 5, bytes(5), b"\0\0\x40\x27"),
            Register(group, "SCALE_BASE", 0, 16 * group),
        )
    ],
)
def groups_of_equal_weights(b: Builder) -> None:
    """Grouped convolution, some groups with equal weights: they all get the biases of one."""
    data = np.full((4, 1, 1, 4), 64, np.int8)
    data[2] = 32
    _convolve(b, "CONV_2D", _input(b, 1, 4, 4, 16), b.constant(data, 1 / 64), 4)


@_defect(
    _U85,
    Constant(16, bytes(2), (100).to_bytes(2, "little")),
    Constant(21, bytes(5), b"\0\0\x40\x27"),
    Register(1, "SCALE_BASE", 0, 16),
)
def operators_of_equal_weights(b: Builder) -> None:
    """CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED or gates of an LSTM with equal weights, in two
    tensors or in one: both get the biases of one.
    """
    x = _input(b, 1, 4, 4, 4)
    for first in (100, 0):
        equal = b.constant(np.full((1, 1, 1, 4), 64, np.int8), 1 / 64)
        _convolve(b, "CONV_2D", x, equal, 1, first=first)


@_defect(_U55, Register(0, "IFM2_BROADCAST", 2, 0))
def elementwise_of_slice(b: Builder) -> None:
    """ADD, SUB, ... of a slice and a value with the same shape: one operand is repeated."""
    x = _every_other(b, _input(b, 1, 1, 6, 1), 2)
    y = _input(b, 1, 1, 3, 1)
    _append(b, "SUB", [x, y], y.shape, "SubOptions", potScaleInt16=False)


@_defect(_U55, *[Register(operation, "OFM_WIDTH_M1", 5, 3) for operation in range(1, 9)])
def batch_matmul_of_slice(b: Builder) -> None:
    """BATCH_MATMUL of a slice: the whole tensor is multiplied."""
    x = _slice(b, _input(b, 1, 6, 8), (0, 0, 0), (1, 4, 8))
    y = _input(b, 1, 8, 4)
    _append(b, "BATCH_MATMUL", [x, y], (1, 4, 4), "BatchMatMulOptions", scale=1.0)


@_defect(_U85, *[Register(operation, "IFM_BASE0", 512, 624) for operation in range(4)])
def transpose_conv_of_slice(b: Builder) -> None:
    """TRANSPOSE_CONV of a slice: it reads from row 0 and column 0 of the whole tensor."""
    _transpose_conv(b, _slice(b, _input(b, 1, 6, 6, 8), (0, 2, 2, 0), (1, 4, 4, 8)), 3)


@_defect(_U85, Register(1, "OFM_BASE0", 0, 88))
def transpose_conv_into_part(b: Builder) -> None:
    """TRANSPOSE_CONV into part of a tensor, with a kernel smaller than the stride: results go to
    row 0 and column 0 of the whole tensor.
    """
    _pad(b, _transpose_conv(b, _input(b, 1, 4, 4, 8), 1))


@_defect(_U85, Count("DEPTHWISE", 4, 2), repaired=False)
def depthwise_multiplier_into_part(b: Builder) -> None:
    """DEPTHWISE_CONV_2D with a multiplier into part of a tensor: it computes all channels of the
    whole tensor.
    """
    x = _input(b, 1, 4, 4, 4)
    y = _convolve(b, "DEPTHWISE_CONV_2D", x, _weights(b, 1, 3, 3, 8), 8, depthMultiplier=2)
    parts = [y, _input(b, 1, 4, 4, 8, scale=0.5)]
    _append(b, "CONCATENATION", parts, (1, 4, 4, 16), "ConcatenationOptions", scale=0.5, axis=3)


@_defect(_U55, Register(0, "OFM_SCALE", 34, 0))
def mul_int32(b: Builder) -> None:
    """MUL of int32: the product is shifted as if it had scales."""
    parts = [_input(b, 1, 4, 4, 8, dtype="int32") for _ in range(2)]
    _append(b, "MUL", parts, (1, 4, 4, 8), "MulOptions", dtype="int32")


@_defect(
    _U55,
    Constant(32, (1).to_bytes(4, "little"), (1 << 30).to_bytes(4, "little")),
    Register(6, "OFM_SCALE", 50, 49),
)
def squared_difference_multiplier(b: Builder) -> None:
    """SQUARED_DIFFERENCE with a multiplier that rounds up to 2^31: it becomes 1."""
    parts = [_input(b, 1, 4, 4, 8, scale=scale) for scale in (0.109, 0.00821093749254942)]
    _append(b, "SQUARED_DIFFERENCE", parts, (1, 4, 4, 8), None, scale=1.5207679271697998)


@_defect(_U55, *[Register(3 + row, "IFM2_BASE0", 0, 16 * row) for row in range(1, 6)])
def shared_between_shapes(b: Builder) -> None:
    """A value used in two shapes (RESHAPE, EXPAND_DIMS, SQUEEZE, TRANSPOSE, MIRROR_PAD, strides
    over 3): the other operator reads it in the wrong shape.
    """
    x = _reduce(b, "REDUCE_MIN", _input(b, 6, 2, 1), [1])
    _append(b, "EXPAND_DIMS", [x, b.integers(1)], (6, 1, 1, 1), "ExpandDimsOptions")


@_defect(
    _U55,
    *[
        register
        for at, base in ((5, 288), (6, 296), (7, 368), (8, 376))
        for register in (
            *_at(at, OFM_BASE0=(base, base + 88), OFM_HEIGHT_M1=(4, 3), OFM_WIDTH_M1=(4, 3)),
            *_at(at, IFM_PAD_BOTTOM=(1, 0), IFM_PAD_RIGHT=(1, 0)),
        )
    ],
)
def resize_bilinear_before_pad(b: Builder) -> None:
    """RESIZE_BILINEAR (half_pixel_centers) before a PAD: the padded shape is used as the output's,
    and written from its start.
    """
    _pad(b, _resize(b, "BILINEAR", _input(b, 1, 4, 4, 8), (8, 8), halfPixelCenters=True))


@_defect(_U55, Register(0, "OFM_BASE0", 0, 2), Count("POOL", 1, 5), repaired=False)
def mirror_pad_of_channels(b: Builder) -> None:
    """MIRROR_PAD of channels: no operation writes the padding, and the input goes to channel 0."""
    table = b.constant(np.array([[0, 0], [0, 0], [0, 0], [2, 2]], np.int32))
    x = _input(b, 1, 2, 4, 8)
    _append(b, "MIRROR_PAD", [x, table], (1, 2, 4, 12), "MirrorPadOptions", mode=0)


@_defect(_U55, Register(1, "OFM_WIDTH_M1", 31, 7), repaired=False)
def sum_of_several_axes(b: Builder) -> None:
    """SUM over several axes, over an axis other than the last, or without keep_dims: it sums along
    one.
    """
    _reduce(b, "SUM", b.input((1, 4, 4, 8), "int8", _SCALE, 0, low=-9, high=9), [1, 2])


@_defect(_U55, Offset(0, "t4", 128, 128), Offset(0, "t2", 192, 256), repaired=False)
def arg_max_to_int64(b: Builder) -> None:
    """ARG_MAX to int64 on an Ethos-U55 or U65: another tensor begins inside the output."""
    x = _input(b, 1, 4, 4, 8)
    _append(b, "RELU", [x], x.shape, scale=1 / 8)
    window: dict[str, Any] = {
        "padding": _SAME,
        "strideH": 1,
        "strideW": 1,
        "filterHeight": 2,
        "filterWidth": 2,
    }
    _append(b, "MAX_POOL_2D", [x], x.shape, "Pool2DOptions", **window)
    _arg_max(b, x, 3, "int64")


@_defect(_U85, Register(0, "POOL", 7, 6))
def arg_max_of_slice(b: Builder) -> None:
    """ARG_MAX of a slice: it counts the axis among those of the slice, which may have fewer."""
    _arg_max(b, _slice(b, _input(b, 1, 6, 6, 8), (0, 1, 0, 0), (1, 1, 6, 8)), 2, "int32")


@_defect(_U55, Constant(171, b"\x80" * 85, b"\x7f" * 85))
def exp_overflow(b: Builder) -> None:
    """EXP of int8 whose result exceeds 2^31 steps: the table wraps to the minimum."""
    _append(b, "EXP", [_input(b, 1, 4, 4, 8, scale=0.5)], (1, 4, 4, 8), "ExpOptions", scale=1.0)


@_defect(_U85, *_at(0, RESIZE_X_OFFSET=(4095, 4093), AB_START=(4095, 4093)))
def resize_nearest_centres(b: Builder) -> None:
    """RESIZE_NEAREST_NEIGHBOR by a factor that is not an integer: it uses pixel centres, where
    TFLite uses them only if half_pixel_centers is set.
    """
    _resize(b, "NEAREST_NEIGHBOR", _input(b, 1, 4, 4, 8), (6, 6))


@_defect(_U85, Register(0, "RESIZE_Y_STEP", 7, 23), repaired=False)
def resize_steps(b: Builder) -> None:
    """RESIZE by steps of 16 or more: only their low 4 bits are kept."""
    _resize(b, "NEAREST_NEIGHBOR", _input(b, 1, 24, 1, 8), (2, 4), alignCorners=True)


@_defect(
    _U85,
    Register(2, "OFM_BASE0", 128, 128),
    Register(3, "IFM2_BASE0", 128, 384),
    repaired=False,
    choices=(99,),
)
def truth_as_mask(b: Builder) -> None:
    """A comparison that is an output and an input of SELECT, REDUCE_ALL or REDUCE_ANY: the output's
    0 or 1 is used as the mask 0 or -1.
    """
    x, y = (_input(b, 1, 4, 4, 8) for _ in range(2))
    truth = b.tensor(x.shape, "bool", 1.0, 0)
    b.operator("GREATER", [x, y], [truth], "GreaterOptions")
    _append(b, "SELECT", [truth, x, y], x.shape, "SelectOptions")


@_defect(
    _U85, Offset(0, "state1", 512, 0), Offset(1, "state1", 0, 0), repaired=False, choices=(0, 0, 2)
)
def variable_start_value(b: Builder) -> None:
    """A variable with an initial value: the graph that sets it uses a different location in the
    arena.
    """
    _input(b, 1, 2, 2, 8)
    streaming(b)
    _append(b, "RELU", [_input(b, 1, 8, 8, 8)], (1, 8, 8, 8))


@_defect(_SMALL, Register(0, "DMA0_DST", 0x4000, 0x3800))
def table_of_transpose(b: Builder) -> None:
    """TRANSPOSE and an operator with a table on an Ethos-U55-32 or 64: the table goes past the end
    of SHRAM (16 KB).
    """
    x = _transposed(b, _input(b, 5, 7))
    out = b.tensor(x.shape, "int8", 1 / 256, -128)
    b.operator("LOGISTIC", [x], [out])


@_defect(_U55, Register(0, "ACTIVATION_MIN", 0, 0xFF80), unsigned=True)
def transpose_uint8(b: Builder) -> None:
    """TRANSPOSE of uint8: it copies int8 numbers with the limits of uint8."""
    _transposed(b, _input(b, 5, 7))
