# SPDX-License-Identifier: MIT
"""Every kernel matches TFLite's reference kernels bit by bit, under ASan and UBSan."""

import re

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.sim.oracle import Oracle

from . import plan_writer, runner
from .maker import GENERATORS, NO_UINT8, Maker, make

# As far as they are chosen from a list, 50 cases have the options and types that 100 have. Windows
# are drawn by size: the kernels with windows of their own need 100 to have most sizes.
CASES = 50
WINDOW_CASES = dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"), 100)
MANY = 1000


@pytest.mark.parametrize("name", GENERATORS)
def test_equals_the_reference(run_cases, tmp_path, name):
    assert runner.check(run_cases, tmp_path, name, WINDOW_CASES.get(name, CASES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_equals_the_reference_on_many(run_cases, tmp_path, name):
    assert runner.check(run_cases, tmp_path, name, MANY) == []


@pytest.mark.parametrize("size", [(1, 1), (2, 3)])
def test_no_pixel_behind_the_last_is_read(run_cases, tmp_path, size):
    """TFLite reads a pixel behind the last, so the expected result comes from equal pixels."""
    maker = Maker(np.random.default_rng(1))
    x = maker.input((1, *size, 7), "int8")
    into = (55 * size[0], 65 * size[1])
    y = maker.like(x, (1, *into, 7))
    wanted = maker.constant(np.array(into), "int32")
    fields = {"alignCorners": False, "halfPixelCenters": False}
    maker.operator("RESIZE_BILINEAR", [x, wanted], [y], "ResizeBilinearOptions", **fields)
    pixel = np.arange(-60, 61, 20, dtype=np.int8)
    model = plan_writer.add_plan(maker.finish().model)
    (result,) = runner.run(run_cases, tmp_path, [(model, [[np.tile(pixel, (1, *size, 1))]])])
    assert result.status == 0
    assert result.data == np.tile(pixel, (*into, 1)).tobytes()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_long_rows_are_summed_in_blocks(run_cases, tmp_path, dtype):
    """Sums in blocks are exact: each filter has a single 1, near the end of a block."""
    block, depth = 1 << 14, 40_000
    places = [0, block - 1, block, 2 * block - 1, 2 * block, depth - 1]
    maker = Maker(np.random.default_rng(1))
    x = maker.input((1, depth), dtype, 0.5, 0)
    filters = np.zeros((len(places), depth), np.int8)
    filters[range(len(places)), places] = 1
    inputs = [x, maker.constant(filters, "int8", 0.5), None]
    y = maker.output((1, len(places)), dtype, 0.25, 0)
    maker.operator("FULLY_CONNECTED", inputs, [y], "FullyConnectedOptions")
    case = maker.finish()
    expected = [Oracle(case.model).step(row)[0].tobytes() for row in case.inputs]
    assert expected == [row[0][:, places].tobytes() for row in case.inputs]
    model = plan_writer.add_plan(case.model)
    (result,) = runner.run(run_cases, tmp_path, [(model, case.inputs)])
    assert (result.status, result.data) == (0, b"".join(expected))


def test_fully_connected_multiplies_two_scales_in_single_precision(run_cases, tmp_path):
    """FULLY_CONNECTED must multiply scales in single precision; here double would differ."""
    case = make("FULLY_CONNECTED", 665)
    expected = b"".join(Oracle(case.model).step(row)[0].tobytes() for row in case.inputs)
    model = plan_writer.add_plan(case.model)
    (result,) = runner.run(run_cases, tmp_path, [(model, case.inputs)])
    assert (result.status, result.data) == (0, expected)


def test_a_kernel_without_uint8_says_so(run_cases, tmp_path):
    """A kernel without uint8 rejects it, and names the types of all operands."""
    models = [plan_writer.add_plan(make(name, 0, unsigned=True).model) for name in sorted(NO_UINT8)]
    results = runner.run(run_cases, tmp_path, [(model, []) for model in models])
    said = re.compile(r"kernel does not support these types \(.*uint8.* to uint8\)$")
    assert [result.text for result in results if not said.search(result.text)] == []


def test_a_refusal_names_the_types_of_all_operands(run_cases, tmp_path):
    """A refusal names all operands' types, as for int16 by int8, which LiteRT refuses, too."""
    maker = Maker(np.random.default_rng(1))
    inputs = [maker.input((2, 3), "int16"), maker.constant(np.ones((3, 4)), "int8", 0.5)]
    maker.operator("BATCH_MATMUL", inputs, [maker.output((2, 4), "int16")], "BatchMatMulOptions")
    (result,) = runner.run(run_cases, tmp_path, [(plan_writer.add_plan(maker.finish().model), [])])
    assert result.text.endswith("kernel does not support these types (int16, int8 to int16)")


def test_every_kernel_is_tested(repo):
    text = (repo / "modules/ethosu/runtime/kernels/kernels.def").read_text()
    kernels = re.findall(r"^KERNEL\((\w+), \d+, \w+\)$", text, re.MULTILINE)
    assert kernels == sorted(GENERATORS)


def test_operators_are_the_schemas(repo):
    text = (repo / "modules/ethosu/runtime/file/operators.def").read_text()
    ours = {name: int(code) for name, code in re.findall(r"OPERATOR\((\w+), (\d+)\)", text)}
    schemas = {k: v for k, v in vars(schema.BuiltinOperator).items() if k.isupper()}
    assert ours and ours.items() <= schemas.items()
