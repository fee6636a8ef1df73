# SPDX-License-Identifier: MIT
"""Changes of operators that enlarge, shrink or reverse images.

Only the change of RESIZE_BILINEAR adds a rounding.

Images are in NHWC order, so rows and columns of blocks can be arranged by reshaping alone: a row
of pixels is one pixel of width times depth channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .windows import EACH_PLACE, SAME, before

if TYPE_CHECKING:  # LiteRT's schema, which only a change needs
    from ...model.tflite.edit import Site

_CONVOLUTION = EACH_PLACE | {"dilationHFactor": 1, "dilationWFactor": 1}
_LARGEST_FACTOR = 63  # twice the factor must fit an int8 weight
_MOST_SLICES = 256  # largest size of a reversed axis


def rows_of_blocks(
    site: Site, rows: Sequence[int], height: int, width: int, depth: int, out: int
) -> None:
    """Interleave images: row i of each becomes a row of block row i."""
    lines = [site.reshape(row, (1, height, 1, width * depth)) for row in rows]
    site.reshape(site.join(lines, 2), (1, height * len(rows), width, depth), out)


def resize_nearest_neighbor(site: Site) -> bool:
    """Replace RESIZE_NEAREST_NEIGHBOR by a whole factor: copy rows and columns, or slice."""
    count, height, width, depth = site.shape(site.source)
    _, rows, columns, _ = site.shape(site.target)
    if count != 1 or site.options.alignCorners:
        return False
    if rows % height == 0 and columns % width == 0:
        _enlarge(site, rows // height, columns // width)
        return True
    if height % rows or width % columns:
        return False
    steps = height // rows, width // columns
    # The reference kernels of RESIZE_NEAREST_NEIGHBOR round the centre of a pixel down.
    first = [step // 2 if site.options.halfPixelCenters else 0 for step in steps]
    site.strided_slice(
        site.source,
        (0, *first, 0),
        (1, first[0] + (rows - 1) * steps[0] + 1, first[1] + (columns - 1) * steps[1] + 1, depth),
        (1, *steps, 1),
        site.target,
    )
    return True


def _enlarge(site: Site, down: int, across: int) -> None:
    _, height, width, depth = site.shape(site.source)
    line = site.source
    if across > 1:
        pixels = site.reshape(line, (1, height * width, 1, depth))
        line = site.join([pixels] * across, 2)
        width *= across
    rows_of_blocks(site, [line] * down, height, width, depth, site.target)


def resize_bilinear(site: Site) -> bool:
    """Replace RESIZE_BILINEAR by a whole factor by depthwise convolutions: columns, then rows.

    A convolution computes one of the pixels between two others. The result between both passes is
    rounded to int8, which the operator does not do, and halves are rounded away from the zero point
    instead of from zero.
    """
    count, height, width, depth = site.shape(site.source)
    _, rows, columns, _ = site.shape(site.target)
    centres = bool(site.options.halfPixelCenters)
    whole = rows % height == 0 and columns % width == 0
    if count != 1 or site.options.alignCorners or not whole or site.dtype(site.source) != "int8":
        return False
    across, down = columns // width, rows // height
    if max(across, down) > _LARGEST_FACTOR:
        return False
    image = site.source
    if across > 1:
        phases = _between(site, image, 2, across, centres=centres)
        image = site.reshape(site.join(phases, 3), (1, height, columns, depth))
    phases = _between(site, image, 1, down, centres=centres) if down > 1 else [image]
    rows_of_blocks(site, phases, height, columns, depth, site.target)
    return True


def reverse_v2(site: Site) -> bool:
    """Replace REVERSE_V2 of one axis by its slices, the last one first."""
    axes, shape = site.array(site.input(1)), site.shape(site.source)
    if axes is None or axes.size != 1 or not 0 < len(shape) <= 4:
        return False
    axis = int(axes.ravel()[0]) % len(shape)
    if not 1 < shape[axis] <= _MOST_SLICES:
        return False
    places = reversed(range(shape[axis]))
    slices = [site.strided_slice(site.source, *_line(shape, axis, place)) for place in places]
    site.reshape(site.join(slices, axis), shape, site.target)
    return True


def _between(site: Site, image: int, axis: int, factor: int, *, centres: bool) -> list[int]:
    """Compute the pixels at `factor` places between two, along an axis; the edge is repeated.

    Places are those of the reference kernels: (i + 1/2) / factor - 1/2, or i / factor.
    """
    shape = site.shape(image)
    depth = shape[3]
    parts = 2 * factor if centres else factor
    edges = [site.strided_slice(image, *_line(shape, axis, at)) for at in (0, shape[axis] - 1)]
    wide = site.join([edges[0], image, edges[1]] if centres else [image, edges[1]], axis)
    made = []
    for i in range(factor):
        place = 2 * i + 1 - factor + parts if centres else i  # in parts, from the first tap
        weights = np.zeros(3 if centres else 2, np.int8)
        first, rest = divmod(place, parts)
        weights[first] = parts - rest
        if rest:
            weights[first + 1] = rest
        kernel = (1, len(weights), 1, depth) if axis == 1 else (1, 1, len(weights), depth)
        values = np.repeat(weights, depth).reshape(kernel)
        scale = np.full(depth, 1 / parts, np.float32)
        made.append(site.new_like(image, shape))
        site.operator(
            "DEPTHWISE_CONV_2D",
            [
                wide,
                site.constant("weights", values, scale, axis=3),
                site.constant("bias", np.zeros(depth, np.int32), scale * site.scale(image)),
            ],
            [made[-1]],
            "DepthwiseConv2DOptions",
            depthMultiplier=1,
            **_CONVOLUTION,
        )
    return made


def _line(shape: Sequence[int], axis: int, at: int) -> tuple[list[int], list[int]]:
    """Return begin and end of a slice, such as a row or a column."""
    begin, end = [0] * len(shape), list(shape)
    begin[axis], end[axis] = at, at + 1
    return begin, end


def depth_to_space(site: Site) -> bool:
    """Replace DEPTH_TO_SPACE: the channels of each row of blocks become a row of pixels."""
    count, height, width, depth = site.shape(site.source)
    block = int(site.options.blockSize)
    if count != 1:
        return False
    part = depth // block
    rows = [
        site.strided_slice(site.source, (0, 0, 0, part * i), (1, height, width, part * (i + 1)))
        for i in range(block)
    ]
    rows_of_blocks(site, rows, height, width * block, part // block, site.target)
    return True


def space_to_depth(site: Site) -> bool:
    """Replace SPACE_TO_DEPTH: a row of pixels becomes the channels of a row of blocks."""
    count, height, width, depth = site.shape(site.source)
    block = int(site.options.blockSize)
    if count != 1:
        return False
    line = width * depth
    lines = site.reshape(site.source, (1, height // block, block, line))
    shape = 1, height // block, width // block, block * depth
    rows = [
        site.reshape(
            site.strided_slice(lines, (0, 0, i, 0), (1, height // block, i + 1, line)), shape
        )
        for i in range(block)
    ]
    joined = site.join(rows, 3)
    site.reshape(joined, site.shape(site.target), site.target)
    return True


def transpose_conv(site: Site) -> bool:
    """Replace TRANSPOSE_CONV by an ordinary convolution for each row of a block of the stride.

    Output row q * stride + r sees only every stride-th row of the kernel. The columns of a block
    are channels of one convolution.
    """
    filters, source, bias = site.input(1), site.input(2), site.input(3)
    weights = site.array(filters)
    count, height, width, depth = site.shape(source)
    _, rows, columns, channels = site.shape(site.target)
    down, across = int(site.options.strideH), int(site.options.strideW)
    same = site.options.padding == SAME
    if weights is None or weights.dtype != np.int8 or count != 1:
        return False
    if bias >= 0 and site.array(bias) is None:
        return False
    vertical = _phases(rows, weights.shape[1], down, same)
    horizontal = _phases(columns, weights.shape[2], across, same)
    around = _around(vertical, height), _around(horizontal, width)
    if around[0] is None or around[1] is None:
        return False
    padded = site.pad(source, around[0], around[1])
    made: list[int] = []
    for r in range(down):
        part = np.zeros((across, channels, vertical.size, horizontal.size, depth), np.int8)
        for c in range(across):
            for y, k in vertical.taps[r]:
                for x, m in horizontal.taps[c]:
                    part[c, :, y, x] = weights[:, k, m]
        shape = (across * channels, *part.shape[2:])
        inputs = [padded, site.repeated(filters, shape, part.reshape(shape), across)]
        if bias >= 0:
            values = site.array(bias)
            assert values is not None
            every = np.tile(values, across)
            inputs.append(site.repeated(bias, every.shape, every, across))
        else:
            inputs.append(-1)
        shape = (1, vertical.count, horizontal.count, across * channels)
        made.append(site.new_like(site.target, shape))
        site.operator(
            "CONV_2D",
            inputs,
            [made[-1]],
            "Conv2DOptions",
            **_CONVOLUTION,
            fusedActivationFunction=getattr(site.options, "fusedActivationFunction", 0),
        )
    size = vertical.count * down, horizontal.count * across
    whole = size == (rows, columns)
    out = site.target if whole else site.new_like(site.target, (1, *size, channels))
    rows_of_blocks(site, made, vertical.count, size[1], channels, out)
    if not whole:
        site.strided_slice(out, (0, 0, 0, 0), (1, rows, columns, channels), out=site.target)
    return True


class _Phases:
    """One axis of a transposed convolution; taps has pairs (place in the window, tap) by phase."""

    def __init__(self, first: int, size: int, count: int, taps: list[list[tuple[int, int]]]):
        self.first, self.size, self.count, self.taps = first, size, count, taps


def _phases(outputs: int, kernel: int, stride: int, same: bool) -> _Phases:
    """Split an axis: output q * stride + r sums input q + e - m times tap p + stride * m over m.

    e and p are quotient and remainder of (r + padding) / stride.
    """
    padding = before(outputs, kernel, stride, same=same)
    found = []
    for r in range(stride):
        e, p = divmod(r + padding, stride)
        found.append([(e - m, p + stride * m) for m in range(-(-(kernel - p) // stride))])
    places = [place for taps in found for place, _ in taps]
    first = min(places)
    size = max(places) - first + 1
    return _Phases(
        first, size, -(-outputs // stride), [[(i - first, k) for i, k in taps] for taps in found]
    )


def _around(phases: _Phases, size: int) -> tuple[int, int] | None:
    """Return the padding before and after an axis; None if the window leaves some input out."""
    after = phases.count - 1 + phases.first + phases.size - size
    return (-phases.first, after) if phases.first <= 0 <= after else None
