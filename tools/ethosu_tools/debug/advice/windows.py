# SPDX-License-Identifier: MIT
"""Changes of operators whose window moves over an image: convolutions, pools, means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # LiteRT's schema, which only a change needs
    from ...model.tflite.edit import Site


SAME, VALID = 0, 1  # the schema's Padding
# Operators that apply a window at each place of an image.
EACH_PLACE: dict[str, Any] = {"padding": VALID, "strideH": 1, "strideW": 1}
LARGEST_STRIDE = 3  # the NPU's; Vela emulates larger ones for VALID convolutions
LARGEST_SIDE = 256  # longest side of the NPU's pooling window without padding


def before(size: int, kernel: int, stride: int, *, same: bool) -> int:
    """Return the padding before an axis of `size`, as TFLite's ComputePadding does."""
    return total(size, kernel, stride) // 2 if same else 0


def total(size: int, kernel: int, stride: int) -> int:
    """Return the padding of an axis for SAME."""
    return max((-(-size // stride) - 1) * stride + kernel - size, 0)


def _padded(site: Site, kernel: tuple[int, int]) -> int:
    """Pad the input as SAME does."""
    _, height, width, _ = site.shape(site.source)
    strides = site.options.strideH, site.options.strideW
    paddings = [total(*axis) for axis in zip((height, width), kernel, strides, strict=True)]
    rows, columns = ((padding // 2, padding - padding // 2) for padding in paddings)
    return site.pad(site.source, rows, columns)


def _kernel(site: Site) -> tuple[int, int]:
    _, height, width, _ = site.shape(site.input(1))
    return height, width


def conv_2d(site: Site) -> bool:
    """Replace CONV_2D with padding by PAD and a convolution without padding.

    A pool of single pixels separates them: otherwise Vela 5.2 joins PAD and CONV_2D, and ends with
    "Non-passthrough operation (Conv2D) could not run on NPU", because the stride is too large.
    """
    options = site.options
    if options.padding != SAME or (options.dilationHFactor, options.dilationWFactor) != (1, 1):
        return False
    padded = _padded(site, _kernel(site))
    if padded != site.source:
        padded = site.copy(padded)
    site.repeat([padded, *site.old.inputs[1:]], site.target, padding=VALID)
    return True


def depthwise_conv_2d(site: Site) -> bool:
    """Replace a large stride of DEPTHWISE_CONV_2D by a smaller one and a slice of the result."""
    options = site.options
    if (options.dilationHFactor, options.dilationWFactor) != (1, 1):
        return False
    kernel = _kernel(site)
    padded = _padded(site, kernel) if options.padding == SAME else site.source
    strides = int(options.strideH), int(options.strideW)
    small = [max(s for s in range(1, LARGEST_STRIDE + 1) if stride % s == 0) for stride in strides]
    # The NPU's depthwise convolution has equal strides.
    step = math.gcd(*small)
    _, *size, _ = site.shape(padded)
    _, rows, columns, depth = site.shape(site.target)
    shape = [(length - each) // step + 1 for length, each in zip(size, kernel, strict=True)]
    middle = site.new_like(site.target, (1, *shape, depth))
    inputs = [padded, *site.old.inputs[1:]]
    site.repeat(inputs, middle, padding=VALID, strideH=step, strideW=step)
    remaining = [stride // step for stride in strides]
    last_row, last_column = (rows - 1) * remaining[0], (columns - 1) * remaining[1]
    site.strided_slice(
        middle,
        begin=(0, 0, 0, 0),
        end=(1, last_row + 1, last_column + 1, depth),
        strides=(1, *remaining, 1),
        out=site.target,
    )
    return True


def average_pool_2d(site: Site) -> bool:
    """Reshape a whole image with a long side for AVERAGE_POOL_2D to another rectangle."""
    count, height, width, depth = site.shape(site.source)
    options = site.options
    if (options.filterHeight, options.filterWidth) != (height, width) or count != 1:
        return False
    if site.shape(site.target)[1:3] != (1, 1):
        return False
    pixels = height * width
    rows = max(side for side in range(1, LARGEST_SIDE + 1) if pixels % side == 0)
    if pixels // rows > LARGEST_SIDE:
        return False
    image = site.reshape(site.source, (1, rows, pixels // rows, depth))
    window = {"filterHeight": rows, "filterWidth": pixels // rows}
    site.repeat([image], site.target, **EACH_PLACE, **window)
    return True


def mean(site: Site) -> bool:
    """Reshape an image to one column for MEAN of each pixel's channels."""
    axes = site.array(site.input(1))
    shape = site.shape(site.source)
    if axes is None or len(shape) != 4 or [int(axis) % 4 for axis in axes.ravel()] != [3]:
        return False
    count, height, width, depth = shape
    if count != 1:
        return False
    column = site.reshape(site.source, (1, height * width, 1, depth))
    means = site.new_like(site.target, (1, height * width, 1, 1))
    site.repeat([column, site.numbers([3])], means, keepDims=True)
    site.reshape(means, site.shape(site.target), site.target)
    return True
