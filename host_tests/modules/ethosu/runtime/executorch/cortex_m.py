# SPDX-License-Identifier: MIT
"""Programs of one cortex_m operator, and what ExecuTorch computes of it, in NumPy.

Arithmetic: backends/cortex_m of pytorch/executorch 1.5. A sum is rescaled in two steps: its product
with the multiplier is rounded to 31 bits, then divided by a power of two, ties away from zero.
"""

from collections.abc import Callable

import numpy as np

from .made import LAST, Case
from .program_writer import Method, Program

INPUT_OFFSET, OUTPUT_OFFSET, LOW, HIGH = 5, -7, -120, 119
# More than our kernels need, as exporters for a Cortex-M55 plan it.
SCRATCH = 2048


def requantize(sums: np.ndarray, multipliers: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    values = sums.astype(np.int64) << np.maximum(shifts, 0)
    high = (values * multipliers.astype(np.int64) + (1 << 30)) >> 31
    right = np.maximum(-shifts, 0)
    half = np.where(right > 0, 1 << np.maximum(right - 1, 0), 0)
    return np.sign(high) * ((np.abs(high) + half) >> right)


def finish(sums: np.ndarray, multipliers: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    values = requantize(sums, multipliers, shifts) + OUTPUT_OFFSET
    return np.clip(values, LOW, HIGH).astype(np.int8)


def windows(x: np.ndarray, size, stride, pad, dilation) -> np.ndarray:
    """[N, out H, out W, KH, KW, C] of an image with its offset, padded with zeros."""
    x = np.pad(x.astype(np.int64) + INPUT_OFFSET, ((0, 0), (pad[0],) * 2, (pad[1],) * 2, (0, 0)))
    covered = [(size[i] - 1) * dilation[i] + 1 for i in range(2)]
    out = [(x.shape[i + 1] - covered[i]) // stride[i] + 1 for i in range(2)]
    parts = [
        x[:, y * stride[0] :, k * stride[1] :][:, : covered[0] : dilation[0]][
            :, :, : covered[1] : dilation[1]
        ]
        for y in range(out[0])
        for k in range(out[1])
    ]
    return np.stack(parts, 1).reshape(x.shape[0], *out, *size, x.shape[-1])


class Operator:
    """A program that is built: tensors, numbers, and the call."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = Program()
        self.method: Method = self.program.forward

    def numbers(self, *shape: int) -> np.ndarray:
        return self.rng.integers(-128, 128, shape).astype(np.int8)

    def constant(self, array: np.ndarray) -> int:
        index = self.program.constant(array)
        return self.method.tensor(str(array.dtype), array.shape, constant=True, data=index)

    def image(self, array: np.ndarray) -> int:
        """A planned tensor whose bytes lie as this array's, [N, H, W, C]."""
        count, height, width, channels = array.shape
        return self.method.tensor("int8", (count, channels, height, width), LAST)

    def scales(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        multipliers = self.rng.integers(1 << 30, 1 << 31, count).astype(np.int32)
        return multipliers, self.rng.integers(-10, -5, count).astype(np.int32)

    def integers(self, *values: int) -> list[int]:
        return [self.method.number(value) for value in values]

    def pairs(self, *pairs: tuple[int, int]) -> list[int]:
        return [self.method.numbers(pair) for pair in pairs]

    def scratch(self) -> int:
        return self.method.tensor("uint8", (SCRATCH,))

    def case(self, name: str, arguments: list[int], x: np.ndarray, y: np.ndarray) -> Case:
        self.method.inputs, self.method.outputs = [arguments[0]], [arguments[-1]]
        self.method.kernel(f"cortex_m::{name}", arguments)
        return Case(self.program.encode(), [x], [y])


def conv2d(seed: int = 0, *, groups: int = 1, scratch: bool = True) -> Case:
    op = Operator(seed)
    stride, pad, dilation = [(1, 2), (2, 1), (2, 2)][seed % 3], (1, 2), [(1, 1), (2, 1)][seed % 2]
    x, weights = op.numbers(2, 9, 8, 4), op.numbers(6, 3, 2, 4 // groups)
    bias = op.rng.integers(-2000, 2000, 6).astype(np.int32)
    multipliers, shifts = op.scales(6)
    seen = windows(x, (3, 2), stride, pad, dilation)
    depth, each = 4 // groups, 6 // groups
    sums = [
        np.einsum(
            "nyxhwc,hwc->nyx",
            seen[..., o // each * depth : (o // each + 1) * depth],
            weights[o].astype(np.int64),
        )
        for o in range(6)
    ]
    y = finish(np.stack(sums, -1) + bias, multipliers, shifts)
    tables = [op.constant(each) for each in (weights, bias)]
    first = op.image(x)
    more = [op.constant(each) for each in (multipliers, shifts)]
    room = op.scratch() if scratch else op.method.tensor("uint8", (0,))
    out = op.image(y)
    arguments = [first, *tables, *op.pairs(stride, pad, dilation)]
    arguments += [*op.integers(INPUT_OFFSET, OUTPUT_OFFSET), *more, *op.integers(LOW, HIGH)]
    return op.case("quantized_conv2d", [*arguments, room, out, out], x, y)


def depthwise_conv2d(seed: int = 0) -> Case:
    op = Operator(seed)
    stride, pad, dilation = [(1, 2), (2, 1)][seed % 2], (1, 0), (1, 1)
    channels, multiplier = 6, [1, 2][seed % 2]
    x = op.numbers(1, 7, 8, channels // multiplier)
    weights = op.numbers(1, 3, 3, channels)
    bias = op.rng.integers(-2000, 2000, channels).astype(np.int32)
    multipliers, shifts = op.scales(channels)
    seen = np.repeat(windows(x, (3, 3), stride, pad, dilation), multiplier, -1)
    sums = np.einsum("nyxhwc,hwc->nyxc", seen, weights[0].astype(np.int64)) + bias
    y = finish(sums, multipliers, shifts)
    tables = [op.constant(each) for each in (weights, bias)]
    first = op.image(x)
    more = [op.constant(each) for each in (multipliers, shifts)]
    room, out = op.scratch(), op.image(y)
    arguments = [first, *tables, *op.pairs(stride, pad, dilation)]
    arguments += op.integers(multiplier, INPUT_OFFSET, OUTPUT_OFFSET)
    arguments += [*more, *op.integers(LOW, HIGH)]
    return op.case("quantized_depthwise_conv2d", [*arguments, room, out, out], x, y)


def transpose_conv2d(seed: int = 0) -> Case:
    op = Operator(seed)
    stride, pad, extra = (2, 2), (1, 0), [(0, 0), (1, 1)][seed % 2]
    x, weights = op.numbers(1, 4, 5, 3), op.numbers(4, 3, 3, 3)
    bias = op.rng.integers(-2000, 2000, 4).astype(np.int32)
    multipliers, shifts = op.scales(4)
    height = (4 - 1) * stride[0] - 2 * pad[0] + 3 + extra[0]
    width = (5 - 1) * stride[1] - 2 * pad[1] + 3 + extra[1]
    sums = np.zeros((1, height + 8, width + 8, 4), np.int64)
    for row in range(4):
        for column in range(5):
            pixel = x[0, row, column].astype(np.int64) + INPUT_OFFSET
            part = np.einsum("ohwc,c->hwo", weights.astype(np.int64), pixel)
            top, left = row * stride[0], column * stride[1]
            sums[0, top : top + 3, left : left + 3] += part
    sums = sums[:, pad[0] : pad[0] + height, pad[1] : pad[1] + width] + bias
    y = finish(sums, multipliers, shifts)
    tables = [op.constant(each) for each in (weights, bias)]
    first = op.image(x)
    more = [op.constant(each) for each in (multipliers, shifts)]
    rooms, out = [op.scratch(), op.scratch()], op.image(y)
    arguments = [first, *tables, *op.pairs(stride, pad, extra, (1, 1))]
    arguments += [*op.integers(INPUT_OFFSET, OUTPUT_OFFSET), *more, *op.integers(LOW, HIGH)]
    return op.case("quantized_transpose_conv2d", [*arguments, *rooms, out, out], x, y)


def linear(seed: int = 0) -> Case:
    """With a bias, or with sums that hold bias and input offset, as exports for MVE have them."""
    op = Operator(seed)
    x, weights = op.numbers(3, 20), op.numbers(5, 20)
    bias = op.rng.integers(-2000, 2000, 5).astype(np.int32)
    multipliers, shifts = op.scales(1)
    wide = weights.astype(np.int64)
    sums = (x.astype(np.int64) + INPUT_OFFSET) @ wide.T + bias
    y = finish(sums, multipliers, shifts)
    kernel_sum = (bias + INPUT_OFFSET * wide.sum(1)).astype(np.int32)
    first = op.method.tensor("int8", x.shape)
    tables = [op.constant(weights)]
    if seed % 2:
        tables += [op.constant(bias), op.method.number(None)]
    else:
        tables += [op.method.number(None), op.constant(kernel_sum)]
    out = op.method.tensor("int8", y.shape)
    arguments = [first, *tables, *op.integers(INPUT_OFFSET, 0, OUTPUT_OFFSET)]
    arguments += [op.method.numbers([int(multipliers[0])]), op.method.numbers([int(shifts[0])])]
    arguments += op.integers(HIGH, LOW)
    return op.case("quantized_linear", [*arguments, out, out], x, y)


def avg_pool2d(seed: int = 0) -> Case:
    """The mean of the pixels inside of the image, ties away from zero."""
    op = Operator(seed)
    size, stride, pad = [(2, 2), (3, 2), (3, 3)][seed % 3], [(2, 2), (1, 2)][seed % 2], (1, 1)
    x = op.numbers(2, 6, 7, 3)
    rows = (6 + 2 * pad[0] - size[0]) // stride[0] + 1
    columns = (7 + 2 * pad[1] - size[1]) // stride[1] + 1
    y = np.zeros((2, rows, columns, 3), np.int8)
    for row in range(rows):
        for column in range(columns):
            top, left = row * stride[0] - pad[0], column * stride[1] - pad[1]
            part = x[:, max(top, 0) : top + size[0], max(left, 0) : left + size[1]]
            count = part.shape[1] * part.shape[2]
            sums = part.astype(np.int64).sum((1, 2))
            y[:, row, column] = np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))
    first = op.image(x)
    arguments = [first, *op.pairs(size, stride, pad), *op.integers(0, 3, 1 << 30, 1)]
    room, out = op.scratch(), op.image(y)
    return op.case("quantized_avg_pool2d", [*arguments, room, out, out], x, y)


OPERATORS: dict[str, Callable[[int], Case]] = {
    "conv2d": conv2d,
    "conv2d of groups": lambda seed: conv2d(seed, groups=2),
    "depthwise_conv2d": depthwise_conv2d,
    "transpose_conv2d": transpose_conv2d,
    "linear": linear,
    "avg_pool2d": avg_pool2d,
}
