# SPDX-License-Identifier: MIT
"""Makes the project's own small models: `python -m ethosu_tools.model.make_model FOLDER`.

They are int8, with random weights from a fixed seed, and small enough for every test:

    small_cnn        convolution, depthwise, residual add, both poolings, fully connected, softmax
    small_streaming  a wake-word model in miniature: frames as input, earlier frames in two resource
                     variables (initialised with different values), uint8 output

Three more are made only if requested by name, for measurements:

    mobilenet_v2       MobileNetV2 1.0 for 224 x 224 images: 300 million multiplications
    mobilenet_v2_nchw  the same, with channels first and a TRANSPOSE, as converted from PyTorch
    weights_300k       more than 300 KB of weights, and few layers

Weights are scaled so that every layer's output has a standard deviation near 1 and uses most of
its 8 bits, so that rounding errors and wrong saturation show in the result.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import SetupError
from .tflite.writer import Graph, write

INT8_RMS = 73.3  # root mean square of numbers spread evenly over -127 … 127
SPREAD = 3.0  # a layer's 8 bits cover this many standard deviations
SAME, VALID = 0, 1  # the schema's Padding
NONE, RELU = 0, 1  # the schema's ActivationFunctionType


@dataclass(frozen=True)
class Signal:
    """A feature map: its tensor, its quantisation and the root mean square of its real values."""

    tensor: int
    shape: tuple[int, ...]
    scale: float
    zero_point: int
    rms: float


PROBABILITY = Signal(-1, (), 1 / 256, -128, 0.5)


class Net:
    """A graph with random layers."""

    def __init__(self, name: str, seed: int) -> None:
        self.graph = Graph(name)
        self.random = np.random.default_rng(seed)

    def input(self, shape: tuple[int, ...]) -> Signal:
        """Add an int8 input of the model."""
        signal = self._signal("input", shape, NONE)
        self.graph.inputs.append(signal.tensor)
        return signal

    def conv(
        self,
        x: Signal,
        depth: int,
        kernel: tuple[int, int],
        stride: tuple[int, int] = (1, 1),
        padding: int = SAME,
        activation: int = RELU,
    ) -> Signal:
        """Add a convolution with a scale for each output channel."""
        y = self._signal("conv", (*_window(x, kernel, stride, padding), depth), activation)
        inputs = [x.tensor, *self._weights(x, (depth, *kernel, x.shape[3]), axis=0)]
        fields = _moving(stride, padding) | {"fusedActivationFunction": activation}
        self.graph.operator("CONV_2D", inputs, [y.tensor], "Conv2DOptions", **fields)
        return y

    def depthwise(
        self,
        x: Signal,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: int = SAME,
        activation: int = NONE,
    ) -> Signal:
        """Add a depthwise convolution with a scale for each channel."""
        shape = (*_window(x, kernel, (stride, stride), padding), x.shape[3])
        y = self._signal("depthwise", shape, activation)
        inputs = [x.tensor, *self._weights(x, (1, *kernel, x.shape[3]), axis=3)]
        fields = _moving((stride, stride), padding) | {"fusedActivationFunction": activation}
        options = "DepthwiseConv2DOptions"
        self.graph.operator(
            "DEPTHWISE_CONV_2D", inputs, [y.tensor], options, depthMultiplier=1, **fields
        )
        return y

    def add(self, a: Signal, b: Signal) -> Signal:
        """Add an element-wise sum."""
        y = self._signal("add", a.shape, NONE, deviation=math.hypot(a.rms, b.rms))
        self.graph.operator("ADD", [a.tensor, b.tensor], [y.tensor], "AddOptions")
        return y

    def pool(self, x: Signal, kind: str, size: int) -> Signal:
        """MAX_POOL_2D or AVERAGE_POOL_2D over squares of `size` that do not overlap."""
        window = (size, size)
        shape = (*_window(x, window, window, VALID), x.shape[3])
        y = self._like(x, kind.lower(), shape)
        fields = _moving(window, VALID) | {"filterHeight": size, "filterWidth": size}
        self.graph.operator(kind, [x.tensor], [y.tensor], "Pool2DOptions", **fields)
        return y

    def dense(self, x: Signal, depth: int, gain: float) -> Signal:
        """A fully connected layer with one scale for all weights and outputs `gain` times wider."""
        weights = self._weights(x, (depth, math.prod(x.shape[1:])), axis=None, gain=gain)
        y = self._signal("dense", (1, depth), NONE, deviation=gain)
        self.graph.operator(
            "FULLY_CONNECTED", [x.tensor, *weights], [y.tensor], "FullyConnectedOptions"
        )
        return y

    def reshape(self, x: Signal, shape: tuple[int, ...]) -> Signal:
        """Add a RESHAPE to another shape."""
        y = self._like(x, "reshape", shape)
        self.graph.operator("RESHAPE", [x.tensor, self._integers("shape", shape)], [y.tensor])
        return y

    def transpose(self, x: Signal, axes: tuple[int, ...]) -> Signal:
        """Add a TRANSPOSE of the axes."""
        y = self._like(x, "transpose", tuple(x.shape[axis] for axis in axes))
        self.graph.operator("TRANSPOSE", [x.tensor, self._integers("axes", axes)], [y.tensor])
        return y

    def softmax(self, x: Signal) -> Signal:
        """Add a softmax over the last axis."""
        y = self._like(PROBABILITY, "softmax", x.shape)
        self.graph.operator("SOFTMAX", [x.tensor], [y.tensor], "SoftmaxOptions", beta=1.0)
        return y

    def sigmoid(self, x: Signal) -> Signal:
        """Add an element-wise sigmoid."""
        y = self._like(PROBABILITY, "sigmoid", x.shape)
        self.graph.operator("LOGISTIC", [x.tensor], [y.tensor])
        return y

    def to_uint8(self, x: Signal) -> Signal:
        """Add a QUANTIZE to uint8 that keeps the real values."""
        tensor = self.graph.tensor("uint8", x.shape, "uint8", x.scale, x.zero_point + 128)
        self.graph.operator("QUANTIZE", [x.tensor], [tensor], "QuantizeOptions")
        return replace(x, tensor=tensor, zero_point=x.zero_point + 128)

    def remember(self, x: Signal, variable: str, past: int) -> Signal:
        """Join the last `past` frames, kept in a resource variable, with the new frames `x`.

        Time is axis 1. The variable is read, and written back with the newest `past` frames.
        """
        graph = self.graph
        handle = graph.tensor(variable, (), "resource")
        graph.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", sharedName=variable)
        before = self._like(x, "before", (1, past, *x.shape[2:]))
        graph.operator("READ_VARIABLE", [handle], [before.tensor], "ReadVariableOptions")
        window = self._like(x, "window", (1, past + x.shape[1], *x.shape[2:]))
        parts = [before.tensor, x.tensor]
        graph.operator("CONCATENATION", parts, [window.tensor], "ConcatenationOptions", axis=1)
        newest = self._like(x, "newest", before.shape)
        begin = self._integers("begin", (0, -past, 0, 0))
        end = self._integers("end", window.shape)
        inputs = [window.tensor, begin, end, self._integers("strides", (1, 1, 1, 1))]
        masks: dict[str, Any] = {"beginMask": 0b1101, "endMask": 0b1111}
        graph.operator("STRIDED_SLICE", inputs, [newest.tensor], "StridedSliceOptions", **masks)
        graph.operator("ASSIGN_VARIABLE", [handle, newest.tensor], [], "AssignVariableOptions")
        return window

    def _weights(
        self, x: Signal, shape: tuple[int, ...], axis: int | None, gain: float = 1.0
    ) -> tuple[int, int]:
        """Weights and bias that map `x` to values with a standard deviation near `gain`."""
        channels = shape[axis or 0]
        taps = math.prod(shape) // channels
        values = self.random.integers(-127, 128, shape).astype(np.int8)
        even = gain / (x.rms * INT8_RMS * math.sqrt(taps))
        scales = even * self.random.uniform(0.5, 1.0, 1 if axis is None else channels)
        bias_scales = (scales * x.scale).astype(np.float32)
        bias = self.random.uniform(-0.5, 0.5, channels) / bias_scales
        return (
            self.graph.constant("weights", values, scales, axis=axis or 0),
            self.graph.constant("bias", bias.astype(np.int32), bias_scales),
        )

    def _signal(
        self, name: str, shape: tuple[int, ...], activation: int, deviation: float = 1.0
    ) -> Signal:
        if activation == RELU:
            scale, zero_point, rms = SPREAD * deviation / 255, -128, deviation / math.sqrt(2)
        else:
            scale, zero_point, rms = 2 * SPREAD * deviation / 255, -3, deviation
        tensor = self.graph.tensor(name, shape, "int8", scale, zero_point)
        return Signal(tensor, shape, scale, zero_point, rms)

    def _like(self, x: Signal, name: str, shape: tuple[int, ...]) -> Signal:
        tensor = self.graph.tensor(name, shape, "int8", x.scale, x.zero_point)
        return replace(x, tensor=tensor, shape=shape)

    def finish(self, *outputs: Signal | int, others: Sequence[Graph] = ()) -> bytes:
        """Write the file; `outputs` follow those that layers have added to the graph."""
        self.graph.outputs += [x if isinstance(x, int) else x.tensor for x in outputs]
        return write([self.graph, *others], f"{self.graph.name}: random weights")

    def _integers(self, name: str, values: tuple[int, ...]) -> int:
        return self.graph.constant(name, np.array(values, np.int32))


def small_cnn(seed: int = 1) -> bytes:
    """An image classifier: 16 x 16 x 3 in, ten probabilities out."""
    net = Net("small_cnn", seed)
    x = net.input((1, 16, 16, 3))
    x = net.conv(x, 16, kernel=(3, 3), stride=(2, 2))
    y = net.conv(net.depthwise(x, (3, 3)), 16, kernel=(1, 1), activation=NONE)
    x = net.pool(net.add(x, y), "MAX_POOL_2D", 2)
    x = net.pool(net.conv(x, 24, kernel=(1, 1)), "AVERAGE_POOL_2D", 4)
    x = net.softmax(net.dense(net.reshape(x, (1, 24)), 10, gain=8.0))
    return net.finish(x)


def small_streaming(seed: int = 2) -> bytes:
    """A detector over time: three frames of eight in, one probability (uint8) out."""
    net = Net("small_streaming", seed)
    init = Graph("init")
    net.graph.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    x = net.reshape(net.input((1, 3, 8)), (1, 3, 1, 8))
    x = remember_from(init, net, x, "frames", past=2)
    x = net.conv(x, 16, kernel=(5, 1), stride=(3, 1), padding=VALID)
    x = remember_from(init, net, x, "features", past=6)
    x = net.conv(net.depthwise(x, (7, 1), padding=VALID), 16, kernel=(1, 1))
    x = net.to_uint8(net.sigmoid(net.dense(x, 1, gain=2.0)))
    return net.finish(x, others=[init])


# Inverted residual blocks of MobileNetV2: expansion, depth, count, stride of the first block.
MOBILENET_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet_v2(seed: int = 3) -> bytes:
    """The image classifier MobileNetV2 1.0: 224 x 224 x 3 in, 1,000 probabilities out."""
    net = Net("mobilenet_v2", seed)
    return _mobilenet_v2(net, net.input((1, 224, 224, 3)))


def mobilenet_v2_nchw(seed: int = 3) -> bytes:
    """MobileNetV2 1.0 with an input of 3 x 224 x 224: channels first."""
    net = Net("mobilenet_v2_nchw", seed)
    return _mobilenet_v2(net, net.transpose(net.input((1, 3, 224, 224)), (0, 2, 3, 1)))


def _mobilenet_v2(net: Net, x: Signal) -> bytes:
    x = net.conv(x, 32, kernel=(3, 3), stride=(2, 2))
    for expansion, depth, count, stride in MOBILENET_V2:
        for index in range(count):
            x = _inverted_residual(net, x, expansion, depth, 1 if index else stride)
    x = net.pool(net.conv(x, 1280, kernel=(1, 1)), "AVERAGE_POOL_2D", 7)
    x = net.softmax(net.dense(net.reshape(x, (1, 1280)), 1000, gain=8.0))
    return net.finish(x)


def weights_300k(seed: int = 5) -> bytes:
    """A large file with few layers: 4 x 4 x 64 in, ten numbers out."""
    net = Net("weights_300k", seed)
    x = net.conv(net.input((1, 4, 4, 64)), 600, kernel=(3, 3))
    x = net.dense(net.reshape(net.pool(x, "MAX_POOL_2D", 4), (1, 600)), 10, gain=2.0)
    return net.finish(x)


def _inverted_residual(net: Net, x: Signal, expansion: int, depth: int, stride: int) -> Signal:
    y = x
    if expansion > 1:
        y = net.conv(y, expansion * x.shape[3], kernel=(1, 1))
    y = net.depthwise(y, (3, 3), stride=stride, activation=RELU)
    y = net.conv(y, depth, kernel=(1, 1), activation=NONE)
    return net.add(x, y) if x.shape == y.shape else y


def remember_from(init: Graph, net: Net, x: Signal, variable: str, past: int) -> Signal:
    """`Net.remember`, with random first values that the graph `init` writes to the variable."""
    first = net.random.integers(-128, 128, (1, past, *x.shape[2:])).astype(np.int8)
    handle = init.tensor(variable, (), "resource")
    values = init.constant("first", first, x.scale, x.zero_point)
    init.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", sharedName=variable)
    init.operator("ASSIGN_VARIABLE", [handle, values], [], "AssignVariableOptions")
    return net.remember(x, variable, past)


def _moving(stride: tuple[int, int], padding: int) -> dict[str, Any]:
    """Return the options of a window that moves over an image."""
    return {"padding": padding, "strideH": stride[0], "strideW": stride[1]}


def _window(
    x: Signal, kernel: tuple[int, int], stride: tuple[int, int], padding: int
) -> tuple[int, int, int]:
    """Return batch, height and width after a window has moved over `x`."""
    sizes = x.shape[1:3]
    if padding == VALID:
        sizes = tuple(size - k + 1 for size, k in zip(sizes, kernel, strict=True))
    height, width = (-(-size // s) for size, s in zip(sizes, stride, strict=True))
    return 1, height, width


MODELS: dict[str, Callable[[], bytes]] = {
    each.__name__: each for each in (small_cnn, small_streaming)
}
LARGE_MODELS: dict[str, Callable[[], bytes]] = {
    each.__name__: each for each in (mobilenet_v2, mobilenet_v2_nchw, weights_300k)
}


def main(arguments: list[str] | None = None) -> None:
    """Write models to a folder."""
    parser = argparse.ArgumentParser(prog="make_model", description="Make the project's models.")
    every = MODELS | LARGE_MODELS
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "names",
        nargs="*",
        default=list(MODELS),  # otherwise argparse treats NAME as required
        metavar="NAME",
        help=f"any of {', '.join(every)} (default: the small ones)",
    )
    args = parser.parse_args(arguments)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        if name not in every:
            parser.error(f"unknown model {name!r}; expected one of {', '.join(every)}")
        path = args.folder / f"{name}.tflite"
        path.write_bytes(every[name]())
        print(f"{path} {path.stat().st_size} bytes")


if __name__ == "__main__":
    try:
        main()
    except SetupError as error:
        raise SystemExit(f"make_model: {error}") from None
