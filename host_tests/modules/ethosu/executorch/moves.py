# SPDX-License-Identifier: MIT
"""Makes programs that move or convert elements, with control flow, and with state."""

from collections.abc import Iterable, Sequence

import numpy as np

from . import made
from .program_writer import Program

FIRST = (0, 1, 2, 3)
# Operators that change the type of a tensor.
CONVERTERS = ("dim_order_ops::_to_dim_order_copy", "aten::_to_copy")
ZERO = made.End((8,), 0.5, 0)


def moving(
    name: str,
    arguments: Iterable[int | Sequence[int] | None],
    dtype: str,
    sizes: Sequence[int],
    order: Sequence[int],
    out_sizes: Sequence[int],
    out_order: Sequence[int],
) -> bytes:
    """Make a program of one operator with these arguments between input and output."""
    program = Program()
    method = program.forward
    method.inputs = [method.tensor(dtype, sizes, order)]
    method.outputs = [method.tensor(dtype, out_sizes, out_order)]
    values = [
        method.number(each) if each is None or isinstance(each, int) else method.numbers(each)
        for each in arguments
    ]
    method.kernel(name, [*method.inputs, *values, *method.outputs, *method.outputs])
    return program.encode()


def conversion(
    name: str,
    x: np.ndarray,
    to: str,
    order: Sequence[int] = FIRST,
    out_order: Sequence[int] = FIRST,
) -> bytes:
    """Make a program that converts an input like `x`."""
    program = Program()
    method = program.forward
    method.inputs = [method.tensor(str(x.dtype), x.shape, order)]
    method.outputs = [method.tensor(to, x.shape, out_order)]
    extra = method.numbers(out_order) if "dim_order" in name else method.number(None)
    arguments = [*method.inputs, method.number(False), extra]
    method.kernel(name, [*arguments, *method.outputs, *method.outputs])
    return program.encode()


def joined(axis: int, shapes: Sequence[Sequence[int]], result: Sequence[int]) -> bytes:
    """Make a program that concatenates tensors."""
    program = Program()
    method = program.forward
    method.inputs = [method.tensor("float32", shape) for shape in shapes]
    method.outputs = [method.tensor("float32", result)]
    values = [method.tensors(method.inputs), method.number(axis)]
    method.kernel("aten::cat", [*values, *method.outputs, *method.outputs])
    return program.encode()


def branches(size: int) -> bytes:
    """Make y = condition ? x : x rounded to steps, as torch.cond is exported, with a final move."""
    program = Program()
    method = program.forward
    condition = method.tensor("bool", (size,))
    x, y = method.tensor("float32", (8,)), method.tensor("float32", (8,))
    one, other = method.tensor("int8", (8,)), method.tensor("float32", (8,))
    method.inputs, method.outputs = [condition, x], [y]
    method.jump_unless(condition, 3)
    method.kernel("aten::clone", [x, method.number(None), other, other])  # then
    method.jump_unless(method.number(False), 5)
    made.add_quantize(method, x, ZERO, one)  # else
    made.add_dequantize(method, one, ZERO, other)
    method.move(other, y)
    return program.encode()


def delay(initial: np.ndarray | None = None) -> bytes:
    """Make a program whose output is the input of the previous run, quantised."""
    program = Program()
    method = program.forward
    data = 0 if initial is None else program.initial_value(initial)
    x = method.tensor("float32", (8,))
    state = method.tensor("float32", (8,), data=data)
    y = method.tensor("int8", (8,))
    method.inputs, method.outputs = [x], [y]
    made.add_quantize(method, state, ZERO, y)
    method.kernel("aten::copy_", [state, x, method.number(0), state], overload="")
    return program.encode()


def examples() -> Iterable[bytes]:
    """Make one of each, for the campaigns."""
    shape, half = (2, 3, 4, 6), (2, 3, 4, 3)
    yield moving("aten::slice_copy", [3, 0, None, 2], "int8", shape, FIRST, half, made.LAST)
    pool = [(2, 2), (2, 2), (0, 0), False, True, None]
    yield moving("aten::avg_pool2d", pool, "float32", shape, made.LAST, (2, 3, 2, 3), FIRST)
    yield moving("aten::view_copy", [(24, 6)], "int8", shape, FIRST, (24, 6), (0, 1))
    for dtype, to in (("int64", "int32"), ("float32", "float16"), ("float16", "uint8")):
        yield conversion(CONVERTERS[0], np.zeros(shape, dtype), to, made.LAST)
    yield joined(1, [(2, 3), (2, 1)], (2, 4))
    yield branches(2)
    yield delay(np.zeros(8, np.float32))
