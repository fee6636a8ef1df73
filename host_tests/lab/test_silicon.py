# SPDX-License-Identifier: MIT
"""The script compares estimates with measurements of chips."""

from ethosu_tools import cli

from host_tests.lab import silicon


def test_points_of_your_own_are_added_and_compared(lab, small_models, tmp_path):
    model, table = small_models["small_cnn"], tmp_path / "points.csv"
    words = ["profile", model, "--on", "qemu", "--board", "MPS3_AN547", "--save", table]
    assert cli.main([str(word) for word in words]) == 0
    words = ("--points", table, "--models", model.parent, "--json")
    code, data, _ = lab(silicon, *words)
    assert code == 0 and [each["model"] for each in data["points"]] == [model.name]
    assert len(data["missing"]) == 10
    assert abs(data["mean_error"]) < 1


def test_without_models_there_is_one_error(lab, tmp_path):
    code, _, err = lab(silicon, "--models", tmp_path)
    assert code == 3 and "no model of the 10 points" in err
