# SPDX-License-Identifier: MIT
"""Makes models that Vela leaves partly on the CPU.

    mixed_cnn        small_cnn, with convolutions, sums and softmax kept off the NPU by an option
    float_io       float32 inputs and outputs, quantised layers between
    svdf             two SVDF layers with state, each followed by a fully connected one
    attention        word numbers as input (GATHER), products of two computed tensors on the CPU
    segmenter        upscaling by three and a stride of three, ARG_MAX at the end
    two_branches     an image on the NPU and a sound on the CPU at the same time, and their sum
    detection        boxes and scores of two feature maps, and selection of the best ones

Random numbers are as in make_model. Operators stay on the CPU because of their shapes and types, or
because of an option of Vela.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ethosu_tools.model.make_model import INT8_RMS, NONE, RELU, SAME, VALID, Net, Signal, small_cnn
from flatbuffers import flexbuffers

INT16_RMS = 18918.0  # root mean square of numbers spread evenly over int16
INT32 = 2  # the schema's TensorType


@dataclass(frozen=True)
class Mixed:
    """A model, Vela's options for it, and operators that Vela must leave to the CPU."""

    make: Callable[[], bytes]
    on_cpu: tuple[str, ...]
    options: tuple[str, ...] = ()


class MixedNet(Net):
    """Layers that an Ethos-U55 does not support, or not in every shape."""

    def float_input(self, shape: tuple[int, ...]) -> Signal:
        """Add a float32 input, quantised to int8 by the first operator."""
        tensor = self.graph.tensor("input", shape, "float32")
        self.graph.inputs.append(tensor)
        x = self._signal("quantized", shape, NONE)
        self.graph.operator("QUANTIZE", [tensor], [x.tensor], "QuantizeOptions")
        return x

    def to_float(self, x: Signal) -> int:
        """Convert to a float32 tensor of the real values."""
        tensor = self.graph.tensor("real", x.shape, "float32")
        self.graph.operator("DEQUANTIZE", [x.tensor], [tensor], "DequantizeOptions")
        return tensor

    def detections(
        self, boxes: int, scores: int, anchors: np.ndarray, classes: int, limit: int
    ) -> None:
        """Add four float32 outputs: up to `limit` best boxes that do not overlap."""
        options = {
            "max_detections": limit,
            "max_classes_per_detection": 1,
            "num_classes": classes,
            "nms_score_threshold": 0.0,
            "nms_iou_threshold": 0.5,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
        }
        shapes = {
            "boxes": (1, limit, 4),
            "classes": (1, limit),
            "scores": (1, limit),
            "count": (1,),
        }
        graph = self.graph
        outputs = [graph.tensor(name, shape, "float32") for name, shape in shapes.items()]
        graph.operator(
            "TFLite_Detection_PostProcess",
            [boxes, scores, graph.constant("anchors", anchors.astype(np.float32))],
            outputs,
            custom_options=bytes(flexbuffers.Dumps(options)),
        )
        graph.outputs += outputs

    def embedding(self, shape: tuple[int, ...], words: int, depth: int) -> Signal:
        """Add an int32 input, and look up rows of a table."""
        tensor = self.graph.tensor("words", shape, "int32")
        self.graph.inputs.append(tensor)
        y = self._signal("embedding", (*shape, depth), NONE)
        values = self.random.normal(0, 1 / y.scale, (words, depth)) + y.zero_point
        table = np.clip(np.rint(values), -128, 127).astype(np.int8)
        constant = self.graph.constant("table", table, y.scale, y.zero_point)
        self.graph.operator("GATHER", [constant, tensor], [y.tensor], "GatherOptions", axis=0)
        return y

    def svdf(self, x: Signal, units: int, memory: int, rank: int = 1) -> Signal:
        """Add filters of rank `rank` over features and time, with a state tensor."""
        graph, filters, features = self.graph, units * rank, x.shape[1]
        feature_scale = 1 / (x.rms * INT8_RMS * math.sqrt(features))
        state_scale = 8 / 32767
        time_scale = 1 / (INT16_RMS * math.sqrt(memory * rank))
        values = self.random.integers(-127, 128, (filters, features)).astype(np.int8)
        times = self.random.integers(-32767, 32768, (filters, memory)).astype(np.int16)
        bias_scale = state_scale * time_scale
        bias = self.random.uniform(-0.5, 0.5, units) / bias_scale
        y = self._signal("svdf", (1, units), RELU)
        graph.operator(
            "SVDF",
            [
                x.tensor,
                graph.constant("features", values, feature_scale),
                graph.constant("times", times, time_scale),
                graph.constant("bias", bias.astype(np.int32), bias_scale),
                graph.tensor("state", (1, memory * filters), "int16", state_scale, variable=True),
            ],
            [y.tensor],
            "SVDFOptions",
            rank=rank,
            fusedActivationFunction=RELU,
        )
        return y

    def matmul(self, a: Signal, b: Signal, *, transposed: bool) -> Signal:
        """Multiply two computed matrices, the second optionally transposed."""
        width = b.shape[-2] if transposed else b.shape[-1]
        deviation = a.rms * b.rms * math.sqrt(a.shape[-1])
        y = self._signal("matmul", (*a.shape[:-1], width), NONE, deviation)
        self.graph.operator(
            "BATCH_MATMUL", [a.tensor, b.tensor], [y.tensor], "BatchMatMulOptions", adjY=transposed
        )
        return y

    def upscale(self, x: Signal, factor: int) -> Signal:
        """Upscale bilinearly by an integer factor."""
        height, width = (size * factor for size in x.shape[1:3])
        y = self._like(x, "upscale", (1, height, width, x.shape[3]))
        self.graph.operator(
            "RESIZE_BILINEAR",
            [x.tensor, self._integers("size", (height, width))],
            [y.tensor],
            "ResizeBilinearOptions",
            halfPixelCenters=True,
        )
        return y

    def transpose_conv(self, x: Signal, depth: int, stride: int) -> Signal:
        """Add a transposed convolution with adjacent, non-overlapping windows."""
        shape = (1, x.shape[1] * stride, x.shape[2] * stride, depth)
        weights, bias = self._weights(x, (depth, stride, stride, x.shape[3]), axis=0)
        y = self._signal("transpose_conv", shape, NONE, deviation=stride)
        self.graph.operator(
            "TRANSPOSE_CONV",
            [self._integers("shape", shape), weights, x.tensor, bias],
            [y.tensor],
            "TransposeConvOptions",
            padding=VALID,
            strideH=stride,
            strideW=stride,
        )
        return y

    def arg_max(self, x: Signal) -> int:
        """Add an int32 output, the argmax along the last axis."""
        tensor = self.graph.tensor("class", x.shape[:-1], "int32")
        axis = self.graph.constant("axis", np.array(len(x.shape) - 1, np.int32))
        self.graph.operator(
            "ARG_MAX", [x.tensor, axis], [tensor], "ArgMaxOptions", outputType=INT32
        )
        self.graph.outputs.append(tensor)
        return tensor

    def join(self, signals: list[Signal], axis: int) -> Signal:
        """Concatenate signals with the same quantisation."""
        shape = list(signals[0].shape)
        shape[axis] = sum(signal.shape[axis] for signal in signals)
        y = self._like(signals[0], "joined", tuple(shape))
        self.graph.operator(
            "CONCATENATION",
            [signal.tensor for signal in signals],
            [y.tensor],
            "ConcatenationOptions",
            axis=axis,
        )
        return y


def float_io(seed: int = 11) -> bytes:
    """An image classifier with float inputs and outputs."""
    net = MixedNet("float_io", seed)
    x = net.conv(net.float_input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    x = net.pool(net.conv(x, 16, kernel=(3, 3)), "MAX_POOL_2D", 2)
    x = net.reshape(net.pool(x, "AVERAGE_POOL_2D", 6), (1, 16))
    return net.finish(net.to_float(net.softmax(net.dense(x, 10, gain=6.0))))


def svdf(seed: int = 12) -> bytes:
    """A detector over time, like small keyword models: a frame in, scores out."""
    net = MixedNet("svdf", seed)
    x = net.input((1, 40))
    x = net.dense(net.svdf(x, 48, memory=8), 32, gain=1.0)
    x = net.softmax(net.dense(net.svdf(x, 24, memory=10, rank=2), 4, gain=6.0))
    return net.finish(x)


def two_branches(seed: int = 16) -> bytes:
    """An image and a frame of sound, processed independently until their sum."""
    net = MixedNet("two_branches", seed)
    image = net.conv(net.input((1, 32, 32, 3)), 8, kernel=(3, 3), stride=(2, 2))
    image = net.pool(net.conv(image, 16, kernel=(3, 3)), "AVERAGE_POOL_2D", 16)
    image = net.dense(net.reshape(image, (1, 16)), 24, gain=2.0)
    sound = net.svdf(net.svdf(net.input((1, 40)), 48, memory=8), 24, memory=10, rank=2)
    return net.finish(net.softmax(net.dense(net.add(image, sound), 6, gain=4.0)))


def attention(seed: int = 13) -> bytes:
    """One attention head over twelve words from a vocabulary of 50."""
    net = MixedNet("attention", seed)
    x = net.reshape(net.embedding((1, 12), words=50, depth=16), (1, 12, 1, 16))
    query, key, value = (
        net.reshape(net.conv(x, 16, kernel=(1, 1), activation=NONE), (1, 12, 16)) for _ in range(3)
    )
    weights = net.softmax(net.matmul(query, key, transposed=True))
    y = net.matmul(weights, value, transposed=False)
    y = net.conv(net.reshape(y, x.shape), 16, kernel=(1, 1), activation=NONE)
    y = net.reshape(net.add(x, y), (1, 192))
    return net.finish(net.dense(y, 5, gain=2.0))


def segmenter(seed: int = 14) -> bytes:
    """A class for each pixel, from a small feature map."""
    net = MixedNet("segmenter", seed)
    x = net.conv(net.input((1, 24, 24, 3)), 12, kernel=(3, 3), stride=(2, 2))
    x = net.conv(net.pool(x, "MAX_POOL_2D", 3), 16, kernel=(3, 3))
    x = net.conv(net.upscale(x, 3), 12, kernel=(3, 3))
    x = net.transpose_conv(x, 6, stride=3)
    net.arg_max(net.conv(x, 6, kernel=(1, 1), activation=NONE))
    return net.finish()


def detection(seed: int = 15, classes: int = 4) -> bytes:
    """Boxes and scores at 5 x 5 and 3 x 3 positions, of which the best five are returned."""
    net = MixedNet("detection", seed)
    x = net.conv(net.input((1, 40, 40, 3)), 12, kernel=(3, 3), stride=(2, 2))
    large = net.conv(net.pool(x, "MAX_POOL_2D", 4), 24, kernel=(3, 3), padding=SAME)
    small = net.conv(large, 24, kernel=(3, 3), stride=(2, 2))
    boxes, scores, anchors = [], [], []
    for features in (large, small):
        side = features.shape[1]
        box = net.conv(features, 4, kernel=(3, 3), activation=NONE)
        score = net.conv(features, classes, kernel=(3, 3), activation=NONE)
        boxes.append(net.reshape(box, (1, side**2, 4)))
        scores.append(net.reshape(score, (1, side**2, classes)))
        anchors.append(_anchors(side))
    real_boxes = net.to_float(net.join(boxes, axis=1))
    real_scores = net.to_float(net.sigmoid(net.join(scores, axis=1)))
    net.detections(real_boxes, real_scores, np.vstack(anchors), classes, limit=5)
    return net.finish()


def _anchors(side: int) -> np.ndarray:
    """Return a grid of squares that fills the picture: centre and size, from 0 to 1."""
    centres = (np.argwhere(np.ones((side, side))) + 0.5) / side
    return np.hstack([centres, np.full_like(centres, 1 / side)])


MODELS: dict[str, Mixed] = {
    "mixed_cnn": Mixed(
        small_cnn, ("ADD", "CONV_2D", "SOFTMAX"), ("--ignore-ops", "ADD,CONV_2D,SOFTMAX")
    ),
    "float_io": Mixed(float_io, ("QUANTIZE", "DEQUANTIZE")),
    "svdf": Mixed(svdf, ("SVDF",)),
    "attention": Mixed(
        attention, ("GATHER", "BATCH_MATMUL"), ("--ignore-ops", "BATCH_MATMUL,SOFTMAX")
    ),
    "two_branches": Mixed(two_branches, ("SVDF", "ADD"), ("--ignore-ops", "ADD")),
    "segmenter": Mixed(segmenter, ("RESIZE_BILINEAR", "TRANSPOSE_CONV")),
    "detection": Mixed(detection, ("DEQUANTIZE", "TFLite_Detection_PostProcess")),
}
