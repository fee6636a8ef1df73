# SPDX-License-Identifier: MIT
"""Generates one-operator graphs: element-wise, layout, reductions."""

from __future__ import annotations

import numpy as np

from .maker import Maker, case

ACTIVATIONS = (0, 0, 1, 2, 3)


def _dtype(m: Maker) -> str:
    return m.pick("int8", "int8", "int16")


def _broadcast(m: Maker, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draw a shape that broadcasts to `shape`."""
    kept = shape[m.integer(0, len(shape) - 1) :] if m.chance(30) else shape
    return tuple(1 if m.chance(40) else size for size in kept)


def _binary_shapes(m: Maker) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    shape = m.shape()
    other = shape if m.chance(50) else _broadcast(m, shape)
    return (shape, other, shape) if m.chance(50) else (other, shape, shape)


def _arithmetic(kind: str, options: str):
    @case(kind)
    def generate(m: Maker) -> None:
        a, b, out = _binary_shapes(m)
        dtype = m.pick("int8", "int8", "int16", "int16", "int32", "float32")
        fields = {"fusedActivationFunction": m.pick(*ACTIVATIONS)}
        scales = [None, None, None]
        if kind != "MUL":
            fields["potScaleInt16"] = m.chance(50)
        if dtype == "int16" and m.chance(50):
            low = -m.integer(0, 6)
            scales = [2.0**-10, 2.0 ** (-10 + low), 2.0**-10]
            if m.chance(50):
                scales[:2] = scales[1::-1]
            # With these scales the reference aborts instead of broadcasting.
            a = b = out
        inputs = [m.input(a, dtype, scales[0]), m.input(b, dtype, scales[1])]
        m.operator(kind, inputs, [m.output(out, dtype, scales[2])], options, **fields)

    return generate


_arithmetic("ADD", "AddOptions")
_arithmetic("SUB", "SubOptions")
_arithmetic("MUL", "MulOptions")


def _extreme(kind: str):
    @case(kind)
    def generate(m: Maker) -> None:
        a, b, out = _binary_shapes(m)
        dtype = m.pick("int8", "int8", "int16", "int32", "float32")
        x = m.input(a, dtype)
        inputs = [x, m.input(b, dtype, x.scale, x.zero_point)]
        m.operator(kind, inputs, [m.like(x, out)], "MaximumMinimumOptions")

    return generate


_extreme("MAXIMUM")
_extreme("MINIMUM")


@case("PRELU")
def _prelu(m: Maker) -> None:
    shape = m.shape(2, 4)
    alpha = tuple(1 for _ in shape[1:-1]) + shape[-1:] if m.chance(60) else _broadcast(m, shape)
    low = m.rng.integers(-128, 128, alpha)
    slope = m.constant(low, "int8", m.scale(), m.zero_point("int8"))
    m.operator("PRELU", [m.input(shape), slope], [m.output(shape)])


def _compare(kind: str):
    options = "".join(word.title() for word in kind.split("_")) + "Options"

    @case(kind)
    def generate(m: Maker) -> None:
        a, b, out = _binary_shapes(m)
        dtypes = ("int8", "int8", "int16", "int32", "float32")
        dtype = m.pick(*dtypes)
        x = m.input(a, dtype)
        # int16 with two scales: element/test_compare.py.
        one_scale = m.chance(50) or dtype == "int16"
        y = m.input(b, dtype, x.scale if one_scale else None, x.zero_point)
        m.operator(kind, [x, y], [m.output(out, "bool")], options)

    return generate


for _kind in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
    _compare(_kind)


@case("SELECT_V2")
def _select(m: Maker) -> None:
    shape = m.shape(1, 4)
    dtype = m.pick("int8", "int16", "int32", "float32")
    condition = m.input(shape if m.chance(50) else _broadcast(m, shape), "bool")
    x = m.input(shape, dtype)
    y = m.input(shape if m.chance(50) else _broadcast(m, shape), dtype, x.scale, x.zero_point)
    m.operator("SELECT_V2", [condition, x, y], [m.like(x, shape)], "SelectV2Options")


def _unary(kind: str, dtypes: tuple[str, ...], options: str | None = None):
    @case(kind)
    def generate(m: Maker) -> None:
        shape = m.shape(1, 4, 12)
        dtype = m.pick(*dtypes)
        x = m.input(shape, dtype)
        fields = {"alpha": float(np.float32(m.rng.uniform(-0.5, 1.5)))} if options else {}
        y = (
            m.like(x)
            if m.chance(20)
            else m.output(shape, dtype, x.scale * 2 ** m.rng.uniform(-3, 1))
        )
        m.operator(kind, [x], [y], *([options] if options else []), **fields)

    return generate


_unary("RELU", ("int8", "int16"))
_unary("RELU6", ("int8", "int16"))
_unary("RELU_0_TO_1", ("int8",))
_unary("RELU_N1_TO_1", ("int8",))
_unary("LEAKY_RELU", ("int8", "int16"), "LeakyReluOptions")


@case("HARD_SWISH")
def _hard_swish(m: Maker) -> None:
    shape = m.shape(1, 4, 12)
    x = m.input(shape, "int8", float(np.float32(2 ** m.rng.uniform(-8, 1))))
    m.operator("HARD_SWISH", [x], [m.output(shape, "int8", x.scale * 2 ** m.rng.uniform(-2, 1))])


def _sigmoid(kind: str, scales: dict[str, float], zero_point: int):
    @case(kind)
    def generate(m: Maker) -> None:
        shape = m.shape(1, 4, 12)
        dtype = m.pick("int8", "int16")
        scale = float(np.float32(2 ** m.rng.uniform(-8, -1)))
        if dtype == "int16":
            scale = m.pick(2.0**-12, 2.0**-11, float(np.float32(2 ** m.rng.uniform(-16, -9))))
        y = m.output(shape, dtype, scales[dtype], zero_point if dtype == "int8" else 0)
        m.operator(kind, [m.input(shape, dtype, scale)], [y])

    return generate


_sigmoid("LOGISTIC", {"int8": 1 / 256, "int16": 1 / 32768}, -128)
_sigmoid("TANH", {"int8": 1 / 128, "int16": 1 / 32768}, 0)


@case("SOFTMAX")
def _softmax(m: Maker) -> None:
    shape = (*m.shape(0, 3, 4), m.integer(1, 40))
    dtype = m.pick("int8", "int8", "int16")
    scale = float(np.float32(2 ** m.rng.uniform(-7, 0)))
    out = dtype
    if dtype == "int16":
        scale = float(np.float32(2 ** m.rng.uniform(-15, -8)))
    elif m.chance(20):
        out = "int16"
    quantized = (1 / 256, -128) if out == "int8" else (1 / 32768, 0)
    if dtype == "int8" and out == "int16":
        quantized = m.pick((1 / 65536, -32768), (1 / 32768, 0))
    y = m.output(shape, out, *quantized)
    beta = m.pick(1.0, 1.0, 0.5, 2.0)
    m.operator("SOFTMAX", [m.input(shape, dtype, scale)], [y], "SoftmaxOptions", beta=beta)


@case("QUANTIZE")
def _quantize(m: Maker) -> None:
    shape = m.shape(1, 4, 10)
    source, target = m.pick(
        ("float32", "int8"),
        ("float32", "int16"),
        ("int8", "int8"),
        ("int16", "int8"),
        ("int16", "int16"),
        ("int8", "int8"),
    )
    m.operator("QUANTIZE", [m.input(shape, source)], [m.output(shape, target)], "QuantizeOptions")


@case("DEQUANTIZE")
def _dequantize(m: Maker) -> None:
    shape = m.shape(1, 4, 10)
    x = m.input(shape, _dtype(m))
    m.operator("DEQUANTIZE", [x], [m.output(shape, "float32")], "DequantizeOptions")


@case("CAST")
def _cast(m: Maker) -> None:
    shape = m.shape(1, 4, 8)
    types = ("int8", "int16", "int32", "float32", "bool")
    source, target = m.pick(*types), m.pick(*types)
    if target != "int8":  # the reference clamps floats beyond its range, but not in each loop
        m.spread = m.pick(3, 300, 30000)
    numbers = {"int8": 9, "int16": 7, "int32": 2, "float32": 0, "bool": 6}
    fields = {"inDataType": numbers[source], "outDataType": numbers[target]}
    m.operator("CAST", [m.input(shape, source)], [m.output(shape, target)], "CastOptions", **fields)


# --- Layout ------------------------------------------------------------------


def _any(m: Maker) -> str:
    return m.pick("int8", "int8", "int16", "int32", "float32")


@case("TRANSPOSE")
def _transpose(m: Maker) -> None:
    shape = m.shape(1, 5)
    x = m.input(shape, _any(m))
    order = m.rng.permutation(len(shape))
    y = m.like(x, [shape[axis] for axis in order])
    m.operator("TRANSPOSE", [x, m.constant(order, "int32")], [y], "TransposeOptions")


def _blocks(kind: str, options: str):
    @case(kind)
    def generate(m: Maker) -> None:
        block = m.integer(1, 4)
        batches, height, width, channels = (m.integer(1, size) for size in (2, 5, 5, 4))
        space = batches, height * block, width * block, channels
        depth = batches, height, width, channels * block * block
        source, target = (depth, space) if kind == "DEPTH_TO_SPACE" else (space, depth)
        x = m.input(source, m.pick("int8", "int8", "int32", "float32"))
        m.operator(kind, [x], [m.like(x, target)], options, blockSize=block)

    return generate


_blocks("DEPTH_TO_SPACE", "DepthToSpaceOptions")
_blocks("SPACE_TO_DEPTH", "SpaceToDepthOptions")


@case("SLICE")
def _slice(m: Maker) -> None:
    shape = m.shape(1, 4)
    x = m.input(shape, _any(m))
    begin = [m.integer(0, size - 1) for size in shape]
    extent = [m.integer(1, size - start) for size, start in zip(shape, begin, strict=True)]
    written = [
        -1 if start + size == whole and m.chance(50) else size
        for start, size, whole in zip(begin, extent, shape, strict=True)
    ]
    index = m.pick("int32", "int64")
    inputs = [x, m.constant(begin, index), m.constant(written, index)]
    m.operator("SLICE", inputs, [m.like(x, extent)], "SliceOptions")


@case("STRIDED_SLICE")
def _strided_slice(m: Maker) -> None:
    shape = m.shape(1, 4)
    x = m.input(shape, _any(m))
    begin, end, step, masks, out = [], [], [], [0, 0, 0], []
    for axis, size in enumerate(shape):
        stride = m.pick(1, 1, 2, -1, -2, 3)
        first, last = sorted((m.integer(0, size - 1), m.integer(0, size - 1)))
        b, e = (first, last + 1) if stride > 0 else (last, first - 1)
        if m.chance(20):
            masks[2] |= 1 << axis
            b, stride = first, 1
        else:
            count = len(range(b, e, stride))
            if m.chance(20):
                masks[0] |= 1 << axis
                count = len(range(0 if stride > 0 else size - 1, e, stride))
            if e < 0 or m.chance(20):
                masks[1] |= 1 << axis
                start = b
                if masks[0] >> axis & 1:
                    start = 0 if stride > 0 else size - 1
                count = len(range(start, size if stride > 0 else -1, stride))
            out.append(count)
        begin.append(b - size if m.chance(20) else b)
        end.append(max(e, 0))
        step.append(stride)
    inputs = [x, *(m.constant(list_, "int32") for list_ in (begin, end, step))]
    fields = dict(zip(("beginMask", "endMask", "shrinkAxisMask"), masks, strict=True))
    m.operator("STRIDED_SLICE", inputs, [m.like(x, out)], "StridedSliceOptions", **fields)


@case("CONCATENATION")
def _concatenation(m: Maker) -> None:
    shape = list(m.shape(1, 4))
    axis = m.integer(0, len(shape) - 1)
    dtype = _any(m)
    first = None
    parts, total = [], 0
    for _ in range(m.integer(1, 4)):
        shape[axis] = m.integer(1, 5)
        total += shape[axis]
        scale, zero_point = (first.scale, first.zero_point) if first else (None, None)
        parts.append(m.input(shape, dtype, scale, zero_point))
        first = parts[0]
    shape[axis] = total
    written = axis - len(shape) if m.chance(30) else axis
    m.operator("CONCATENATION", parts, [m.like(first, shape)], "ConcatenationOptions", axis=written)


def _splits(m: Maker, sizes: list[int]):
    shape = list(m.shape(1, 4))
    axis = m.integer(0, len(shape) - 1)
    shape[axis] = sum(sizes)
    x = m.input(shape, _any(m))
    outputs = []
    for size in sizes:
        shape[axis] = size
        outputs.append(m.like(x, shape))
    return x, axis - len(shape) if m.chance(30) else axis, outputs


@case("SPLIT")
def _split(m: Maker) -> None:
    sizes = [m.integer(1, 4)] * m.integer(1, 4)
    x, axis, outputs = _splits(m, sizes)
    inputs = [m.constant(axis, "int32"), x]
    m.operator("SPLIT", inputs, outputs, "SplitOptions", numSplits=len(sizes))


@case("SPLIT_V")
def _split_v(m: Maker) -> None:
    sizes = [m.integer(1, 5) for _ in range(m.integer(1, 4))]
    x, axis, outputs = _splits(m, sizes)
    written = list(sizes)
    if m.chance(30):
        written[m.integer(0, len(sizes) - 1)] = -1
    inputs = [x, m.constant(written, "int32"), m.constant(axis, "int32")]
    m.operator("SPLIT_V", inputs, outputs, "SplitVOptions", numSplits=len(sizes))


def _pad(kind: str):
    @case(kind)
    def generate(m: Maker) -> None:
        shape = m.shape(1, 4)
        x = m.input(shape, _any(m))
        pads = m.rng.integers(0, 4, (len(shape), 2))
        inputs = [x, m.constant(pads, m.pick("int32", "int64"))]
        if kind == "PADV2":
            quantization = (x.scale, x.zero_point) if x.scale else (None, 0)
            inputs.append(m.constant([m.integer(-100, 100)], x.dtype, *quantization))
        y = m.like(x, [size + sum(pad) for size, pad in zip(shape, pads, strict=True)])
        m.operator(kind, inputs, [y], "PadOptions" if kind == "PAD" else "PadV2Options")

    return generate


_pad("PAD")
_pad("PADV2")


@case("GATHER")
def _gather(m: Maker) -> None:
    shape = m.shape(1, 4)
    axis = m.integer(0, len(shape) - 1)
    batch = m.integer(0, axis) if m.chance(30) else 0
    x = m.input(shape, _any(m))
    indices = (*shape[:batch], *m.shape(0, 2, 4))
    values = m.rng.integers(0, shape[axis], indices)
    out = shape[:axis] + indices[batch:] + shape[axis + 1 :]
    inputs = [x, m.constant(values, m.pick("int16", "int32", "int64"))]
    m.operator("GATHER", inputs, [m.like(x, out)], "GatherOptions", axis=axis, batchDims=batch)


# --- Reductions --------------------------------------------------------------


SUMMED = ("int8", "int8", "int16", "int32")


def _reduce(kind: str):
    @case(kind)
    def generate(m: Maker) -> None:
        shape = m.shape(1, 4, 8)
        axes = [axis for axis in range(len(shape)) if m.chance(50)] or [len(shape) - 1]
        keep = m.chance(50)
        dtype = m.pick("int8", "int8", "int16") if kind == "MEAN" else m.pick(*SUMMED)
        x = m.input(shape, dtype)
        out = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
        same = m.chance(30) or (kind, dtype) == ("SUM", "int16")
        y = m.like(x, out) if same else m.output(out, dtype)
        written = [axis - len(shape) if m.chance(30) else axis for axis in axes]
        inputs = [x, m.constant(written, "int32")]
        m.operator(kind, inputs, [y], "ReducerOptions", keepDims=keep)

    return generate


_reduce("MEAN")
_reduce("SUM")


def _arg(kind: str, options: str):
    @case(kind)
    def generate(m: Maker) -> None:
        shape = m.shape(1, 4)
        axis = m.integer(0, len(shape) - 1)
        x = m.input(shape, m.pick("int8", "int8", "float32", "int32"))
        wide = m.chance(30)
        y = m.output(shape[:axis] + shape[axis + 1 :], "int64" if wide else "int32")
        inputs = [x, m.constant(axis - len(shape) if m.chance(30) else axis, "int32")]
        m.operator(kind, inputs, [y], options, outputType=4 if wide else 2)

    return generate


_arg("ARG_MAX", "ArgMaxOptions")
_arg("ARG_MIN", "ArgMinOptions")
