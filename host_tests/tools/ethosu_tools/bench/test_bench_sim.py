# SPDX-License-Identifier: MIT
"""`ethosu bench sim`: says what it ran, that the result is right, and how the times compare."""

import json

import pytest


def bench(ethosu, *options):
    code, out, err = ethosu("bench", "sim", *options, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_project_s_mobilenet_is_exact_at_300_million_macs(ethosu):
    data = bench(ethosu, "--pairs", "1")
    assert data["model"] == "mobilenet_v2" and data["equals_reference"] is True
    assert data["macs"] == pytest.approx(300e6, rel=0.02)


def test_ratios_are_those_of_the_times(ethosu, small_models):
    data = bench(ethosu, small_models["small_cnn"], "--npu", "ethos-u55-64", "--pairs", "1")
    assert data["npu"] == "ethos-u55-64" and data["equals_reference"] is True
    assert data["npu_cycles"] > 0 and data["sim_ms"] > 0
    for rival in ("litert_builtin", "xnnpack", "strict"):
        assert data[f"ratio_to_{rival}"] > 0 and data[f"{rival}_ms"] > 0


def test_text_names_ratios_and_verdict(ethosu, small_models):
    code, out, _ = ethosu("bench", "sim", small_models["small_cnn"], "--pairs", "1")
    assert code == 0
    assert out.count("times as long") == 3 and "equals that of TFLite's reference kernels" in out


def test_the_emulated_board_is_measured_on_request(ethosu, small_models):
    data = bench(ethosu, small_models["small_cnn"], "--pairs", "1", "--qemu")
    assert data["ratio_qemu_to_sim"] > 0 and data["qemu_ms"] > 0 and data["qemu_start_s"] > 0


@pytest.mark.parametrize("options", [("--pairs", "0"), ("nowhere.tflite",)])
def test_bad_arguments_are_one_sentence(ethosu, options):
    code, _, err = ethosu("bench", "sim", *options)
    assert code != 0 and len(err.strip().splitlines()) == 1
