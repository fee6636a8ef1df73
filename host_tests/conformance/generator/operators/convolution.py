# SPDX-License-Identifier: MIT
"""Operators with weights: convolutions, fully connected, matrix product."""

from __future__ import annotations

import numpy as np

from ..builder import Builder, UnsuitableError, Value

SAME, VALID = 0, 1


def window(size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    """Output length of a sliding window, as TFLite computes it."""
    reach = (kernel - 1) * dilation + 1
    if padding == SAME:
        return -(-size // stride)
    if size < reach:
        raise UnsuitableError("the window does not fit")
    return (size - reach) // stride + 1


def weights(
    b: Builder, shape: tuple[int, ...], axis: int, per_channel: bool = True, groups: int = 1
) -> Value:
    """Random constant weights, symmetric; often per channel, sometimes sparse or few values."""
    rng = b.draws.rng()
    style = b.draws.choice(("uniform", "small", "sparse", "clustered", "extreme"))
    data = rng.integers(-127, 128, shape)
    if style == "small":
        data = np.round(rng.normal(0, 12, shape)).clip(-127, 127)
    elif style == "sparse":
        data = np.where(rng.random(shape) < 0.8, 0, data)
    elif style == "clustered":
        data = rng.choice(rng.integers(-127, 128, rng.integers(1, 20)), shape)
    elif style == "extreme":
        data = rng.choice([-127, 127], shape)
    scale: float | np.ndarray = b.scale() / 8
    if per_channel and b.draws.chance(70):
        scale = scale * rng.uniform(0.25, 1, shape[axis])
    data = data.astype(np.int8)
    # Vela defect: groups-of-equal-weights
    for part in np.split(data, groups):
        b.use_once(part)
    return b.constant(data, scale, 0, axis)


def bias(b: Builder, x: Value, scales: np.ndarray, count: int) -> Value | None:
    """Random biases of about the size of the sums; sometimes none, if LiteRT allows it."""
    if x.dtype != "int16" and b.draws.chance(15):
        return None
    limit = 1 << (20 if x.dtype == "int16" else 12)
    data = b.draws.rng().integers(-limit, limit, count)
    # Vela defect: int32-bias-of-int16
    return b.constant(data.astype(np.int64 if x.dtype == "int16" else np.int32), scales)


def output_scale(b: Builder, x: Value, w: np.ndarray, scale: np.ndarray, terms: int) -> float:
    """A scale with which most sums stay in range, and some saturate."""
    spread = 74 if x.dtype == "int8" else 18_900
    deviation = float(np.sqrt((w.astype(float) ** 2).mean() * max(terms, 1)))
    half_range = 128 if x.dtype == "int8" else 32_768
    wanted = x.scale * float(scale.max()) * max(deviation, 1) * spread * 3 / half_range
    return wanted * b.draws.choice((1.0, 0.37, 2.7))


def weight_scales(b: Builder, w: Value) -> tuple[np.ndarray, np.ndarray]:
    """The values of constant weights and their scales."""
    tensor, data = b.graph.tensors[w.index]
    array = np.frombuffer(data, np.int8).reshape(w.shape)
    return array, np.asarray(tensor.quantization.scale)


def _finish(
    b: Builder, kind: str, x: Value, w: Value, shape: tuple[int, ...], terms: int, **more: object
) -> tuple[Value | None, Value]:
    """Bias and output of a convolution."""
    array, scale = weight_scales(b, w)
    out = b.tensor(shape, x.dtype, output_scale(b, x, array, scale, terms))
    return bias(b, x, scale * x.scale, shape[-1]), out


def _given(*values: Value | None) -> list[Value | None]:
    """The inputs without trailing absent ones."""
    return [value for value in values if value is not None]


def paddings(b: Builder, x: Value) -> int:
    """Padding of a window at the edges of `x`."""
    # Vela defect: padding-of-slice
    return VALID if x.index in b.parts else b.draws.choice((SAME, VALID))


def _sliding(b: Builder, x: Value, largest: int = 11) -> tuple[int, int, int, int, int, int, int]:
    draws = b.draws
    square = not draws.chance(40)
    kh = draws.choice((1, 3, 2, 5, 7, largest)) if draws.chance(70) else 1
    kw = kh if square else draws.choice((1, 3, 2, 5, 7, largest))
    sh = draws.integer(1, 3) if draws.chance(40) else 1
    sw = sh if square or draws.chance(50) else draws.integer(1, 3)
    dh = draws.integer(1, 4 if b.free else 3) if draws.chance(25) else 1
    dw = dh if square else draws.choice((1, dh))
    if b.free and draws.chance(40):
        sh, sw = draws.integer(1, 7), draws.integer(1, 7)
    return kh, kw, sh, sw, dh, dw, paddings(b, x)


def conv_2d(b: Builder) -> None:
    """CONV_2D, sometimes dilated, strided or grouped."""
    x = b.pick(batch=True)
    n, h, w, c = x.shape
    kh, kw, sh, sw, dh, dw, padding = _sliding(b, x)
    if not b.free and padding == VALID and b.draws.chance(10):
        x = b.pick_to_reshape(shape=x.shape)  # Vela reshapes the input for strides beyond 3
        sh, sw, dh, dw = b.draws.integer(1, 6), b.draws.integer(1, 6), 1, 1
    # Vela defect: groups-of-batch
    groups = b.draws.choice([g for g in (1, 1, 1, 2, 3, 4) if c % g == 0]) if n == 1 else 1
    if b.free and groups > 1 and padding == SAME:
        sh, sw = min(sh, 3), min(sw, 3)  # Vela defect: padding-of-groups
    oc = b.draws.size(48)
    oc = -(-oc // groups) * groups
    shape = (n, window(h, kh, sh, dh, padding), window(w, kw, sw, dw, padding), oc)
    kernel = weights(b, (oc, kh, kw, c // groups), 0, groups=groups)
    biases, out = _finish(b, "conv", x, kernel, shape, kh * kw * c // groups)
    b.operator(
        "CONV_2D",
        _given(x, kernel, biases),
        [out],
        "Conv2DOptions",
        padding=padding,
        strideH=sh,
        strideW=sw,
        dilationHFactor=dh,
        dilationWFactor=dw,
        fusedActivationFunction=b.activation(),
    )


def depthwise_conv_2d(b: Builder) -> None:
    """DEPTHWISE_CONV_2D, sometimes with a depth multiplier."""
    x = b.pick(batch=True)
    n, h, w, c = x.shape
    kh, kw, sh, sw, dh, dw, padding = _sliding(b, x)
    multiplier = b.draws.integer(1, 4) if b.draws.chance(30) else 1
    oc = c * multiplier
    if oc > 16:
        sh, sw = min(sh, 3), min(sw, 3)  # Vela defect: depthwise-strides-in-slices
    shape = (n, window(h, kh, sh, dh, padding), window(w, kw, sw, dw, padding), oc)
    kernel = weights(b, (1, kh, kw, oc), 3)
    biases, out = _finish(b, "depthwise", x, kernel, shape, kh * kw)
    if multiplier > 1:
        # Vela defect: depthwise-multiplier-into-part
        b.standalone.add(out.index)
    b.operator(
        "DEPTHWISE_CONV_2D",
        _given(x, kernel, biases),
        [out],
        "DepthwiseConv2DOptions",
        padding=padding,
        strideH=sh,
        strideW=sw,
        dilationHFactor=dh,
        dilationWFactor=dw,
        depthMultiplier=multiplier,
        fusedActivationFunction=b.activation(),
    )


def transpose_conv(b: Builder) -> None:
    """TRANSPOSE_CONV, with the strides that Vela allows."""
    # Vela defect: transpose-conv-of-slice
    x = b.pick(largest=12, avoid=b.parts, batch=True)
    n, h, w, c = x.shape
    strides = _transposed_strides(b, h)
    kernels = (b.draws.integer(1, 1 if h == 1 and strides == (1, 2) else 5), b.draws.integer(1, 5))
    padding = b.draws.choice((SAME, VALID))
    if any(stride - kernel >= 2 for stride, kernel in zip(strides, kernels, strict=True)):
        padding = VALID  # Vela defect: transpose-conv-of-small-kernel
    oc = b.draws.size(24)
    shape = (
        n,
        *(
            size * stride + (max(k - stride, 0) if padding == VALID else 0)
            for size, k, stride in zip((h, w), kernels, strides, strict=True)
        ),
        oc,
    )
    kernel = weights(b, (oc, *kernels, c), 0)
    terms = int(np.prod(kernels)) * c // int(np.prod(strides))
    biases, out = _finish(b, "transpose", x, kernel, shape, terms)
    if any(k < stride for k, stride in zip(kernels, strides, strict=True)):
        # Vela defect: transpose-conv-into-part
        b.standalone.add(out.index)
    b.operator(
        "TRANSPOSE_CONV",
        _given(b.integers(*shape), kernel, x, biases),
        [out],
        "TransposeConvOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
    )


def _transposed_strides(b: Builder, height: int) -> tuple[int, int]:
    """Any on Ethos-U85; on the others 1 or 2, and 1x2 of a row with a kernel of one row."""
    if b.free:
        return b.draws.integer(1, 5), b.draws.integer(1, 5)
    stride = b.draws.choice((2, 1))
    return (1 if height == 1 and stride == 2 and b.draws.chance(50) else stride), stride


def fully_connected(b: Builder) -> None:
    """FULLY_CONNECTED, with the rows of a batch or a whole feature map."""
    x = b.pick(ranks=(2, 3, 4))
    keep = b.draws.chance(30) and x.rank > 2
    inner = x.shape[-1] if keep or x.rank == 2 or b.draws.chance(50) else x.elements
    rows = x.elements // inner
    units = b.draws.size(64)
    if inner * units > 200_000:
        raise UnsuitableError("too many weights")
    kernel = weights(b, (units, inner), 0, per_channel=False)
    shape = (*x.shape[:-1], units) if keep else (rows, units)
    biases, out = _finish(b, "fc", x, kernel, shape, inner)
    b.operator(
        "FULLY_CONNECTED",
        [x, kernel, biases],
        [out],
        "FullyConnectedOptions",
        keepNumDims=keep,
        fusedActivationFunction=b.activation(),
    )


def batch_matmul(b: Builder) -> None:
    """BATCH_MATMUL of two non-constant values."""
    # Vela defect: batch-matmul-of-slice
    x = b.pick(dtypes=("int8",), ranks=(3, 4, 2), batch=True, avoid=b.parts)
    adjoint_x, adjoint_y = b.draws.chance(20), b.draws.chance(40)
    *outer, rows, inner = x.shape
    if adjoint_x:
        rows, inner = inner, rows
    columns = b.draws.size(32)
    other = (*outer, columns, inner) if adjoint_y else (*outer, inner, columns)
    y = b.input(other, x.dtype)
    scale = x.scale * y.scale * np.sqrt(inner) * 128 * b.draws.choice((1.0, 0.4, 3.0))
    out = b.tensor((*outer, rows, columns), x.dtype, scale)
    options = {"adjX": adjoint_x, "adjY": adjoint_y}
    b.operator("BATCH_MATMUL", [x, y], [out], "BatchMatMulOptions", **options)


OPERATORS = {
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transpose_conv,
}
