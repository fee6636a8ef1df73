# SPDX-License-Identifier: MIT
"""Tests conversions between types, int32 inputs and outputs, and inputs that are no tensors.

The reference is NumPy's conversion of one number, and ExecuTorch's own runtime with its portable
kernels, if it is installed.
"""

import subprocess

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.link.open import open_runner
from ethosu_tools.model import ModelFile, describe
from ethosu_tools.model.arrays import Feed
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit import needs

from . import made
from .moves import CONVERTERS, FIRST, conversion
from .program_writer import STRING, Program, bundle

NPU = "ethos-u55-128"
TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
SHAPE = (2, 3, 4, 5)

# Runs NUMBER.pte on the inputs NUMBER.npz in ExecuTorch's runtime; writes NUMBER.out.npz.
EXECUTORCH = """
import pathlib, sys
import numpy as np, torch
from executorch.extension.pybindings import portable_lib
import executorch.kernels.quantized
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pte")):
    with np.load(path.with_suffix(".npz")) as file:
        arrays = [file[str(i)] for i in range(len(file))]
    inputs = [torch.from_numpy(x) if x.ndim else x.item() for x in arrays]
    program = portable_lib._load_for_executorch_from_buffer(path.read_bytes())
    outputs = [each.numpy() for each in program.forward(inputs)]
    np.savez(path.with_suffix(".out.npz"), *outputs)
"""


def executorch(folder, cases):
    """Run pairs of program and inputs in ExecuTorch's runtime."""
    python = needs.python_with("executorch", "EXECUTORCH_PYTHON")
    for number, (program, inputs) in enumerate(cases):
        (folder / f"{number:03}.pte").write_bytes(program)
        np.savez(folder / f"{number:03}.npz", **{str(i): x for i, x in enumerate(inputs)})
    subprocess.run([python, "-c", EXECUTORCH, folder], check=True, capture_output=True)
    for number in range(len(cases)):
        with np.load(folder / f"{number:03}.out.npz") as file:
            yield list(file.values())


def ours(program, inputs):
    with Simulation(program, NPU, coherence="strict") as simulation:
        return simulation.step(list(inputs))


def assert_same_bits(found, expected):
    """Check that arrays are equal, with zeros of the same sign; all NaN are alike."""
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


# ---- types ----


def values(dtype):
    """Return edges of all types, and random numbers, in this type."""
    rng = np.random.default_rng(7)
    count = np.prod(SHAPE)
    if dtype == "bool":
        return rng.integers(0, 2, SHAPE).astype(bool)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        edges = [limits.min, limits.max, 0, 1, limits.max - 1, limits.max // 3]
        edges += [-1, -129, 255, 256, 65521, 2**24 + 1, 2**33 + 5, -(2**53) - 1]
        edges = [each for each in edges if limits.min <= each <= limits.max]
        rest = rng.integers(limits.min, limits.max, count - len(edges), endpoint=True)
        return np.concatenate([np.array(edges, dtype), rest.astype(dtype)]).reshape(SHAPE)
    # Ties of float16 and float32, subnormal numbers, and the largest ones.
    edges = [0.0, -0.0, 2049, 2051, 65519.99, 65520, -65504, 2**-24, 1.5 * 2**-24, 2**-25, 3e-8]
    edges += [1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-24, 16777217, 0.5, -0.99, 2**-14 - 2**-26, 1e-42]
    rest = rng.normal(0, 1, count - len(edges)) * 10.0 ** rng.integers(-8, 5, count - len(edges))
    with np.errstate(over="ignore"):
        return np.concatenate([edges, rest]).astype(dtype).reshape(SHAPE)


def convertible(dtype, to):
    """Select numbers whose conversion is defined: those inside an integer's limits."""
    x = values(dtype)
    if x.dtype.kind == "f" and np.dtype(to).kind in "iu":
        limits = np.iinfo(to)
        high = min(float(limits.max) * (1 - 2**-11), float(np.finfo(dtype).max))
        x = np.clip(x.astype(np.float64), float(limits.min), high).astype(dtype)
    if x.dtype.kind == "f" and np.dtype(to).kind in "fb":
        x.flat[-3:] = np.inf, -np.inf, np.nan
    return x


def converted(x, to):
    """Convert as C does; a float16 is made from a float32."""
    with np.errstate(over="ignore"):
        return (x.astype(np.float32) if to == "float16" else x).astype(to)


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_each_type_becomes_each_other(dtype, to):
    x = convertible(dtype, to)
    for name in CONVERTERS:
        assert_same_bits(ours(conversion(name, x, to), [x])[0], converted(x, to))


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("order", [FIRST, made.LAST, (3, 1, 0, 2)])
def test_the_order_of_the_bytes_may_change_with_the_type(dtype, order):
    x = convertible(dtype, "int16")
    program = conversion(CONVERTERS[0], x, "int16", order, made.LAST)
    (found,) = ours(program, [np.ascontiguousarray(x.transpose(order))])
    np.testing.assert_array_equal(found, converted(x, "int16").transpose(made.LAST))


@pytest.mark.parametrize("to", ["uint8", "int8", "int32", "int64"])
def test_a_number_that_does_not_fit_becomes_the_nearest_limit(to):
    limits = np.iinfo(to)
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan, limits.max * 2.0, -1.5], np.float32)
    high, low = limits.max, limits.min
    expected = np.array([high, low, high, low, 0, high, max(-1, low)], to)
    np.testing.assert_array_equal(
        ours(conversion(CONVERTERS[0], x, to, (0,), (0,)), [x])[0], expected
    )


def test_a_number_is_converted_on_a_board(tmp_path):
    """Conversions on a board give the same results as on the PC."""
    x = np.arange(-60, 60, dtype=np.int64).reshape(SHAPE) * 7919
    for to in ("int32", "float16", "float32", "bool"):
        path = tmp_path / f"{to}.pte"
        path.write_bytes(conversion(CONVERTERS[0], x, to))
        with open_runner(path, "qemu", npu=NPU) as runner:
            ((found,),) = runner.run(Feed((x[None],), 1, True))
        assert_same_bits(found, converted(x, to))


def test_state_of_another_type_is_converted():
    program = Program()
    method = program.forward
    x, state = method.tensor("int32", (4,)), method.tensor("float32", (4,))
    method.inputs, method.outputs = [x], [method.tensor("float32", (4,))]
    method.kernel("aten::clone", [state, method.number(None), *method.outputs * 2])
    method.kernel("aten::copy_", [state, x, method.number(False), state], overload="")
    data = program.encode()
    first, second = np.array([[1, -2, 3, 2**24 + 1], [0, 0, 0, 0]], np.int32)
    with Simulation(data, NPU, coherence="strict") as simulation:
        np.testing.assert_array_equal(simulation.step([first])[0], np.zeros(4))
        np.testing.assert_array_equal(simulation.step([second])[0], first.astype(np.float32))


@pytest.mark.parametrize(("dtype", "to"), [("int8", "uint16"), ("uint16", "float32")])
def test_a_type_that_executorch_does_not_convert_is_refused(dtype, to):
    x = np.zeros(SHAPE, dtype)
    with pytest.raises(InputError, match=rf"converts {dtype} to {to}: expected bool, int8 to int"):
        ours(conversion(CONVERTERS[0], x, to), [x])


@pytest.mark.parametrize("sizes", [(4, 3), (12,), (3, 4, 1)])
def test_another_shape_is_refused(sizes):
    program = Program()
    method = program.forward
    method.inputs, method.outputs = [method.tensor("int8", (3, 4))], [method.tensor("int16", sizes)]
    numbers = [method.number(False), method.number(None)]
    method.kernel(CONVERTERS[1], [*method.inputs, *numbers, *method.outputs * 2])
    with pytest.raises(InputError, match=r"_to_copy\): shapes do not match: 3x4 "):
        ours(program.encode(), [np.zeros((3, 4), np.int8)])


@pytest.mark.slow
def test_conversions_equal_executorchs(tmp_path):
    pairs = [(dtype, to) for dtype in TYPES for to in TYPES]
    cases = []
    for dtype, to in pairs:
        x = convertible(dtype, to)
        cases.append((conversion(CONVERTERS[0], x, to), [x]))
    for case, pair, expected in zip(cases, pairs, executorch(tmp_path, cases), strict=True):
        try:
            assert_same_bits(ours(*case)[0], expected[0])
        except AssertionError as error:
            raise AssertionError(f"{pair[0]} to {pair[1]}: {error}") from None


# ---- int32 ends ----

REALS = np.concatenate(
    [
        np.array([0, 0.25, 0.75, -0.25, 1e9, -1e9, 5e8, -5e8, 17.3, 123456.7], np.float32),
        np.random.default_rng(3).normal(0, 1e6, 100).astype(np.float32),
        np.random.default_rng(4).normal(0, 1e8, 100).astype(np.float32),
    ]
)


def ends(scale, zero, low, high, real=True):
    """Make a program that quantises to int32, and one that dequantises."""
    program = Program()
    method = program.forward
    q, x = method.tensor("int32", REALS.shape), method.tensor("float32", REALS.shape)
    values = [method.number(value) for value in (scale, zero, low, high, 3)]
    method.inputs, method.outputs = ([x], [q]) if real else ([q], [x])
    numbers = values if real else [*values, method.number(None)]
    name = made.QUANTIZE if real else made.DEQUANTIZE
    method.kernel(name, [*method.inputs, *numbers, *method.outputs * 2])
    return program.encode()


def quantised(x, scale, zero, low, high):
    """Quantise in float32, including the sum with the zero point."""
    steps = np.rint(x * (np.float32(1) / np.float32(scale)))
    return np.clip((np.float32(zero) + steps).astype(np.int64), low, high).astype(np.int32)


LOW, HIGH = -(2**31), 2**31 - 1
ENDS = [(0.25, 0, LOW, HIGH), (1.0, 16777217, LOW, HIGH), (3e-5, -7, LOW, HIGH), (2.0, 5, -9, 99)]


@pytest.mark.parametrize("where", ["sim", "qemu"])
@pytest.mark.parametrize("numbers", ENDS)
def test_ends_of_32_bits(tmp_path, where, numbers):
    q = quantised(REALS, *numbers)
    scale, zero = np.float32(numbers[0]), numbers[1]
    # The difference has 32 bits before its conversion to float, as in ExecuTorch.
    difference = (q.astype(np.int64) - zero).astype(np.int32)
    for real, x, y in ((True, REALS, q), (False, q, difference.astype(np.float32) * scale)):
        path = tmp_path / f"{real}.pte"
        path.write_bytes(ends(*numbers, real))
        with open_runner(path, where, npu=NPU) as runner:
            ((found,),) = runner.run(Feed((x[None],), 1, True))
        assert_same_bits(found, y)


def test_infinities_and_nan_become_limits_and_the_zero_point():
    x = REALS.copy()
    x[:4] = np.inf, -np.inf, np.nan, 3e38
    (found,) = ours(ends(1.0, 5, LOW, HIGH), [x])
    np.testing.assert_array_equal(found[:4], [HIGH, LOW, 5, HIGH])


@pytest.mark.slow
def test_ends_of_32_bits_equal_executorchs(tmp_path):
    cases = []
    for numbers in ENDS:
        cases.append((ends(*numbers), [REALS]))
        cases.append((ends(*numbers, real=False), [quantised(REALS, *numbers)]))
    for case, (expected,) in zip(cases, executorch(tmp_path, cases), strict=True):
        assert_same_bits(ours(*case)[0], expected)


# ---- inputs that are not tensors ----

X, Y = np.array([[1, 2, 3], [4, 5, 6]], np.int8), np.array([[7], [-8]], np.int8)
JOINED = np.concatenate([X, Y], 1)


def with_numbers(*more):
    """Make a program that also lists the numbers and other values it was exported with."""
    program = Program()
    method = program.forward
    x, y = (method.tensor("int8", array.shape) for array in (X, Y))
    numbers = [method.number(value) for value in (1, True, 0.5)]
    rest = [method.value(STRING, {0: "mean"}) if each else method.number(each) for each in more]
    method.inputs = [numbers[0], x, *numbers[1:], *rest, y]
    method.outputs = [method.tensor("int8", JOINED.shape)]
    method.kernel("aten::cat", [method.tensors([x, y]), numbers[0], *method.outputs * 2])
    return program


def test_inputs_that_are_not_tensors_are_left_out():
    data = with_numbers(None, "mean").encode()
    with Simulation(data, NPU, coherence="strict") as simulation:
        assert [tensor.shape for tensor in simulation.inputs] == [X.shape, Y.shape]
        np.testing.assert_array_equal(simulation.step([X, Y])[0], JOINED)
    assert [(each.name, each.shape) for each in describe(data).inputs] == [
        ("input0", X.shape),
        ("input1", Y.shape),
    ]


def test_a_scale_is_that_of_the_place_among_all_inputs():
    program = with_numbers()
    for place, scale in ((1, 0.5), (4, 0.25)):
        program.constant_method(f"input{place}_scale", scale)
        program.constant_method(f"input{place}_zp", place)
    with Simulation(program.encode(), NPU) as simulation:
        found = [(tensor.scale, tensor.zero_point) for tensor in simulation.inputs]
    assert found == [(0.5, 1), (0.25, 4)]


@pytest.mark.parametrize("states", [0, 1, 2, 255, 256])
def test_a_scale_is_that_of_the_place_among_all_outputs_of_the_graph(states):
    """An output's scale is found by its place among all outputs, as ExecuTorch counts them."""
    program = Program()
    method = program.forward
    x = method.tensor("int8", (1, 8))
    method.inputs, method.outputs = [x], [method.tensor("int8", (1, 8)) for _ in range(2)]
    for y in method.outputs:
        method.kernel("cortex_m::maximum", [x, x, y, y])
    for _ in range(states):
        state = method.tensor("int8", (1, 8))
        method.kernel("aten::copy_", [state, x, method.number(0), state], overload="")
    scales = dict.fromkeys(range(2), 0.125) | {states: 0.5, states + 1: 0.25}
    for place, scale in scales.items():
        program.constant_method(f"output{place}_scale", scale)
        program.constant_method(f"output{place}_zp", place - states)
    with Simulation(program.encode(), NPU) as simulation:
        found = [(tensor.scale, tensor.zero_point) for tensor in simulation.outputs]
    searched = states < 256  # limits a file's time
    assert found == ([(0.5, 0), (0.25, 1)] if searched else [(0.0, 0)] * 2)


def test_the_case_of_a_bundle_has_the_same_numbers():
    case = [1, X, 1, Y]
    program = Program()
    method = program.forward
    x, y = (method.tensor("int8", array.shape) for array in (X, Y))
    one, axis = method.number(1), method.number(1)
    method.inputs, method.outputs = [one, x, axis, y], [method.tensor("int8", JOINED.shape)]
    method.kernel("aten::cat", [method.tensors([x, y]), axis, *method.outputs * 2])
    for number, fits in ((1, True), (0, False)):
        case[2] = number
        file = ModelFile(bundle(program.encode(), {"forward": [(case, [JOINED])]}))
        (found,) = file.cases
        if fits:
            arranged = found.arrange(file.methods["forward"])
            assert len(arranged.inputs) == 2
            np.testing.assert_array_equal(arranged.inputs[1], Y)
        else:
            with pytest.raises(InputError, match="has 0 for an input that the program fixes at 1"):
                found.arrange(file.methods["forward"])


@pytest.mark.slow
def test_executorch_takes_only_the_same_numbers(tmp_path):
    inputs = [np.array(1), X, np.array(True), np.array(0.5), Y]
    ((found,),) = executorch(tmp_path, [(with_numbers().encode(), inputs)])
    np.testing.assert_array_equal(found, JOINED)
