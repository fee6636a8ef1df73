# SPDX-License-Identifier: MIT
"""`ethosu trace`: a line per operation, the same as JSON and in a file, maps as arrays."""

import itertools
import json

import numpy as np
import pytest
from ethosu_tools import mixed_models, tflite, vela


@pytest.fixture
def model(compiled, small_models):
    return compiled(small_models["small_cnn"])


def test_one_line_for_each_operation(ethosu, model):
    code, out, err = ethosu("trace", model)
    assert (code, err) == (0, "")
    table, sums, layers = out.split("\n\n")
    lines = table.splitlines()[1:]
    assert [int(line.split()[0]) for line in lines] == list(range(len(lines)))
    assert any("CONV" in line and "int8 8x8x16 @1" in line for line in lines)
    assert any("ELEMENTWISE ADD" in line for line in lines)
    assert f"{len(lines)} operations" in sums and "region 0" in sums
    assert layers.splitlines()[1].startswith("0 CONV_2D ")


def test_json_is_what_is_saved_and_the_sums_are_right(ethosu, model, tmp_path):
    saved, maps = tmp_path / "trace.json", tmp_path / "maps.npz"
    code, out, _ = ethosu("trace", model, "--json", "--output", saved, "--maps", maps)
    assert code == 0
    data = json.loads(out)
    assert data == json.loads(saved.read_text())
    operations = data["operations"]
    assert data["cycles"] == sum(operation["cycles"] for operation in operations)
    assert data["cycles"] == sum(layer["cycles"] for layer in data["layers"])
    owned = [number for layer in data["layers"] for number in layer["operations"]]
    assert sorted(owned) == list(range(len(operations)))
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
    code, out, _ = ethosu("trace", compiled(small_models["small_cnn"], npu), "--json")
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
        assert one["begin"] <= other["begin"] and one["end"] < other["end"]


def test_macs_are_those_that_vela_counts(ethosu, small_models, tmp_path):
    model = tmp_path / "model.tflite"
    estimate = vela.compile_model(small_models["small_cnn"], "ethos-u55-128", model)["estimate"]
    _, out, _ = ethosu("trace", model, "--json")
    assert json.loads(out)["macs"] == pytest.approx(estimate["macs"], rel=0.05)


def test_given_inputs_reach_the_maps(ethosu, model, tmp_path):
    (tensor,) = tflite.describe(model).inputs
    results = []
    for value in (-100, 100):
        arrays, maps = tmp_path / "in.npz", tmp_path / "maps.npz"
        np.savez(arrays, **{"0": np.full(tensor.shape, value, tensor.dtype)})
        assert ethosu("trace", model, "--input", arrays, "--maps", maps)[0] == 0
        with np.load(maps) as file:
            results.append(file[max(file.files, key=int)])
    assert not np.array_equal(*results)


def test_a_model_that_was_cut_short_is_one_error(ethosu, model, tmp_path):
    short = tmp_path / "short.tflite"
    short.write_bytes(model.read_bytes()[:-1000])
    code, _, err = ethosu("trace", short)
    assert code == 3 and f"{short}: damaged or truncated: " in err


def test_two_outputs_are_two_files(ethosu, model, tmp_path):
    both = tmp_path / "both.json"
    code, _, err = ethosu("trace", model, "--output", both, "--overlay", both)
    assert code == 2 and f"--overlay would overwrite {both}" in err and not both.exists()


def test_a_model_of_real_numbers_is_traced(ethosu, tmp_path):
    source, compiled = tmp_path / "source.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(mixed_models.MODELS["float_io"].make())
    vela.compile_model(source, "ethos-u55-128", compiled)
    code, out, _ = ethosu("trace", compiled, "--json")
    assert code == 0 and json.loads(out)["cpu_operators"] == {
        "QUANTIZE": 1,
        "DEQUANTIZE": 1,
    }


def test_a_model_that_was_never_compiled_is_one_error(ethosu, small_models):
    code, _, err = ethosu("trace", small_models["small_cnn"])
    assert code == 3 and len(err.strip().splitlines()) == 1
