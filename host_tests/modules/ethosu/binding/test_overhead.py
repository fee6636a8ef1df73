# SPDX-License-Identifier: MIT
"""What the module adds to the NPU's work stays small: counted, not timed."""

import json
import subprocess
import sys

import pytest
from ethosu_tools.bench.overhead import AIMS, COUNTED
from ethosu_tools.make_model import LARGE_MODELS


@pytest.fixture(scope="module")
def figures(request, small_models, tmp_path_factory):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("counts instructions of the emulated board")
    large = tmp_path_factory.mktemp("large") / "weights_300k.tflite"
    large.write_bytes(LARGE_MODELS["weights_300k"]())
    return bench(*small_models.values(), large)


def bench(*arguments):
    command = [sys.executable, "-m", "ethosu_tools.cli", "bench", "overhead", "--json"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", AIMS)
def test_overhead_stays_within_its_goal(figures, name):
    for model, row in figures["models"].items():
        if name != "bytes_copied_at_load" and model == "small_streaming":
            continue  # its copies of variables are work of the model, not overhead
        assert row[name] <= AIMS[name], f"{model}: {row[name]:,}"


@pytest.mark.parametrize("npu", ["ethos-u65-256", "ethos-u85-256"])
def test_fast_scratch_costs_what_vela_planned(request, small_models, npu):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("counts instructions of the emulated board")
    row = bench("--npu", npu, small_models["small_cnn"])["models"]["small_cnn"]
    for name in ("heap_bytes_beyond_vela_arena", "instructions_to_load_in_c_unverified"):
        assert row[name] <= AIMS[name], f"{name}: {row[name]:,}"
    # A short stream costs more for each word than a long one.
    assert row["verifier_instructions_per_word"] <= AIMS["verifier_instructions_per_word"] + 2
    # These have more base pointers, and an interrupt at another moment costs up to 17 more.
    assert row["instructions_per_invoke_in_c"] <= AIMS["instructions_per_invoke_in_c"] + 20


def test_every_figure_is_printed(figures):
    derived = {"file_bytes", "command_words", "vela_arena_bytes", "heap_bytes_beyond_vela_arena"}
    for row in figures["models"].values():
        assert {*COUNTED, *AIMS, *derived} == set(row)
        assert all(isinstance(value, int | float) and value >= 0 for value in row.values())
    assert figures["aims"] == AIMS


def test_a_model_of_300_kb_is_loaded_as_fast_as_a_small_one(figures):
    """Its weights are neither copied nor looked at."""
    large, small = (figures["models"][name] for name in ("weights_300k", "small_cnn"))
    assert large["file_bytes"] > 300 << 10 > 10 * small["file_bytes"]
    key = "instructions_to_load_in_c_unverified"
    assert large[key] <= small[key] + 100


def test_text_by_folder(figures):
    assert {"driver", "runtime", "binding"} <= set(figures["text_bytes"])
    assert all(size > 1000 for size in figures["text_bytes"].values())
    assert 1000 < figures["u85_text_bytes"] < figures["text_bytes"]["driver"]
