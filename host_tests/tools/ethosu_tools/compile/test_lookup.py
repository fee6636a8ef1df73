# SPDX-License-Identifier: MIT
"""Float operators between DEQUANTIZE and QUANTIZE become lookup tables of the NPU.

The reference is LiteRT on the model as it was converted, for all 256 codes.
"""

import numpy as np
import pytest
from ethosu_tools.compile import lookup, vela
from ethosu_tools.model import ModelFile, Tensor, debug_table
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

NPUS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
SHAPE = (1, 8, 4, 8)  # 256 values
ENDS = (0.03, 5), (0.02, -7)


class Net:
    """A graph of 8-bit tensors, with islands of floats."""

    def __init__(self, dtype="int8", shape=SHAPE):
        self.graph, self.dtype, self.shape = Graph("net"), dtype, shape
        self.input = self.tensor(*ENDS[0])
        self.graph.inputs = [self.input]

    def tensor(self, scale, zero_point):
        zero_point = {"int8": zero_point, "uint8": zero_point + 128}.get(self.dtype, 0)
        name = f"t{len(self.graph.tensors)}"
        return self.graph.tensor(name, self.shape, self.dtype, scale, zero_point)

    def floats(self, kind, inputs, options=None, **fields):
        y = self.graph.tensor(f"{kind}{len(self.graph.tensors)}", self.shape, "float32")
        self.graph.operator(kind, inputs, [y], options, **fields)
        return y

    def number(self, value):
        return self.graph.constant("number", np.full((1,), value, np.float32))

    def island(self, x, function, end=ENDS[1]):
        real = function(self, self.floats("DEQUANTIZE", [x]))
        y = self.tensor(*end)
        self.graph.operator("QUANTIZE", [real], [y])
        return y

    def model(self, *outputs):
        self.graph.outputs = list(outputs)
        return ModelFile(write([self.graph], "an island"), name="net.tflite")


def unary(*kinds):
    def apply(net, x):
        for kind in kinds:
            x = net.floats(kind, [x])
        return x

    return apply


def softsign(net, x):
    size = net.floats("ADD", [net.floats("ABS", [x]), net.number(1)], "AddOptions")
    return net.floats("DIV", [x, size], "DivOptions")


def swish_of_squares(net, x):
    """Make levels of which each reads the last one twice."""
    for _ in range(20):
        x = net.floats("MUL", [x, net.floats("LOGISTIC", [x])], "MulOptions")
    return x


FUNCTIONS = {
    "neg": unary("NEG"),
    "square root of the absolute value": unary("ABS", "SQRT"),
    "square root, also of negative numbers": unary("SQRT"),
    "elu": unary("ELU"),
    "exp(-x)": unary("NEG", "EXP"),
    "softsign": softsign,
    "swish": swish_of_squares,
}


def check(model, npus=NPUS, left=None):
    """Check that all codes are exact on each NPU, with these operators on the CPU."""
    oracle = Oracle(model)
    dtype = np.dtype(oracle.inputs[0].dtype)
    shape = oracle.inputs[0].shape
    codes = np.random.default_rng(0).permutation(np.prod(shape))
    x = codes.astype(f"uint{8 * dtype.itemsize}").view(dtype).reshape(shape)
    expected = oracle.step([x])
    for npu in npus:
        made = vela.compiled(model, npu)
        assert made.file.description.cpu_operators == (left or {}), npu
        with Simulation(made.file) as simulation:
            for found, right in zip(simulation.step([x]), expected, strict=True):
                np.testing.assert_array_equal(found, right, npu)
    return made


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_a_table(name, dtype):
    net = Net(dtype)
    made = check(net.model(net.island(net.input, FUNCTIONS[name])))
    assert len(made.facts["tables"]) == 1


@pytest.mark.parametrize("end", [(0.03, 127), (7.8e-9, -128), (20.0, 3)])
def test_zero_points_and_scales_at_the_limits(end):
    """Extreme ends, such as one sign only, and a scale that makes all codes alike, are exact."""
    net = Net()
    x = net.tensor(0.03, -128)
    net.graph.operator("ADD", [net.input, net.input], [x], "AddOptions", fusedActivationFunction=1)
    y = net.island(x, unary("NEG"), end)
    check(net.model(net.island(y, unary("NEG"), (0.05, 0))))


def test_tables_side_by_side_and_one_after_the_other():
    """Several tables in a model, also equal ones and ones with equal ends, are not confused."""
    net = Net()
    x = net.tensor(*ENDS[0])
    net.graph.operator("MUL", [net.input, net.input], [x], "MulOptions")
    functions = (unary("NEG"), unary("ABS"), unary("COS"), unary("NEG"))
    ys = [net.island(x, each) for each in functions]
    z = net.tensor(*ENDS[0])
    net.graph.operator("ADD", ys[:2], [z], "AddOptions")
    after = net.tensor(1 / 256, -128)
    net.graph.operator("LOGISTIC", [net.island(z, softsign)], [after])
    last = net.island(net.island(after, unary("NEG")), unary("SQUARE"), (1e-3, -128))
    made = check(net.model(*ys, last))
    assert len(made.facts["tables"]) == 7


def test_the_kernels_are_those_of_the_whole_model():
    """The whole model's kernels fill a table: those for ELU round some halves differently."""
    net = Net()
    check(net.model(net.island(net.input, FUNCTIONS["elu"]), net.island(net.input, unary("NEG"))))


def test_an_operator_like_the_stand_in_keeps_its_own_table():
    """A LEAKY_RELU of the model, equal to a stand-in, keeps its own table."""
    net = Net()
    x, y, ends = net.tensor(0.03, 0), net.tensor(0.02, 0), ((0.03, 0), (0.02, 0))
    net.graph.operator("ADD", [net.input, net.input], [x], "AddOptions")
    tensors = [Tensor("", SHAPE, "int8", float(np.float32(scale))) for scale, _ in ends]
    slope, _ = lookup._choose(tuple(tensors), b"", [], ())
    net.graph.operator("LEAKY_RELU", [x], [y], "LeakyReluOptions", alpha=slope)
    check(net.model(y, net.island(x, unary("NEG"), ends[1])))


@pytest.mark.parametrize(("name", "scale"), [("NEG", 0.03), ("NEG", 0.015), ("ABS", 0.03)])
def test_an_int16_function_is_an_operator_if_that_is_exact(name, scale):
    """An int16 function becomes an operator only if all 65,536 codes are exact."""
    net = Net("int16", (1, 64, 64, 16))
    made = check(net.model(net.island(net.input, unary(name), (scale, 0))))
    assert [row["values"] for row in made.facts["tables"]] == [65536]


@pytest.mark.parametrize(
    ("name", "scale"),
    [("EXP", 0.001), ("SQRT", 0.01), ("NEG", 0.06)],  # NEG rounds halves differently
)
def test_an_int16_function_that_no_operator_computes_stays(name, scale):
    net = Net("int16")
    model = net.model(net.island(net.input, unary(name), (scale, 0)))
    made = lookup.replace(model)
    assert made.tables == () and made.file.graph == model.graph


def test_floats_that_others_read_stay():
    net = Net()
    real = net.floats("DEQUANTIZE", [net.input])
    negative = net.floats("NEG", [real])
    y = net.tensor(*ENDS[1])
    net.graph.operator("QUANTIZE", [negative], [y])
    made = lookup.replace(net.model(y, real))
    assert [each.name for each in made.file.graph.operators] == [
        *("DEQUANTIZE", "RESHAPE", "LEAKY_RELU", "RESHAPE")
    ]
    assert made.numbers == (0, 2, 2, 2)
    check(net.model(y, real), left={"DEQUANTIZE": 1})


def channels(net, x):
    return net.floats("MUL", [x, net.graph.constant("c", np.ones(8, np.float32))], "MulOptions")


def another_input(net, x):
    other = net.tensor(*ENDS[0])
    net.graph.inputs.append(other)
    return net.floats("MUL", [x, net.floats("DEQUANTIZE", [other])], "MulOptions")


def softmax(net, x):
    return net.floats("SOFTMAX", [x], "SoftmaxOptions", beta=1.0)


@pytest.mark.parametrize("function", [channels, another_input, softmax, lambda net, x: x])
def test_other_functions_are_no_tables(function):
    net = Net()
    assert lookup.find(net.model(net.island(net.input, function)).graph) == []


def test_the_error_of_an_inference_names_the_operator_of_the_model():
    net = Net()
    x, y = net.island(net.input, unary("NEG")), net.tensor(0.04, 0)
    net.graph.operator("ADD", [x, x], [y], "AddOptions")
    table = vela.compiled(net.model(y), NPUS[0]).file.entries[debug_table.NAME]
    names = [entry.name for entry in debug_table.parse(table)]
    assert names == ["2 QUANTIZE t3", "3 ADD t4"]


def test_without_the_stand_ins_table_the_operators_stay(monkeypatch):
    """If Vela's output lacks a stand-in's table, the operators stay on the CPU, never wrong."""
    net = Net()
    model = net.model(net.island(net.input, unary("NEG")))
    monkeypatch.setattr(lookup, "_CONSTANTS", 7)
    made = vela.compiled(model, NPUS[0])
    assert made.file.description.cpu_operators == {"DEQUANTIZE": 1, "NEG": 1, "QUANTIZE": 1}
    assert made.facts["tables"] == []
