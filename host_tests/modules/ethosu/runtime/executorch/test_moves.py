# SPDX-License-Identifier: MIT
"""Operators of programs that move elements, and state that a program keeps."""

import numpy as np
import pytest
from ethosu_tools.arrays import Feed
from ethosu_tools.errors import InputError
from ethosu_tools.runner import open_runner
from ethosu_tools.sim import Simulation

from . import made
from .program_writer import Program

NPU = "ethos-u55-128"
FIRST = (0, 1, 2, 3)
ZERO = made.End((8,), 0.5, 0)


def moving(name, arguments, dtype, sizes, order, out_sizes, out_order):
    """A program of one operator with these arguments between its input and its output."""
    program = Program()
    method = program.forward
    method.inputs = [method.tensor(dtype, sizes, order)]
    method.outputs = [method.tensor(dtype, out_sizes, out_order)]
    values = arguments(method)
    method.kernel(name, [*method.inputs, *values, *method.outputs, *method.outputs])
    return program.encode()


def run(program, x):
    with Simulation(program, NPU, coherence="strict") as simulation:
        return simulation.step([x])[0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
@pytest.mark.parametrize("order", [FIRST, made.LAST, (3, 1, 0, 2)])
@pytest.mark.parametrize("out_order", [FIRST, made.LAST])
@pytest.mark.parametrize("name", ["_to_dim_order_copy", "_clone_dim_order"])
def test_another_order_of_the_bytes(name, dtype, order, out_order):
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(dtype)
    program = moving(
        f"dim_order_ops::{name}",
        lambda method: [method.number(0), method.numbers(out_order)],
        *(dtype, x.shape, order, x.shape, out_order),
    )
    stored = np.ascontiguousarray(x.transpose(order))
    np.testing.assert_array_equal(run(program, stored), x.transpose(out_order))


@pytest.mark.parametrize("axes", [(0, 2, 3, 1), (3, 2, 1, 0), (-4, -1, 1, 2)])
@pytest.mark.parametrize("order", [FIRST, made.LAST])
def test_permute(axes, order):
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.int8)
    y = x.transpose([axis % 4 for axis in axes])
    program = moving(
        "aten::permute_copy",
        lambda method: [method.numbers(axes)],
        *("int8", x.shape, order, y.shape, FIRST),
    )
    np.testing.assert_array_equal(run(program, np.ascontiguousarray(x.transpose(order))), y)


@pytest.mark.parametrize("axes", [(0, 1, 1, 3), (0, 1, 2, 4), (0, 1, 2), (0, 2, 1, 3)])
def test_an_order_that_does_not_fit_is_refused(axes):
    sizes = (2, 3, 4, 5)
    program = moving(
        "aten::permute_copy",
        lambda method: [method.numbers(axes)],
        *("int8", sizes, FIRST, sizes, FIRST),
    )
    with pytest.raises(InputError, match=r"instruction 0 \(aten::permute_copy\): its "):
        run(program, np.zeros(sizes, np.int8))


def test_another_type_is_refused():
    program = Program()
    method = program.forward
    method.inputs, method.outputs = [method.tensor("int8", (4,))], [method.tensor("int16", (4,))]
    method.kernel("aten::clone", [0, method.number(None), 1, 1])
    with pytest.raises(InputError, match="its tensors differ in type"):
        run(program.encode(), np.zeros(4, np.int8))


def delay(initial=None):
    """A program whose output is the input of the run before, quantised."""
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


@pytest.mark.parametrize("initial", [None, np.linspace(-3, 3, 8, dtype=np.float32)])
def test_state_begins_with_zeros_or_the_values_in_the_file_and_is_kept(initial):
    x = np.random.default_rng(1).normal(0, 9, (4, 8)).astype(np.float32)
    before = np.zeros(8, np.float32) if initial is None else initial
    expected = made.quantize(np.stack([before, *x[:-1]]), ZERO)
    with Simulation(delay(initial), NPU, coherence="strict") as simulation:
        for _ in range(2):
            for step in range(4):
                np.testing.assert_array_equal(simulation.step([x[step]])[0], expected[step])
            simulation.reset()


# More than int16 holds, ties, infinities and no number: those become limits and the zero point.
REALS = np.array(
    [
        0.0,
        0.25,
        0.75,
        -0.25,
        -0.75,
        1e9,
        -1e9,
        np.inf,
        -np.inf,
        np.nan,
        17.3,
        -3.9,
        256.5,
        -1000,
        4e4,
    ],
    np.float32,
)


@pytest.mark.parametrize(("dtype", "number"), [("int8", 1), ("int16", 2)])
@pytest.mark.parametrize("prefix", ["quantized_decomposed", "cortex_m"])
@pytest.mark.parametrize("where", ["sim", "qemu"])
def test_ends_of_both_widths(tmp_path, where, prefix, dtype, number):
    """On the board with vectors, the last ones of which are not full."""
    limits = np.iinfo(dtype)
    low, high, zero = int(limits.min), int(limits.max), 3
    program = Program()
    method = program.forward
    x, q = method.tensor("float32", REALS.shape), method.tensor(dtype, REALS.shape)
    y = method.tensor("float32", REALS.shape)
    method.inputs, method.outputs = [x], [q, y]
    values = [method.number(value) for value in (0.5, zero, low, high, number)]
    method.kernel(f"{prefix}::quantize_per_tensor", [x, *values, q, q])
    more = [method.number(None)] if prefix == "quantized_decomposed" else []
    method.kernel(f"{prefix}::dequantize_per_tensor", [q, *values, *more, y, y])
    path = tmp_path / "ends.pte"
    path.write_bytes(program.encode())
    with open_runner(path, where, npu=NPU) as runner:
        ((quantised, real),) = runner.run(Feed((REALS[None],), 1, True))
    steps = np.rint(np.nan_to_num(REALS / np.float32(0.5), nan=0, posinf=1e9, neginf=-1e9))
    expected = np.clip(steps + zero, low, high).astype(dtype)
    np.testing.assert_array_equal(quantised, expected)
    dequantised = (expected.astype(np.float32) - zero) * np.float32(0.5)
    np.testing.assert_array_equal(real, dequantised)
