# SPDX-License-Identifier: MIT
"""The tools compile, run, trace and step models for Ethos-U85, in every memory mode."""

import json

import numpy as np
import pytest
from ethosu_tools.compile import vela
from ethosu_tools.model import arrays
from ethosu_tools.sim import oracle
from ethosu_tools.sim.simulation import Simulation


@pytest.fixture(scope="module")
def small_cnn(small_models):
    return small_models["small_cnn"]


@pytest.fixture
def model(small_cnn, tmp_path):
    path = tmp_path / "model.tflite"
    vela.compile_model(small_cnn, "ethos-u85-256", path)
    return path


def test_single_steps_show_the_memory(model, small_cnn):
    reference = oracle.Oracle(small_cnn)
    inputs = arrays.random_inputs(reference.inputs, np.random.default_rng(5))
    chained = 0

    def look(operation):
        nonlocal chained
        if operation.ofm is None:
            return
        chained += operation.ofm.chained
        if not operation.ofm.chained:
            assert simulation.feature_map(operation.ofm).shape == operation.ofm.shape

    with Simulation(model) as simulation:
        simulation.observe(look)
        assert all(map(np.array_equal, simulation.step(inputs), reference.step(inputs)))
    assert chained > 0


def test_profile_names_modes_and_chains(ethosu, model, tmp_path):
    maps = tmp_path / "maps.npz"
    code, out, _ = ethosu("profile", model, "--operations", "--maps", maps)
    assert code == 0
    assert "ELEMENTWISE ADD" in out and " chain " in out
    _, text, _ = ethosu("profile", model, "--operations", "--json")
    operations = json.loads(text)["operations"]
    kept = [n for n, each in enumerate(operations) if each["ofm"] and not each["ofm"]["chained"]]
    with np.load(maps) as file:
        assert sorted(map(int, file.files)) == kept


def test_estimate_is_near_velas(ethosu, small_cnn, tmp_path):
    path = tmp_path / "model.tflite"
    estimate = vela.compile_model(small_cnn, "ethos-u85-512", path)["vela_estimate"]
    _, out, _ = ethosu("profile", path, "--json")
    assert json.loads(out)["cycles"] == pytest.approx(estimate["npu_cycles"], rel=0.6)
