# SPDX-License-Identifier: MIT
"""Random TFLite graphs of one operator each: `make("conv", "int8", seed)` gives a file's bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ethosu_tools.tflite.writer import Graph, write

SAME, VALID = 0, 1
ACTIVATIONS = (0, 1, 3)  # none, RELU, RELU6


@dataclass
class Case:
    """A graph being made."""

    graph: Graph
    random: np.random.Generator
    dtype: str

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def size(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def scale(self) -> float:
        return float(np.float32(self.random.uniform(0.01, 0.2)))

    def zero(self) -> int:
        return int(self.random.integers(-20, 20)) if self.dtype == "int8" else 0

    def tensor(self, name, shape, scale=None, zero=None):
        return self.graph.tensor(
            name,
            shape,
            self.dtype,
            self.scale() if scale is None else scale,
            self.zero() if zero is None else zero,
        )

    def input(self, shape, name="input", **more):
        index = self.tensor(name, shape, **more)
        self.graph.inputs.append(index)
        return index

    def output(self, shape, **more):
        index = self.tensor("output", shape, **more)
        self.graph.outputs.append(index)
        return index

    def scale_of(self, index: int) -> float:
        return self.graph.tensors[index][0].quantization.scale[0]

    def zero_of(self, index: int) -> int:
        return self.graph.tensors[index][0].quantization.zeroPoint[0]

    def like(self, index: int) -> dict:
        return {"scale": self.scale_of(index), "zero": self.zero_of(index)}


def _filter(case: Case, source: int, shape, axis: int, channels: int):
    """Weights and bias whose results use the output's range."""
    weights = case.random.integers(-127, 128, shape, np.int8)
    if case.random.random() < 0.3:
        weights[case.random.random(shape) < 0.7] = 0
    scales = case.random.uniform(0.001, 0.01, channels).astype(np.float32)
    bias_type = np.int32 if case.dtype == "int8" else np.int64
    bias = case.random.integers(-3000, 3000, channels).astype(bias_type)
    return (
        case.graph.constant("weights", weights, scales, axis=axis),
        case.graph.constant("bias", bias, scales * case.scale_of(source)),
        float(scales.mean()),
    )


def _window(size: int, kernel: int, stride: int, padding: int) -> int:
    return -(-size // stride) if padding == SAME else (size - kernel) // stride + 1


def _spatial(case: Case, channels: int, kernel_max: int = 5, stride_max: int = 3, dilations=(1,)):
    """Input, output shape and fields of a windowed operator."""
    kernel = (case.size(1, kernel_max), case.size(1, kernel_max))
    dilation = (case.pick(*dilations), case.pick(*dilations))
    stride = (1, 1) if dilation != (1, 1) else (case.size(1, stride_max), case.size(1, stride_max))
    padding = case.pick(SAME, VALID)
    dilated = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    shape = (1, dilated[0] + case.size(0, 9), dilated[1] + case.size(0, 9), channels)
    out = [_window(shape[1 + i], dilated[i], stride[i], padding) for i in range(2)]
    return shape, kernel, stride, dilation, padding, out


def conv(case: Case) -> None:
    channels, depth = case.size(1, 40), case.size(1, 40)
    shape, kernel, stride, dilation, padding, out = _spatial(case, channels, dilations=(1, 1, 2))
    x = case.input(shape)
    w, b, weight_scale = _filter(case, x, (depth, *kernel, channels), 0, depth)
    spread = 40 * np.sqrt(kernel[0] * kernel[1] * channels) * weight_scale
    y = case.output((1, *out, depth), scale=float(np.float32(case.scale_of(x) * spread)))
    case.graph.operator(
        "CONV_2D", [x, w, b], [y], "Conv2DOptions", padding=padding, strideH=stride[0],
        strideW=stride[1], dilationHFactor=dilation[0], dilationWFactor=dilation[1],
        fusedActivationFunction=case.pick(*ACTIVATIONS),
    )  # fmt: skip


def depthwise(case: Case) -> None:
    channels = case.size(1, 40)
    shape, kernel, stride, dilation, padding, out = _spatial(case, channels, dilations=(1, 1, 2))
    stride = (stride[0], stride[0])
    out = [
        _window(shape[1 + i], (kernel[i] - 1) * dilation[i] + 1, stride[i], padding)
        for i in range(2)
    ]
    x = case.input(shape)
    w, b, weight_scale = _filter(case, x, (1, *kernel, channels), 3, channels)
    spread = 40 * np.sqrt(kernel[0] * kernel[1]) * weight_scale
    y = case.output((1, *out, channels), scale=float(np.float32(case.scale_of(x) * spread)))
    case.graph.operator(
        "DEPTHWISE_CONV_2D", [x, w, b], [y], "DepthwiseConv2DOptions", padding=padding,
        strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
        dilationWFactor=dilation[1], depthMultiplier=1,
        fusedActivationFunction=case.pick(*ACTIVATIONS),
    )  # fmt: skip


def large_kernel(case: Case) -> None:
    channels, depth = case.size(1, 12), case.size(1, 12)
    kernel = (case.size(8, 14), case.size(8, 14))
    shape = (1, kernel[0] + 3, kernel[1] + 4, channels)
    x = case.input(shape)
    w, b, weight_scale = _filter(case, x, (depth, *kernel, channels), 0, depth)
    spread = 40 * np.sqrt(kernel[0] * kernel[1] * channels) * weight_scale
    y = case.output((1, 4, 5, depth), scale=float(np.float32(case.scale_of(x) * spread)))
    case.graph.operator(
        "CONV_2D", [x, w, b], [y], "Conv2DOptions", padding=VALID, strideH=1, strideW=1,
        dilationHFactor=1, dilationWFactor=1,
    )  # fmt: skip


def transpose_conv(case: Case) -> None:
    channels, depth = case.size(1, 20), case.size(1, 20)
    kernel = case.pick((2, 2), (3, 3), (4, 4))
    padding = case.pick(SAME, VALID)
    height, width = case.size(2, 7), case.size(2, 7)
    out = [
        size * 2 if padding == SAME else size * 2 + max(k - 2, 0)
        for size, k in zip((height, width), kernel, strict=True)
    ]
    x = case.input((1, height, width, channels))
    w, b, weight_scale = _filter(case, x, (depth, *kernel, channels), 0, depth)
    shape = case.graph.constant("shape", np.array([1, *out, depth], np.int32))
    spread = 40 * np.sqrt(kernel[0] * kernel[1] * channels / 4) * weight_scale
    y = case.output((1, *out, depth), scale=float(np.float32(case.scale_of(x) * spread)))
    case.graph.operator(
        "TRANSPOSE_CONV", [shape, w, x, b], [y], "TransposeConvOptions", padding=padding,
        strideH=2, strideW=2,
    )  # fmt: skip


def fully_connected(case: Case) -> None:
    inputs, outputs = case.size(1, 300), case.size(1, 80)
    x = case.input((1, inputs))
    weights = case.random.integers(-127, 128, (outputs, inputs), np.int8)
    scale = 0.004
    bias_type = np.int32 if case.dtype == "int8" else np.int64
    w = case.graph.constant("weights", weights, scale)
    bias = case.random.integers(-3000, 3000, outputs).astype(bias_type)
    b = case.graph.constant("bias", bias, scale * case.scale_of(x))
    y = case.output((1, outputs), scale=float(case.scale_of(x) * 40 * np.sqrt(inputs) * scale))
    case.graph.operator(
        "FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions",
        fusedActivationFunction=case.pick(*ACTIVATIONS),
    )  # fmt: skip


def _pool(case: Case, kind: str) -> None:
    shape, kernel, stride, _, padding, out = _spatial(case, case.size(1, 40))
    x = case.input(shape)
    y = case.output((1, *out, shape[3]), **case.like(x))
    case.graph.operator(
        kind, [x], [y], "Pool2DOptions", padding=padding, strideH=stride[0], strideW=stride[1],
        filterHeight=kernel[0], filterWidth=kernel[1],
        fusedActivationFunction=case.pick(*ACTIVATIONS),
    )  # fmt: skip


def average_pool(case: Case) -> None:
    _pool(case, "AVERAGE_POOL_2D")


def max_pool(case: Case) -> None:
    _pool(case, "MAX_POOL_2D")


def _second_shape(case: Case, shape):
    """The same shape, or one that broadcasts."""
    axes = case.pick((), (), (1,), (2,), (3,), (1, 2), (1, 2, 3))
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def _binary(case: Case, kind: str, options: str | None, same_scale: bool = False) -> None:
    shape = (1, case.size(1, 10), case.size(1, 10), case.size(1, 40))
    x = case.input(shape, "a")
    same = case.like(x) if same_scale or case.random.random() < 0.3 else {}
    second = _second_shape(case, shape)
    if case.random.random() < 0.3:
        low, high = np.iinfo(case.dtype).min, np.iinfo(case.dtype).max
        values = case.random.integers(low, high + 1, second).astype(case.dtype)
        scale, zero = same.get("scale", case.scale()), same.get("zero", case.zero())
        z = case.graph.constant("b", values, scale, zero)
    else:
        z = case.input(second, "b", **same)
    operands = [x, z] if case.random.random() < 0.5 else [z, x]
    more = case.like(x) if same_scale else {}
    if kind == "MUL":
        low, high = np.iinfo(case.dtype).min, np.iinfo(case.dtype).max
        more = {"scale": case.scale_of(x) * case.scale_of(z) * (high - low) / 4}
    y = case.output(shape, **more)
    fields = {} if same_scale else {"fusedActivationFunction": case.pick(*ACTIVATIONS)}
    if options in ("AddOptions", "SubOptions") and case.dtype == "int16":
        fields["potScaleInt16"] = False
    case.graph.operator(kind, operands, [y], options, **fields)


def add(case: Case) -> None:
    _binary(case, "ADD", "AddOptions")


def sub(case: Case) -> None:
    _binary(case, "SUB", "SubOptions")


def mul(case: Case) -> None:
    _binary(case, "MUL", "MulOptions")


def minimum(case: Case) -> None:
    _binary(case, "MINIMUM", "MaximumMinimumOptions", same_scale=True)


def maximum(case: Case) -> None:
    _binary(case, "MAXIMUM", "MaximumMinimumOptions", same_scale=True)


def _unary(case: Case, kind: str, options: str | None = None, out: dict | None = None, **fields):
    shape = (1, case.size(1, 10), case.size(1, 10), case.size(1, 40))
    x = case.input(shape)
    y = case.output(shape, **(out or {}))
    case.graph.operator(kind, [x], [y], options, **fields)


def _unit(case: Case, signed: bool) -> dict:
    """Output quantisation of functions with a fixed range."""
    if case.dtype == "int16":
        return {"scale": 1 / 32768, "zero": 0}
    return {"scale": 1 / 128, "zero": 0} if signed else {"scale": 1 / 256, "zero": -128}


def logistic(case: Case) -> None:
    _unary(case, "LOGISTIC", out=_unit(case, False))


def tanh(case: Case) -> None:
    _unary(case, "TANH", out=_unit(case, True))


def leaky_relu(case: Case) -> None:
    _unary(case, "LEAKY_RELU", "LeakyReluOptions", alpha=float(case.pick(0.1, 0.01, 0.3)))


def relu(case: Case) -> None:
    kinds = ("RELU", "RELU6", "RELU_N1_TO_1") if case.dtype == "int8" else ("RELU", "RELU6")
    _unary(case, case.pick(*kinds))


def hard_swish(case: Case) -> None:
    _unary(case, "HARD_SWISH", "HardSwishOptions")


def absolute(case: Case) -> None:
    _unary(case, "ABS", "AbsOptions")


def exponential(case: Case) -> None:
    _unary(case, "EXP", "ExpOptions")


def softmax(case: Case) -> None:
    shape = (1, case.size(2, 60))
    x = case.input(shape)
    y = case.output(shape, **_unit(case, False))
    case.graph.operator("SOFTMAX", [x], [y], "SoftmaxOptions", beta=1.0)


def mean(case: Case) -> None:
    shape = (1, case.size(1, 12), case.size(1, 12), case.size(1, 30))
    x = case.input(shape)
    axes = case.graph.constant("axes", np.array([1, 2], np.int32))
    y = case.output((1, shape[3]), **(case.like(x) if case.random.random() < 0.5 else {}))
    case.graph.operator("MEAN", [x, axes], [y], "ReducerOptions", keepDims=False)


def _resize(case: Case, kind: str, options: str) -> None:
    height, width = case.size(2, 6), case.size(2, 6)
    factor = case.pick(2, 4)
    corners = bool(case.pick(True, False))
    out = [(s - 1) * factor + 1 if corners else s * factor for s in (height, width)]
    shape = (1, height, width, case.size(1, 20))
    x = case.input(shape)
    size = case.graph.constant("size", np.array(out, np.int32))
    y = case.output((1, *out, shape[3]), **case.like(x))
    half = kind == "RESIZE_BILINEAR" and not corners and factor == 2 and bool(case.pick(0, 1))
    case.graph.operator(kind, [x, size], [y], options, alignCorners=corners, halfPixelCenters=half)


def resize_bilinear(case: Case) -> None:
    _resize(case, "RESIZE_BILINEAR", "ResizeBilinearOptions")


def resize_nearest(case: Case) -> None:
    _resize(case, "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")


def pad(case: Case) -> None:
    shape = (1, case.size(2, 8), case.size(2, 8), case.size(1, 20))
    x = case.input(shape)
    amounts = np.zeros((4, 2), np.int32)
    amounts[1:3] = case.random.integers(0, 4, (2, 2))
    paddings = case.graph.constant("paddings", amounts)
    out = tuple(int(s + a.sum()) for s, a in zip(shape, amounts, strict=True))
    y = case.output(out, **case.like(x))
    case.graph.operator("PAD", [x, paddings], [y], "PadOptions")


def concatenation(case: Case) -> None:
    axis = case.pick(1, 2, 3)
    shape = [1, case.size(1, 8), case.size(1, 8), case.size(1, 20)]
    other = list(shape)
    other[axis] = case.size(1, 8)
    x = case.input(shape, "a")
    z = case.input(other, "b", **case.like(x))
    out = list(shape)
    out[axis] += other[axis]
    y = case.output(out, **case.like(x))
    case.graph.operator("CONCATENATION", [x, z], [y], "ConcatenationOptions", axis=axis)


def strided_slice(case: Case) -> None:
    shape = (1, case.size(3, 9), case.size(3, 9), case.size(3, 30))
    begin = [0, *(case.size(0, 1) for _ in range(3))]
    end = [1, *(size - case.size(0, 1) for size in shape[1:])]
    x = case.input(shape)
    constants = [
        case.graph.constant(name, np.array(values, np.int32))
        for name, values in (("begin", begin), ("end", end), ("strides", [1] * 4))
    ]
    out = [e - b for b, e in zip(begin, end, strict=True)]
    y = case.output(out, **case.like(x))
    case.graph.operator("STRIDED_SLICE", [x, *constants], [y], "StridedSliceOptions")


def requantize(case: Case) -> None:
    _unary(case, "QUANTIZE", "QuantizeOptions")


BOTH = (
    conv, depthwise, large_kernel, fully_connected, average_pool, max_pool, add, sub, mul,
    minimum, maximum, logistic, tanh, leaky_relu, relu, absolute, exponential, softmax, mean,
    resize_bilinear, resize_nearest, pad, concatenation, strided_slice, requantize, transpose_conv,
)  # fmt: skip
INT8_ONLY = (hard_swish,)

CASES: dict[tuple[str, str], Callable[[Case], None]] = {
    **{(f.__name__, "int8"): f for f in (*BOTH, *INT8_ONLY)},
    **{(f.__name__, "int16"): f for f in BOTH},
}


def make(name: str, dtype: str, seed: int) -> bytes:
    """Give a random graph with this operator as a `.tflite` file's bytes."""
    seeds = [seed, *name.encode(), *dtype.encode()]
    case = Case(Graph(name), np.random.default_rng(seeds), dtype)
    CASES[name, dtype](case)
    return write([case.graph], f"{name} {dtype} {seed}")
