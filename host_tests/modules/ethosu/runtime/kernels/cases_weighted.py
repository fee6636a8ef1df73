# SPDX-License-Identifier: MIT
"""Generates one-operator graphs: weights, windows, images, state."""

from __future__ import annotations

import numpy as np
from flatbuffers import flexbuffers

from .maker import Maker, Tensor, case

SAME, VALID = 0, 1
ACTIVATIONS = (0, 0, 1, 2, 3)
INT32, INT64 = 2, 4  # the schema's TensorType


def _window(size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    reach = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else (size - reach) // stride + 1


def _weights(m: Maker, shape: tuple[int, ...], axis: int) -> tuple[Tensor, np.ndarray]:
    """Draw random int8 weights with one scale, or one per channel."""
    scale = np.array([m.scale()], np.float32)
    if m.chance(70):
        scale = (scale * m.rng.uniform(0.2, 1, shape[axis])).astype(np.float32)
    data = m.rng.integers(-127, 128, shape)
    return m.constant(data, "int8", scale, 0, axis), scale


def _bias(m: Maker, x: Tensor, scales: np.ndarray, count: int, bias_type: int) -> Tensor:
    wide = x.dtype == "int16" and bias_type != INT32
    limit = 1 << (18 if x.dtype == "int16" else 12)
    data = m.rng.integers(-limit, limit, count)
    return m.constant(data, "int64" if wide else "int32", scales * np.float32(x.scale))


def _output(m: Maker, x: Tensor, scales: np.ndarray, terms: int, shape: tuple[int, ...]) -> Tensor:
    """Make an output whose range covers most sums."""
    spread = 75 * (75 if x.dtype == "int8" else 19000)
    half = 128 if x.dtype == "int8" else 32768
    scale = x.scale * float(scales.max()) * spread * terms**0.5 * 3 / half
    return m.output(shape, x.dtype, float(np.float32(scale * 2 ** m.rng.uniform(-2, 1))))


def _strides(m: Maker) -> dict[str, int]:
    return {"strideW": m.integer(1, 3), "strideH": m.integer(1, 3)}


def _dilations(m: Maker) -> dict[str, int]:
    some = m.chance(30)
    return {
        "dilationWFactor": m.integer(1, 3) if some else 1,
        "dilationHFactor": m.integer(1, 3) if some else 1,
    }


def _image(m: Maker, kernel: tuple[int, int], fields: dict[str, int]) -> tuple[int, int]:
    """Draw an image large enough for the kernel."""
    return tuple(
        (size - 1) * fields.get(f"dilation{side}Factor", 1) + m.integer(1, 7)
        for size, side in zip(kernel, "HW", strict=True)
    )


def _windows(image, kernel, fields: dict[str, int]) -> tuple[int, int]:
    return tuple(
        _window(
            size,
            taps,
            fields[f"stride{side}"],
            fields.get(f"dilation{side}Factor", 1),
            fields["padding"],
        )
        for size, taps, side in zip(image, kernel, "HW", strict=True)
    )


@case("CONV_2D")
def _conv(m: Maker) -> None:
    kernel = m.pick((1, 1), (3, 3), (m.integer(1, 5), m.integer(1, 5)))
    groups = m.pick(1, 1, 1, 2, 3)
    depth, filters = m.integer(1, 8), m.integer(1, 5) * groups
    fields = {"padding": m.pick(SAME, VALID), **_strides(m), **_dilations(m)}
    image = _image(m, kernel, fields)
    dtype = m.pick("int8", "int8", "int16")
    x = m.input((m.integer(1, 2), *image, depth * groups), dtype)
    w, scales = _weights(m, (filters, *kernel, depth), 0)
    bias_type = m.pick(0, INT32, INT64) if dtype == "int16" else 0
    named = 0 if m.chance(25) else bias_type  # if it is not, the bias says it
    inputs = [x, w, _bias(m, x, scales, filters, bias_type)]
    shape = (x.shape[0], *_windows(image, kernel, fields), filters)
    y = _output(m, x, scales, kernel[0] * kernel[1] * depth, shape)
    fields |= {"fusedActivationFunction": m.pick(*ACTIVATIONS), "quantizedBiasType": named}
    m.operator("CONV_2D", inputs, [y], "Conv2DOptions", **fields)


@case("DEPTHWISE_CONV_2D")
def _depthwise(m: Maker) -> None:
    kernel = m.pick((3, 3), (m.integer(1, 5), m.integer(1, 5)))
    depth, multiplier = m.pick(m.integer(1, 36), m.integer(1, 140), 1), m.pick(1, 1, 2, 3)
    fields = {"padding": m.pick(SAME, VALID), **_strides(m), **_dilations(m)}
    image = _image(m, kernel, fields)
    x = m.input((m.integer(1, 2), *image, depth), m.pick("int8", "int8", "int16"))
    w, scales = _weights(m, (1, *kernel, depth * multiplier), 3)
    inputs = [x, w, _bias(m, x, scales, depth * multiplier, 0)]
    shape = (x.shape[0], *_windows(image, kernel, fields), depth * multiplier)
    y = _output(m, x, scales, kernel[0] * kernel[1], shape)
    fields |= {"fusedActivationFunction": m.pick(*ACTIVATIONS), "depthMultiplier": multiplier}
    m.operator("DEPTHWISE_CONV_2D", inputs, [y], "DepthwiseConv2DOptions", **fields)


@case("TRANSPOSE_CONV")
def _transpose_conv(m: Maker) -> None:
    kernel = (m.integer(1, 5), m.integer(1, 5))
    depth, filters = m.pick(m.integer(1, 6), m.integer(1, 20)), m.integer(1, 5)
    fields = {"padding": m.pick(SAME, VALID), **_strides(m)}
    image = (m.integer(1, 6), m.integer(1, 6))
    out = []
    for size, taps, side in zip(image, kernel, "HW", strict=True):
        stride = fields[f"stride{side}"]
        same = fields["padding"] == SAME
        out.append(size * stride if same else (size - 1) * stride + max(taps, stride))
    if fields["padding"] == VALID and _windows(out, kernel, fields) != image:
        out = [
            (n - 1) * fields[f"stride{s}"] + k for n, k, s in zip(image, kernel, "HW", strict=True)
        ]
    if m.chance(30):  # other sizes with the same number of windows
        other = [max(1, size + m.integer(-2, 2)) for size in out]
        out = other if _windows(other, kernel, fields) == image else out
    dtype = m.pick("int8", "int8", "int16")
    x = m.input((m.integer(1, 2), *image, depth), dtype)
    w, scales = _weights(m, (filters, *kernel, depth), 0)
    shape = (x.shape[0], *out, filters)
    inputs = [m.constant(shape, "int32"), w, x]
    bias_type = m.pick(0, INT32, INT64) if dtype == "int16" else 0
    named = 0 if m.chance(25) else bias_type  # if it is not, the bias says it
    if m.chance(60):
        inputs.append(_bias(m, x, scales, filters, bias_type))
    y = _output(m, x, scales, kernel[0] * kernel[1] * depth, shape)
    fields |= {"fusedActivationFunction": m.pick(0, 0, 1, 3), "quantizedBiasType": named}
    m.operator("TRANSPOSE_CONV", inputs, [y], "TransposeConvOptions", **fields)


@case("FULLY_CONNECTED")
def _fully_connected(m: Maker) -> None:
    depth, filters = m.integer(1, 60), m.integer(1, 12)
    keep = m.chance(30)
    rows = m.shape(1, 3, 3) if keep else (m.integer(1, 4),)
    dtype = m.pick("int8", "int8", "int16")
    x = m.input((*rows, depth), dtype)
    w, scales = _weights(m, (filters, depth), 0)
    if len(scales) == 1 and m.chance(30):
        data = m.rng.integers(-128, 128, (filters, depth))
        w = m.constant(data, "int8", scales, m.integer(-20, 20))
    bias_type = m.pick(0, INT32, INT64) if dtype == "int16" else 0
    named = 0 if m.chance(25) else bias_type  # if it is not, the bias says it
    inputs = [x, w, _bias(m, x, scales, filters, bias_type) if m.chance(80) else None]
    y = _output(m, x, scales, depth, (*rows, filters))
    m.operator(
        "FULLY_CONNECTED",
        inputs,
        [y],
        "FullyConnectedOptions",
        fusedActivationFunction=m.pick(*ACTIVATIONS),
        keepNumDims=keep,
        quantizedBiasType=named,
    )


@case("BATCH_MATMUL")
def _batch_matmul(m: Maker) -> None:
    rows, columns, depth = m.integer(1, 6), m.integer(1, 6), m.integer(1, 20)
    batches = m.shape(0, 2, 3)
    other = tuple(1 if m.chance(30) else size for size in batches)
    # With both, the reference reads past the end of its transposed copy of the first matrix.
    adj_x, adj_y = m.chance(50) and other == batches, m.chance(50)
    dtype = m.pick("int8", "int8", "int16")
    x = m.input((*batches, *((depth, rows) if adj_x else (rows, depth))), dtype)
    y = m.input((*other, *((columns, depth) if adj_y else (depth, columns))), dtype)
    spread = 75.0**2 if dtype == "int8" else 19000.0**2
    scale = x.scale * y.scale * spread * depth**0.5 * 3 / (128 if dtype == "int8" else 32768)
    out = m.output((*batches, rows, columns), dtype, float(np.float32(scale)))
    m.operator("BATCH_MATMUL", [x, y], [out], "BatchMatMulOptions", adjX=adj_x, adjY=adj_y)


def _pool(kind: str):
    @case(kind)
    def generate(m: Maker) -> None:
        kernel = (m.integer(1, 4), m.integer(1, 4))
        fields = {"padding": m.pick(SAME, VALID), **_strides(m)}
        image = _image(m, kernel, fields)
        x = m.input((m.integer(1, 2), *image, m.integer(1, 20)), m.pick("int8", "int8", "int16"))
        y = m.like(x, (x.shape[0], *_windows(image, kernel, fields), x.shape[3]))
        fields |= {"filterHeight": kernel[0], "filterWidth": kernel[1]}
        fields["fusedActivationFunction"] = m.pick(*ACTIVATIONS)
        m.operator(kind, [x], [y], "Pool2DOptions", **fields)

    return generate


_pool("AVERAGE_POOL_2D")
_pool("MAX_POOL_2D")


def _resize(kind: str, options: str, dtypes: tuple[str, ...]):
    @case(kind)
    def generate(m: Maker) -> None:
        size = (m.integer(1, 8), m.integer(1, 8))
        out = (m.integer(1, 12), m.integer(1, 12))
        corners, centres = m.pick((False, False), (True, False), (False, True))
        x = m.input((m.integer(1, 2), *size, m.integer(1, 6)), m.pick(*dtypes))
        y = m.like(x, (x.shape[0], *out, x.shape[3]))
        fields = {"alignCorners": corners, "halfPixelCenters": centres}
        m.operator(kind, [x, m.constant(out, "int32")], [y], options, **fields)

    return generate


_resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", ("int8", "int16", "float32"))
_resize("RESIZE_BILINEAR", "ResizeBilinearOptions", ("int8", "int8", "int16"))


@case("SVDF")
def _svdf(m: Maker) -> None:
    rank, units = m.integer(1, 3), m.integer(1, 5)
    filters, frame, memory = rank * units, m.integer(1, 12), m.integer(1, 8)
    batches = m.integer(1, 2)
    x = m.input((batches, frame))
    features = m.constant(m.rng.integers(-127, 128, (filters, frame)), "int8", m.scale())
    times = m.constant(m.rng.integers(-3000, 3000, (filters, memory)), "int16", m.scale() / 100)
    bias = m.constant(m.rng.integers(-9999, 9999, units), "int32", 1.0) if m.chance(70) else None
    state_scale = x.scale * 2 ** m.rng.uniform(-8, -4)
    state = m.graph.tensor(
        "state", (batches, filters * memory), "int16", state_scale, variable=True
    )
    y = m.output((batches, units), "int8", float(np.float32(m.scale() * 2)))
    state_tensor = Tensor(state, (batches, filters * memory), "int16", state_scale, 0)
    inputs = [x, features, times, bias, state_tensor]
    fields = {"rank": rank, "fusedActivationFunction": 1}
    m.operator("SVDF", inputs, [y], "SVDFOptions", **fields)


@case("DETECTION_POSTPROCESS")
def _detection(m: Maker) -> None:
    boxes, classes, most = m.integer(1, 60), m.integer(1, 8), m.integer(1, 12)
    most_classes = m.group = min(m.pick(1, 1, m.integer(1, 3)), classes)
    background = m.integer(0, 1)
    options = {
        "max_detections": most,
        "max_classes_per_detection": most_classes,
        "num_classes": classes,
        "nms_score_threshold": float(m.rng.uniform(-2, 1)),
        "nms_iou_threshold": float(m.rng.uniform(0.05, 1)),
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
    }
    # With uint8, scores are often equal: then the reference's order of several classes is that of
    # std::partial_sort().
    most_classes = m.group = 1 if m.unsigned else most_classes
    options["max_classes_per_detection"] = most_classes
    # LiteRT supports uint8 here, but not int8. Unless the zero point is 0, its score depends on the
    # host: it rounds twice in blocks of 8, once in the rest.
    dtype = "int8" if m.unsigned else "float32"
    if m.unsigned:
        anchors = m.constant(m.rng.integers(-128, 128, (boxes, 4)), dtype, 1 / 256, -128)
    else:
        anchors = m.constant(m.rng.uniform(0, 1, (boxes, 4)), dtype)
    inputs = [
        m.input((1, boxes, m.pick(4, 4, 6)), dtype),
        m.input((1, boxes, classes + background), m.pick("float32", dtype), zero_point=-128),
        anchors,
    ]
    places = most * most_classes
    shapes = ((1, places, 4), (1, places), (1, places), (1,))
    outputs = [m.output(shape, "float32") for shape in shapes]
    packed = bytes(flexbuffers.Dumps(options))
    m.operator("TFLite_Detection_PostProcess", inputs, outputs, custom_options=packed)
