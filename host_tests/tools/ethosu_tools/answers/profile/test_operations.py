# SPDX-License-Identifier: MIT
"""`ethosu profile --operations` has a line per operation, also as JSON, and maps as arrays."""

import itertools
import json

import numpy as np
import pytest
from ethosu_tools.compile import vela
from ethosu_tools.model import tflite

from host_tests.kit.models import mixed_models


@pytest.fixture
def model(compiled, small_models):
    return compiled(small_models["small_cnn"])


def test_one_line_for_each_operation(ethosu, model):
    code, out, err = ethosu("profile", model, "--operations")
    assert (code, err) == (0, "")
    table, sums, layers = out.split("\n\n")[:3]
    lines = table.splitlines()[1:]
    assert [int(line.split()[0]) for line in lines] == list(range(len(lines)))
    assert any("0 CONV_2D" in line and "int8 8x8x16 @1" in line for line in lines)
    assert any("ELEMENTWISE ADD" in line for line in lines)
    assert sums.startswith("region 0: ")
    assert layers.splitlines()[1].startswith("0 CONV_2D ")


@pytest.mark.parametrize("board", ["MPS3_AN547", "GROVE_VISION_AI_V2"])
def test_operations_and_layers_have_the_cycles_of_the_estimate(
    ethosu, small_models, tmp_path, board
):
    maps = tmp_path / "maps.npz"
    words = ("profile", small_models["small_cnn"], "--board", board, "--operations", "--json")
    code, out, _ = ethosu(*words, "--maps", maps)
    assert code == 0
    data = json.loads(out)
    operations = data["operations"]
    cycles = sum(operation["cycles"] for operation in operations)
    assert cycles == data["cycles"] == data["estimate"]["cycles"]
    assert cycles == sum(layer["cycles"] for layer in data["layers"])
    assert sum(layer["operations"] for layer in data["layers"]) == len(operations)
    assert {each["layer"] for each in operations} == {row["name"] for row in data["layers"]}
    assert data["traffic"]["1"]["written"] == sum(
        operation["written"].get("1", 0) for operation in operations
    )
    arrays = np.load(maps)
    for index, operation in enumerate(operations):
        assert (str(index) in arrays) == (operation["ofm"] is not None)
        if operation["ofm"]:
            assert arrays[str(index)].shape == tuple(operation["ofm"]["shape"])


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_operations_have_a_place_in_time(ethosu, compiled, small_models, npu):
    code, out, _ = ethosu(
        "profile", compiled(small_models["small_cnn"], npu), "--operations", "--json"
    )
    assert code == 0
    operations = json.loads(out)["operations"]
    assert max(each["end"] for each in operations) == sum(each["cycles"] for each in operations)
    copies, kernels = [], []
    for each in operations:
        (copies if each["name"] == "NPU_OP_DMA_START" else kernels).append(each)
    assert copies and kernels
    for one, other in itertools.pairwise(copies):
        assert one["begin"] < one["end"] <= other["begin"]
    for one, other in itertools.pairwise(kernels):
        assert one["begin"] <= other["begin"] and one["end"] <= other["end"]


def test_macs_are_those_that_vela_counts(ethosu, small_models, tmp_path):
    model = tmp_path / "model.tflite"
    estimate = vela.compile_model(small_models["small_cnn"], "ethos-u55-128", model)[
        "vela_estimate"
    ]
    _, out, _ = ethosu("profile", model, "--json")
    assert json.loads(out)["work"]["macs"] == pytest.approx(estimate["macs"], rel=0.05)


def test_given_inputs_reach_the_maps(ethosu, model, tmp_path):
    (tensor,) = tflite.describe(model).inputs
    results = []
    for value in (-100, 100):
        arrays, maps = tmp_path / "in.npz", tmp_path / "maps.npz"
        np.savez(arrays, **{"0": np.full(tensor.shape, value, tensor.dtype)})
        assert ethosu("profile", model, "--input", arrays, "--maps", maps)[0] == 0
        with np.load(maps) as file:
            results.append(file[max(file.files, key=int)])
    assert not np.array_equal(*results)


def test_a_model_that_was_cut_short_is_one_error(ethosu, model, tmp_path):
    short = tmp_path / "short.tflite"
    short.write_bytes(model.read_bytes()[:-1000])
    code, _, err = ethosu("profile", short)
    assert code == 3 and f"{short}: damaged or truncated: " in err


def test_two_outputs_are_two_files(ethosu, model, tmp_path):
    both = tmp_path / "both.json"
    code, _, err = ethosu("profile", model, "--maps", both, "--overlay", both)
    assert code == 2 and f"--overlay would overwrite {both}" in err and not both.exists()


def test_a_model_of_real_numbers_has_operators_on_the_cpu(ethosu, tmp_path):
    source, compiled = tmp_path / "source.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(mixed_models.MODELS["float_io"].make())
    vela.compile_model(source, "ethos-u55-128", compiled)
    code, out, _ = ethosu("profile", compiled)
    assert code == 0 and out.count("on the CPU") == 2
    assert "not included: QUANTIZE x 1, DEQUANTIZE x 1" in out
