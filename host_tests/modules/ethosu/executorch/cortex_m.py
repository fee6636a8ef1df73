# SPDX-License-Identifier: MIT
"""Makes programs with one cortex_m operator, and computes ExecuTorch's result in NumPy.

Arithmetic: backends/cortex_m of pytorch/executorch 1.5. A sum is rescaled in two steps: its product
with the multiplier is rounded to 31 bits, then divided by a power of two, ties away from zero.
"""

from collections.abc import Callable, Sequence

import numpy as np
from ethosu_tools.sim.oracle import Oracle

from host_tests.modules.ethosu.runtime.kernels.maker import Maker

from .made import LAST, Case
from .program_writer import TENSOR, Method, Program

INPUT_OFFSET, OUTPUT_OFFSET, LOW, HIGH = 5, -7, -120, 119
# Exporters for Cortex-M55 plan this much scratch, which is more than our kernels need.
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
    """Cut an image with its offset, padded with zeros, into [N, out H, out W, KH, KW, C]."""
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
    """A program under construction: tensors, numbers and the call."""

    explicit = False
    """Whether images have the sizes N, H, W, C, as for operators that end with _nhwc."""

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
        """Add a planned tensor in this array's memory order, [N, H, W, C]."""
        if self.explicit:
            return self.method.tensor("int8", array.shape)
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
        self.method.kernel(f"cortex_m::{name}{'_nhwc' if self.explicit else ''}", arguments)
        return Case(self.program.encode(), [x], [y])

    def finished(
        self, name: str, given: Sequence[np.ndarray], arguments: list[int], out: int, y: np.ndarray
    ) -> Case:
        """Encode the program; its inputs are the first planned tensors among the arguments."""
        tensors = [index for index in arguments if self.is_planned(index)]
        self.method.inputs, self.method.outputs = tensors[: len(given)], [out]
        self.method.kernel(f"cortex_m::{name}", [*arguments, out, out])
        return Case(self.program.encode(), given, [y])

    def is_planned(self, index: int) -> bool:
        return self.method.values[index][0].value == TENSOR and 6 in self.method.values[index][1]


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
    """Make linear with a bias, or with sums of bias and input offset, as exported for MVE."""
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


def pooled(
    op: Operator, seed: int, result: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Draw a pool; returns image, result for each window's pixels inside, size, stride, pad."""
    size, stride, pad = [(2, 2), (3, 2), (3, 3)][seed % 3], [(2, 2), (1, 2)][seed % 2], (1, 1)
    x = op.numbers(2, 6, 7, 3)
    shape = [(x.shape[i + 1] + 2 * pad[i] - size[i]) // stride[i] + 1 for i in range(2)]
    y = np.zeros((2, *shape, 3), np.int8)
    for row, column in np.ndindex(*shape):
        top, left = row * stride[0] - pad[0], column * stride[1] - pad[1]
        y[:, row, column] = result(x[:, max(top, 0) : top + size[0], max(left, 0) : left + size[1]])
    return x, y, [size, stride, pad]


def mean(part: np.ndarray) -> np.ndarray:
    """Average each window, with ties away from zero."""
    count = part.shape[1] * part.shape[2]
    sums = part.astype(np.int64).sum((1, 2))
    return np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))


def avg_pool2d(seed: int = 0) -> Case:
    op = Operator(seed)
    x, y, window = pooled(op, seed, mean)
    arguments = [op.image(x), *op.pairs(*window), *op.integers(0, 3, 1 << 30, 1)]
    room, out = op.scratch(), op.image(y)
    return op.case("quantized_avg_pool2d", [*arguments, room, out, out], x, y)


def max_pool2d(seed: int = 0) -> Case:
    """Make max_pool2d: the largest pixel, clamped."""
    op = Operator(seed)
    x, y, window = pooled(op, seed, lambda part: np.clip(part.max((1, 2)), -100, 90))
    arguments = [op.image(x), *op.pairs(*window, (1, 1)), op.method.number(False)]
    out = op.image(y)
    return op.case(
        "quantized_max_pool2d", [*arguments, *op.integers(3, 3, -100, 90), out, out], x, y
    )


def pair(op: Operator, seed: int) -> tuple[list[np.ndarray], list[int], np.ndarray]:
    """Draw two tensors and parameters: same shape, one channel per pixel, or a constant."""
    x = op.numbers(2, 3, 4, 5)
    other = [x.shape, (1, 1, 1, 5), ()][seed % 3]
    y = op.numbers(*other)
    values = [op.image(x)]
    if seed % 3 == 2:
        values.append(op.constant(y))
        return [x], values, y
    values.append(op.image(y))
    return [x, y], values, y


def add(seed: int = 0) -> Case:
    op = Operator(seed)
    given, (first, second), y = pair(op, seed)
    zeros = [int(number) for number in op.rng.integers(-128, 128, 3)]
    multipliers = [int(number) for number in op.rng.integers(1 << 30, 1 << 31, 3)]
    shifts = [-1, int(-op.rng.integers(0, 4)), int(-19 + op.rng.integers(0, 3))]
    scaled = [
        requantize((array.astype(np.int64) - zero) << 20, np.int64(multiplier), np.int64(shift))
        for array, zero, multiplier, shift in zip(
            (given[0], y), zeros, multipliers, shifts, strict=False
        )
    ]
    sums = requantize(scaled[0] + scaled[1], np.int64(multipliers[2]), np.int64(shifts[2]))
    result = np.clip(sums + zeros[2], LOW, HIGH).astype(np.int8)
    out = op.image(result)
    arguments = [first, *op.integers(zeros[0], multipliers[0], shifts[0])]
    arguments += [second, *op.integers(zeros[1], multipliers[1], shifts[1])]
    arguments += op.integers(zeros[2], multipliers[2], shifts[2], LOW, HIGH)
    return op.finished("quantized_add", given, arguments, out, result)


def mul(seed: int = 0) -> Case:
    op = Operator(seed)
    given, (first, second), y = pair(op, seed)
    zeros = [int(number) for number in op.rng.integers(-128, 128, 3)]
    multiplier, shift = int(op.rng.integers(1 << 30, 1 << 31)), int(-op.rng.integers(4, 9))
    products = (given[0].astype(np.int64) - zeros[0]) * (y.astype(np.int64) - zeros[1])
    scaled = requantize(products, np.int64(multiplier), np.int64(shift))
    result = np.clip(scaled + zeros[2], -128, 127).astype(np.int8)
    out = op.image(result)
    arguments = [first, *op.integers(zeros[0]), second, *op.integers(zeros[1], zeros[2])]
    arguments += op.integers(multiplier, shift)
    return op.finished("quantized_mul", given, arguments, out, result)


def extreme(name: str) -> Callable[[int], Case]:
    def make(seed: int = 0) -> Case:
        op = Operator(seed)
        given, (first, second), y = pair(op, seed)
        result = getattr(np, name)(given[0], y)
        out = op.image(result)
        return op.finished(name, given, [first, second], out, result)

    return make


def activation(seed: int = 0) -> Case:
    op = Operator(seed)
    x, table = op.numbers(2, 3, 4, 5), op.numbers(256)
    first, numbers = op.image(x), op.constant(table)
    y = table[x.astype(np.int32) + 128]
    out = op.image(y)
    return op.finished("quantized_activation", [x], [first, numbers], out, y)


def softmax(seed: int = 0) -> Case:
    """Make softmax; TFLite's SOFTMAX is the reference, as ExecuTorch defines it in floats."""
    op = Operator(seed)
    x = op.numbers(6, 11)
    scale, zero = [0.05, 0.2, 0.9][seed % 3], 7
    return _softmax(op, x, tflite_softmax(x, scale, zero), scale, zero)


def softmax_of_many(scale: float) -> Case:
    """Make softmax of 1,000 classes with small differences: TFLite aborts for sums above 512."""
    op = Operator(0)
    x = op.numbers(5, 1000)
    x[0] = -3
    exponentials = np.exp(scale * x.astype(np.float64))
    shares = exponentials / exponentials.sum(-1, keepdims=True)
    y = np.clip(np.rint(256 * shares) - 128, -128, 127).astype(np.int8)
    return _softmax(op, x, y, scale, 0)


def _softmax(op: Operator, x: np.ndarray, y: np.ndarray, scale: float, zero: int) -> Case:
    mantissa, shift = np.frexp(scale * (1 << 26))
    first, out = op.method.tensor("int8", x.shape), op.method.tensor("int8", y.shape)
    lowest = -((31 << 26) >> int(shift))
    arguments = op.integers(-1, zero, -128, round(float(mantissa) * (1 << 31)), int(shift), lowest)
    return op.finished("softmax", [x], [first, *arguments], out, y)


def tflite_softmax(x: np.ndarray, scale: float, zero: int) -> np.ndarray:
    """Compute TFLite's reference SOFTMAX."""
    maker = Maker(np.random.default_rng(0))
    given, found = (
        maker.input(x.shape, "int8", scale, zero),
        maker.output(x.shape, "int8", 1 / 256, -128),
    )
    maker.operator("SOFTMAX", [given], [found], "SoftmaxOptions", beta=1.0)
    (y,) = Oracle(maker.finish().model).step([x])
    return y


def batch_matmul(seed: int = 0) -> Case:
    op = Operator(seed)
    x, y = op.numbers(3, 4, 7), op.numbers(3, 5, 7)
    multiplier, shift = int(op.rng.integers(1 << 30, 1 << 31)), int(-op.rng.integers(6, 11))
    sums = np.einsum("bmk,bnk->bmn", x.astype(np.int64) + 5, y.astype(np.int64) - 9)
    result = requantize(sums, np.int64(multiplier), np.int64(shift)) - 3
    result = np.clip(result, -128, 127).astype(np.int8)
    first, second = (op.method.tensor("int8", each.shape) for each in (x, y))
    room, out = op.scratch(), op.method.tensor("int8", result.shape)
    arguments = [first, *op.integers(5), second, *op.integers(-9, -3, multiplier, shift), room]
    return op.finished("quantized_batch_matmul", [x, y], arguments, out, result)


def pad(seed: int = 0) -> Case:
    op = Operator(seed)
    if seed % 2:
        x, before, behind = op.numbers(2, 3, 4, 5), (0, 1, 2, 3), (1, 0, 2, 0)
        first = op.image(x)
        y = np.pad(x, list(zip(before, behind, strict=True)), constant_values=-7)
        out = op.image(y)
    else:
        x, before, behind = op.numbers(4, 5), (0, 0, 1, 2), (0, 0, 0, 3)
        first = op.method.tensor("int8", x.shape)
        y = np.pad(x, list(zip(before, behind, strict=True))[2:], constant_values=-7)
        out = op.method.tensor("int8", y.shape)
    arguments = [first, *op.pairs(before, behind), *op.integers(-7)]
    return op.finished("pad", [x], arguments, out, y)


def transpose(seed: int = 0) -> Case:
    op = Operator(seed)
    x, axes = op.numbers(2, 3, 4, 5), tuple(int(axis) for axis in op.rng.permutation(4))
    y = np.ascontiguousarray(x.transpose(axes))
    first, out = op.method.tensor("int8", x.shape), op.method.tensor("int8", y.shape)
    return op.finished("transpose", [x], [first, op.method.numbers(axes)], out, y)


def explicit(make: Callable[[int], Case]) -> Callable[[int], Case]:
    """Return the same operator with its explicit layout."""

    def made(seed: int = 0) -> Case:
        Operator.explicit = True
        try:
            return make(seed)
        finally:
            Operator.explicit = False

    return made


OPERATORS: dict[str, Callable[[int], Case]] = {
    "conv2d": conv2d,
    "conv2d of groups": lambda seed: conv2d(seed, groups=2),
    "depthwise_conv2d": depthwise_conv2d,
    "transpose_conv2d": transpose_conv2d,
    "linear": linear,
    "avg_pool2d": avg_pool2d,
    "max_pool2d": max_pool2d,
    "add": add,
    "mul": mul,
    "minimum": extreme("minimum"),
    "maximum": extreme("maximum"),
    "activation": activation,
    "softmax": softmax,
    "batch_matmul": batch_matmul,
    "pad": pad,
    "transpose": transpose,
} | {
    f"{make.__name__} of explicit layout": explicit(make)
    for make in (conv2d, depthwise_conv2d, transpose_conv2d, avg_pool2d, max_pool2d)
}
