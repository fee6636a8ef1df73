# SPDX-License-Identifier: MIT
"""Programs move elements and keep state exactly."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.link.open import open_runner
from ethosu_tools.model.arrays import Feed
from ethosu_tools.sim.simulation import Simulation

from . import made
from .moves import FIRST, ZERO, branches, delay, joined, moving
from .program_writer import Program

NPU = "ethos-u55-128"


def run(program, x):
    with Simulation(program, NPU, coherence="strict") as simulation:
        return simulation.step([x])[0]


def tensor_of(x, order=FIRST):
    """Return the array's elements in the tensor's memory order."""
    return np.ascontiguousarray(x.transpose(order))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64"])
@pytest.mark.parametrize("order", [FIRST, made.LAST, (3, 1, 0, 2)])
@pytest.mark.parametrize("out_order", [FIRST, made.LAST])
def test_another_order_of_the_bytes(dtype, order, out_order):
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(dtype)
    for name in ("_to_dim_order_copy", "_clone_dim_order"):
        program = moving(
            f"dim_order_ops::{name}",
            [0, out_order],
            *(dtype, x.shape, order, x.shape, out_order),
        )
        found = run(program, tensor_of(x, order))
        np.testing.assert_array_equal(found, x.transpose(out_order), name)


# Operators, their arguments, sizes of input and output, and the error. The last has a window with
# more positions than 32 bits can count.
NO_MATCH = "shapes do not match:"
MISFITS = [
    ("aten::permute_copy", [(0, 1, 1, 3)], (2, 3, 4, 5), (2, 3, 4, 5), "(order|shapes) "),
    ("aten::permute_copy", [(0, 1, 2, 4)], (2, 3, 4, 5), (2, 3, 4, 5), "(order|shapes) "),
    ("aten::permute_copy", [(0, 1, 2)], (2, 3, 4, 5), (2, 3, 4, 5), "(order|shapes) "),
    ("aten::permute_copy", [(0, 2, 1, 3)], (2, 3, 4, 5), (2, 3, 4, 5), "(order|shapes) "),
    ("aten::slice_copy", [4, 0, 1, 1], (2, 3), (1, 3), ""),
    ("aten::slice_copy", [0, 1, 1, 1], (2, 3), (1, 3), ""),
    ("aten::slice_copy", [0, 0, 9, 1], (2, 3), (1, 3), ""),
    ("aten::slice_copy", [0, 0, 1, 0], (2, 3), (1, 3), ""),
    ("aten::slice_copy", [0, 0, 1, -1], (2, 3), (1, 3), ""),
    ("aten::slice_copy", [0, 2, 9, 1], (2, 3), (1, 3), ""),
    ("aten::expand_copy", [(3,), False], (2, 3), (3,), f"{NO_MATCH} 2x3 3$"),
    ("aten::expand_copy", [(4, 3), False], (2, 3), (4, 3), f"{NO_MATCH} 2x3 4x3$"),
    ("aten::expand_copy", [(3, 4), False], (3, 2), (3, 4), f"{NO_MATCH} 3x2 3x4$"),
    (
        "aten::avg_pool2d",
        [(1 << 20, 1 << 20), (1, 1), (1 << 19, 1 << 19), False, True, None],
        *((1, 1, 1, 1), (1, 1, 2, 2), f"{NO_MATCH} 1x1x1x1 1x1x2x2$"),
    ),
]


@pytest.mark.parametrize(("name", "arguments", "sizes", "out", "said"), MISFITS)
def test_what_does_not_fit_is_refused(name, arguments, sizes, out, said):
    program = moving(name, arguments, "float32", sizes, range(len(sizes)), out, range(len(out)))
    with pytest.raises(InputError, match=rf"instruction 0 \({name}\): {said}"):
        run(program, np.zeros(sizes, np.float32))


def test_a_view_of_channels_last_is_refused():
    program = moving("aten::view_copy", [[24]], "int8", (1, 2, 3, 4), made.LAST, (24,), (0,))
    with pytest.raises(InputError, match="a view of a tensor with another dimension order"):
        run(program, np.zeros((1, 3, 4, 2), np.int8))


@pytest.mark.parametrize("axes", [(0, 2, 3, 1), (3, 2, 1, 0), (-4, -1, 1, 2)])
@pytest.mark.parametrize("order", [FIRST, made.LAST])
def test_permute(axes, order):
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.int8)
    y = x.transpose([axis % 4 for axis in axes])
    program = moving("aten::permute_copy", [axes], "int8", x.shape, order, y.shape, FIRST)
    np.testing.assert_array_equal(run(program, tensor_of(x, order)), y)


def test_another_type_is_refused():
    program = Program()
    method = program.forward
    method.inputs, method.outputs = [method.tensor("int8", (4,))], [method.tensor("int16", (4,))]
    method.kernel("aten::clone", [0, method.number(None), 1, 1])
    with pytest.raises(InputError, match="tensors differ in type"):
        run(program.encode(), np.zeros(4, np.int8))


@pytest.mark.parametrize("order", [FIRST, made.LAST])
@pytest.mark.parametrize(
    ("axis", "start", "end", "step"),
    [(1, 1, 3, 1), (-1, None, None, 2), (3, -3, 1 << 62, 1), (2, -9, -1, 3), (0, 1, 2, 1 << 30)],
)
def test_slice(order, axis, start, end, step):
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.int16)
    part = [slice(None)] * 4
    part[axis] = slice(start, end, step)
    y = x[tuple(part)]
    program = moving(
        "aten::slice_copy",
        [axis, start, end, step],
        *("int16", x.shape, order, y.shape, made.LAST),
    )
    np.testing.assert_array_equal(run(program, tensor_of(x, order)), y.transpose(made.LAST))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cat(axis):
    rng = np.random.default_rng(axis + 1)
    parts = []
    for size in (2, 1, 3):
        shape = [2, 3, 4]
        shape[axis] = size
        parts.append(rng.normal(size=shape).astype(np.float32))
    y = np.concatenate(parts, axis)
    with Simulation(joined(axis, [x.shape for x in parts], y.shape), NPU) as simulation:
        np.testing.assert_array_equal(simulation.step(parts)[0], y)


@pytest.mark.parametrize(
    ("axis", "shapes", "result"),
    [
        (2, [(2, 3)], (2, 3)),
        (0, [(2, 3), (2, 4)], (4, 3)),
        (0, [(2, 3), (3, 3)], (4, 3)),
        (0, [(2, 3)], (4, 3)),
        (0, [(2, 3, 1), (2, 3)], (4, 3)),
    ],
)
def test_tensors_that_cannot_be_joined_are_refused(axis, shapes, result):
    with pytest.raises(InputError, match=r"instruction 0 \(aten::cat\): "):
        Simulation(joined(axis, shapes, result), NPU)


@pytest.mark.parametrize("order", [FIRST, made.LAST])
@pytest.mark.parametrize(
    ("sizes", "result"),
    [((1, 3, 1, 2), (4, 3, 5, 2)), ((3, 1), (2, 4, 3, 5)), ((), (1, 2, 3, 4))],
)
def test_expand(order, sizes, result):
    x = np.arange(np.prod(sizes)).reshape(sizes).astype(np.int16)
    own = tuple(range(len(sizes))) if len(sizes) < 4 else order
    program = moving("aten::expand_copy", [result, False], "int16", sizes, own, result, order)
    expected = np.broadcast_to(x, result).transpose(order)
    np.testing.assert_array_equal(run(program, tensor_of(x, own)), expected)


@pytest.mark.parametrize(
    "name",
    [
        "aten::view_copy",
        "aten::squeeze_copy",
        "aten::unsqueeze_copy",
        "executorch_prim::et_view",
    ],
)
@pytest.mark.parametrize("at", [None, 0], ids=["elsewhere", "at the same place"])
def test_a_view_is_the_same_bytes(name, at):
    x = np.arange(24).reshape(2, 3, 4).astype(np.int8)
    program = Program()
    method = program.forward
    method.inputs = [method.tensor("int8", x.shape)]
    method.outputs = [method.tensor("int8", (4, 6), at=at)]
    results = method.outputs * (1 if name.endswith("et_view") else 2)
    method.kernel(name, [0, method.numbers([4, 6]), *results])
    np.testing.assert_array_equal(run(program.encode(), x), x.reshape(4, 6))


def average(x, size, stride, pad, counts, divisor):
    """Average with sums in float32, line by line, like kernels/portable of pytorch/executorch."""
    shape = [(x.shape[i + 2] + 2 * pad[i] - size[i]) // stride[i] + 1 for i in range(2)]
    y = np.zeros((*x.shape[:2], *shape), np.float32)
    for at in np.ndindex(*y.shape):
        origin = [at[i + 2] * stride[i] - pad[i] for i in range(2)]
        total, count = np.float32(0), 0
        for row in range(origin[0], origin[0] + size[0]):
            for column in range(origin[1], origin[1] + size[1]):
                inside = 0 <= row < x.shape[2] and 0 <= column < x.shape[3]
                total = x[at[0], at[1], row, column] + total if inside else total
                count += counts or inside
        y[at] = total / np.float32(divisor or count)
    return y


@pytest.mark.parametrize("order", [FIRST, made.LAST])
@pytest.mark.parametrize(
    ("size", "stride", "pad", "counts", "divisor"),
    [
        ((2, 3), (1, 2), (1, 1), False, None),
        ((2, 2), (), (1, 0), True, None),
        ((8, 8), (1, 1), (0, 0), True, None),
        ((3, 2), (2, 1), (0, 1), True, 7),
    ],
)
def test_real_avg_pool2d(order, size, stride, pad, counts, divisor):
    x = np.random.default_rng(2).normal(0, 9, (2, 3, 8, 9)).astype(np.float32)
    y = average(x, size, stride or size, pad, counts, divisor)
    program = moving(
        "aten::avg_pool2d",
        [size, stride, pad, False, counts, divisor],
        *("float32", x.shape, order, y.shape, made.LAST),
    )
    np.testing.assert_array_equal(run(program, tensor_of(x, order)), y.transpose(made.LAST))


def test_a_tensor_of_a_list_is_read(raw, small_models):
    """A tensor that only a list reads stays live: one delegate's result outlives the next."""
    model = small_models["small_cnn"]
    (first,), (last,) = made.ends(model)
    program = Program()
    method = program.forward
    method.inputs = [method.tensor("int8", first.sizes, first.order) for _ in range(2)]
    results = [method.tensor("int8", last.sizes) for _ in range(2)]
    method.outputs = [method.tensor("int8", (2, *last.sizes[1:]))]
    for x, y in zip(method.inputs, results, strict=True):
        program.delegate(raw("u55").encode(), [x, y])
    values = [method.tensors(results), method.number(0)]
    method.kernel("aten::cat", [*values, *method.outputs, *method.outputs])
    cases = [made.quantised_case(model, b"", seed) for seed in range(2)]
    with Simulation(program.encode(), coherence="strict") as simulation:
        found = simulation.step([case.inputs[0] for case in cases])[0]
    np.testing.assert_array_equal(found, np.concatenate([case.outputs[0] for case in cases]))


@pytest.mark.parametrize("condition", [(True,), (False,), (True, True), (True, False)])
def test_a_branch_is_taken_if_all_elements_of_the_condition_are_true(condition):
    x = np.random.default_rng(3).normal(0, 99, 8).astype(np.float32)
    rounded = made.dequantize(made.quantize(x, ZERO), ZERO)
    with Simulation(branches(len(condition)), NPU, coherence="strict") as simulation:
        for _ in range(2):
            (y,) = simulation.step([np.array(condition), x])
            np.testing.assert_array_equal(y, x if all(condition) else rounded)


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


@pytest.mark.parametrize("initial", [0, 7])
def test_state_of_which_the_caller_writes_one_byte_is_state(initial):
    program = Program()
    method = program.forward
    data = program.initial_value(np.full(64, initial, np.int8)) if initial else 0
    one, more = method.tensor("int8", (1,), at=0), method.tensor("int8", (1, 64), at=64)
    state, y = method.tensor("int8", (1, 64), at=0, data=data), method.tensor("int8", (1, 64))
    method.inputs, method.outputs = [one, more], [y]
    method.kernel("cortex_m::maximum", [state, state, y, y])
    method.kernel("aten::copy_", [state, more, method.number(0), state], overload="")
    x, next_state = np.array([5], np.int8), np.arange(64, dtype=np.int8)[None] + 20
    with Simulation(program.encode(), NPU, coherence="strict") as simulation:
        for _ in range(2):
            for rest in (np.full(64, initial), next_state[0]):
                expected = np.concatenate([x, rest[1:]])[None]
                np.testing.assert_array_equal(simulation.step([x, next_state])[0], expected)
            simulation.reset()


@pytest.mark.parametrize("moves", [False, True], ids=["view", "MoveCall"])
@pytest.mark.parametrize(
    ("at", "fits"), [(0, True), (16, False), (64, True), (112, False), (128, True)]
)
def test_a_copy_between_ranges_that_overlap_is_refused(moves, at, fits):
    program = Program()
    method = program.forward
    x, y = method.tensor("int8", (64,), at=64), method.tensor("int8", (64,), at=at)
    method.inputs, method.outputs = [x], [y]
    if moves:
        method.move(x, y)
    else:
        method.kernel("aten::view_copy", [x, method.number(None), y, y])
    values = np.arange(64, dtype=np.int8)
    if fits:
        np.testing.assert_array_equal(run(program.encode(), values), values)
    else:
        with pytest.raises(InputError, match="overlap"):
            run(program.encode(), values)


# Values beyond int16, ties, infinities and NaN, which become limits and the zero point.
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


@pytest.mark.parametrize(
    ("dtype", "number"), [("int8", 1), ("int16", 2), ("uint8", 0), ("uint16", 27)]
)
@pytest.mark.parametrize("prefix", ["quantized_decomposed", "cortex_m"])
@pytest.mark.parametrize("where", ["sim", "qemu"])
def test_inputs_and_outputs_of_both_widths(tmp_path, where, prefix, dtype, number):
    """Inputs and outputs of both widths are exact with vectors, of which the last is not full."""
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
