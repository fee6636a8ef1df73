# SPDX-License-Identifier: MIT
"""`ethosu profile` compares two NPUs for a model, and two models."""

import json


def test_one_model_on_two_npus_has_the_same_layers_and_outputs(ethosu, small_models):
    source = small_models["small_cnn"]
    words = ("profile", source, "--npu", "ethos-u55-32", "--other-npu", "ethos-u55-256")
    code, out, err = ethosu(*words, "--json")
    assert code == 0 and "the first board that has ethos-u55-256" in err
    data = json.loads(out)
    assert data["a"]["npu"] == "ethos-u55-32" and data["b"]["npu"] == "ethos-u55-256"
    assert data["b"]["cycles"] < data["a"]["cycles"]
    for key in ("a", "b"):
        rows = [row[key] for row in data["layers"] if row[key]]
        assert sum(row["cycles"] for row in rows) == data[key]["cycles"]
    assert data["outputs"]["differing"] == 0 < data["outputs"]["values"]
    assert "outputs    equal" in ethosu(*words)[1]


def test_models_with_other_inputs_are_compared_but_for_their_outputs(
    ethosu, small_models, tmp_path
):
    other = next(name for name in sorted(small_models) if name != "small_cnn")
    code, out, _ = ethosu("profile", small_models["small_cnn"], small_models[other])
    assert code == 0 and "outputs    not compared: " in out
    words = ("profile", small_models["small_cnn"], small_models[other])
    code, _, err = ethosu(*words, "--on", "qemu", "--operations")
    assert code == 2 and "--operations and --on cannot be combined with a comparison" in err
