# SPDX-License-Identifier: MIT
"""A model of one operator per branch, each with an input and an output of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from ethosu_tools.model.tflite.writer import Graph, write

SAME, VALID = 0, 1
SCALE, ZERO = 0.05, 3


class Branches:
    """Collects branches; `outputs` are their names, which are those of the output tensors."""

    def __init__(self) -> None:
        self.graph = Graph("branches")
        self.outputs: list[str] = []
        self._random = np.random.default_rng(5)

    def data(self) -> bytes:
        """The file."""
        return write([self.graph], "branches")

    def _branch(self, name: str, kind: str, shape, out, options, extra=(), **fields: Any) -> None:
        """An operator; the input is the first of its inputs unless `extra` has None for it."""
        graph = self.graph
        source = graph.tensor(f"{name} input", shape, "int8", SCALE, ZERO)
        scale, zero = (0.1, -4) if kind.endswith(("CONV_2D", "CONV")) else (SCALE, ZERO)
        target = graph.tensor(name, out, "int8", scale, zero)
        inputs = [source if each is None else each for each in extra] or [source]
        graph.operator(kind, inputs, [target], options, **fields)
        graph.inputs.append(source)
        graph.outputs.append(target)
        self.outputs.append(name)

    def _weights(self, shape, channels: int, axis: int, scales: int) -> list[int]:
        values = self._random.integers(-127, 128, shape).astype(np.int8)
        scale = self._random.uniform(0.001, 0.01, scales)
        bias = self._random.integers(-1000, 1000, channels).astype(np.int32)
        return [
            self.graph.constant("filter", values, scale, axis=axis),
            self.graph.constant("bias", bias, scale * SCALE),
        ]

    def conv(self, name, shape, kernel, stride, channels, padding, dilation=1) -> None:
        """CONV_2D with a scale for each channel."""
        weights = self._weights((channels, *kernel, shape[3]), channels, 0, channels)
        reach = [(each - 1) * dilation + 1 for each in kernel]
        self._branch(
            name,
            "CONV_2D",
            shape,
            (1, *_sizes(shape, reach, stride, padding), channels),
            "Conv2DOptions",
            [None, *weights],
            padding=padding,
            strideH=stride[0],
            strideW=stride[1],
            dilationHFactor=dilation,
            dilationWFactor=dilation,
            fusedActivationFunction=1,
        )

    def depthwise(self, name, shape, kernel, stride, padding) -> None:
        """DEPTHWISE_CONV_2D."""
        weights = self._weights((1, *kernel, shape[3]), shape[3], 3, shape[3])
        self._branch(
            name,
            "DEPTHWISE_CONV_2D",
            shape,
            (1, *_sizes(shape, kernel, stride, padding), shape[3]),
            "DepthwiseConv2DOptions",
            [None, *weights],
            padding=padding,
            strideH=stride[0],
            strideW=stride[1],
            depthMultiplier=1,
            dilationHFactor=1,
            dilationWFactor=1,
        )

    def transposed(self, name, shape, kernel, stride, channels, padding, scales=None) -> None:
        """TRANSPOSE_CONV; `scales`: 1 for one scale of the whole filter."""
        _, height, width, depth = shape
        size = (
            [height * stride, width * stride]
            if padding == SAME
            else [(height - 1) * stride + kernel[0], (width - 1) * stride + kernel[1]]
        )
        out = (1, *size, channels)
        weights = self._weights((channels, *kernel, depth), channels, 0, scales or channels)
        self._branch(
            name,
            "TRANSPOSE_CONV",
            shape,
            out,
            "TransposeConvOptions",
            [self._numbers(out), weights[0], None, weights[1]],
            padding=padding,
            strideH=stride,
            strideW=stride,
        )

    def nearest(self, name, shape, size, **options: bool) -> None:
        """RESIZE_NEAREST_NEIGHBOR."""
        out = (1, *size, shape[3])
        extra = [None, self._numbers(size)]
        kind = "RESIZE_NEAREST_NEIGHBOR"
        self._branch(name, kind, shape, out, "ResizeNearestNeighborOptions", extra, **options)

    def bilinear(self, name, shape, size, **options: bool) -> None:
        """RESIZE_BILINEAR."""
        out = (1, *size, shape[3])
        extra = [None, self._numbers(size)]
        self._branch(name, "RESIZE_BILINEAR", shape, out, "ResizeBilinearOptions", extra, **options)

    def blocks(self, name, kind, shape, block: int) -> None:
        """DEPTH_TO_SPACE or SPACE_TO_DEPTH."""
        _, height, width, depth = shape
        up = kind == "DEPTH_TO_SPACE"
        options = "DepthToSpaceOptions" if up else "SpaceToDepthOptions"
        out = (
            (1, height * block, width * block, depth // block**2)
            if up
            else (1, height // block, width // block, depth * block**2)
        )
        self._branch(name, kind, shape, out, options, blockSize=block)

    def average(self, name, shape, kernel, padding=VALID, stride=None) -> None:
        """AVERAGE_POOL_2D."""
        stride = stride or kernel
        self._branch(
            name,
            "AVERAGE_POOL_2D",
            shape,
            (1, *_sizes(shape, kernel, stride, padding), shape[3]),
            "Pool2DOptions",
            padding=padding,
            strideH=stride[0],
            strideW=stride[1],
            filterHeight=kernel[0],
            filterWidth=kernel[1],
        )

    def mean(self, name, shape, axes, keep: bool) -> None:
        """MEAN."""
        out = [1 if axis in axes else size for axis, size in enumerate(shape)]
        out = out if keep else [s for axis, s in enumerate(out) if axis not in axes]
        extra = [None, self._numbers(axes)]
        self._branch(name, "MEAN", shape, out, "ReducerOptions", extra, keepDims=keep)

    def reverse(self, name, shape, axes) -> None:
        """REVERSE_V2."""
        extra = [None, self._numbers(axes)]
        self._branch(name, "REVERSE_V2", shape, shape, "ReverseV2Options", extra)

    def _numbers(self, values) -> int:
        return self.graph.constant("numbers", np.array(values, np.int32))


def _sizes(shape, kernel, stride, padding):
    """Height and width of a window's results."""
    pairs = zip(shape[1:3], kernel, stride, strict=True)
    if padding == SAME:
        return [-(-size // step) for size, _, step in pairs]
    return [(size - each) // step + 1 for size, each, step in pairs]


def changeable() -> Branches:
    """Operators that Vela leaves to the CPU of an Ethos-U55, and the table's changes take."""
    model = Branches()
    model.transposed("stride 3", (1, 8, 8, 4), (3, 3), 3, 6, SAME)
    model.transposed("stride 4 kernel 8", (1, 4, 5, 4), (8, 8), 4, 6, SAME)
    model.transposed("stride 3 kernel 5", (1, 7, 5, 4), (5, 4), 3, 6, SAME, scales=1)
    model.transposed("stride 3 kernel 7 valid", (1, 6, 5, 3), (7, 5), 3, 5, VALID)
    model.transposed("stride 4 kernel 2", (1, 6, 5, 3), (2, 2), 4, 5, SAME)
    model.nearest("nearest 3", (1, 8, 8, 4), (24, 24), halfPixelCenters=True)
    model.nearest("nearest 3 by 1", (1, 4, 8, 4), (12, 8))
    model.nearest("nearest half", (1, 8, 8, 4), (4, 4))
    model.nearest("nearest third", (1, 9, 9, 4), (3, 3), halfPixelCenters=True)
    model.blocks("pixel shuffle", "DEPTH_TO_SPACE", (1, 5, 7, 18), 3)
    model.blocks("focus", "SPACE_TO_DEPTH", (1, 8, 16, 3), 4)
    model.conv("conv stride 4", (1, 32, 32, 3), (7, 7), (4, 4), 8, SAME)
    model.conv("conv stride 5", (1, 33, 31, 3), (3, 3), (5, 5), 8, SAME)
    model.depthwise("depthwise stride 4", (1, 16, 16, 8), (3, 3), (4, 4), SAME)
    model.depthwise("depthwise stride 5", (1, 17, 23, 8), (3, 5), (5, 5), SAME)
    model.depthwise("depthwise stride 6", (1, 20, 23, 8), (3, 5), (6, 6), VALID)
    model.average("average 300", (1, 300, 1, 8), (300, 1))
    model.mean("mean", (1, 8, 8, 4), (3,), keep=True)
    model.mean("mean without axis", (1, 6, 7, 5), (3,), keep=False)
    model.reverse("backwards", (1, 20, 8), (1,))
    model.reverse("mirrored", (1, 4, 6, 3), (-2,))
    return model


# The largest difference of each: factors that are no power of two are rounded by the reference.
NEAR = {"centres 4": 1, "centres 8": 1, "centres 2 by 4": 1, "corners 3": 3, "centres 5": 2}


def nearly() -> Branches:
    """RESIZE_BILINEAR in ways that Vela leaves to the CPU; the names are those of NEAR."""
    model = Branches()
    model.bilinear("centres 4", (1, 8, 8, 4), (32, 32), halfPixelCenters=True)
    model.bilinear("centres 8", (1, 5, 6, 3), (40, 48), halfPixelCenters=True)
    model.bilinear("centres 2 by 4", (1, 5, 6, 3), (10, 24), halfPixelCenters=True)
    model.bilinear("corners 3", (1, 8, 8, 4), (24, 24))
    model.bilinear("centres 5", (1, 6, 7, 4), (30, 35), halfPixelCenters=True)
    return model


def unchangeable() -> Branches:
    """Operators of the same kinds that the changes must leave alone."""
    model = Branches()
    model.nearest("align corners", (1, 8, 8, 4), (15, 15), alignCorners=True)
    model.nearest("2.5", (1, 8, 8, 4), (20, 20))
    model.bilinear("bilinear corners", (1, 8, 8, 4), (15, 15), alignCorners=True)
    model.bilinear("bilinear half", (1, 8, 8, 4), (4, 4), halfPixelCenters=True)
    model.conv("dilated", (1, 32, 32, 3), (3, 3), (1, 1), 8, SAME, dilation=2)
    model.conv("without padding", (1, 16, 16, 3), (4, 4), (4, 4), 8, VALID)
    model.average("padded", (1, 20, 20, 8), (10, 10), SAME, (1, 1))
    model.average("a prime", (1, 257, 1, 8), (257, 1))
    model.mean("other axes", (1, 8, 8, 4), (1, 2), keep=True)
    model.reverse("two axes", (1, 4, 6, 3), (1, 2))
    return model
