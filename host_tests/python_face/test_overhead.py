# SPDX-License-Identifier: MIT
"""What the module adds to the NPU's work stays small: counted, not timed."""

import json
import subprocess
import sys

import pytest

# For each model: what may be spent at most. The first is that of TFLM's interpreter from C++.
MOST = {
    "instructions_per_run_into": 1050,
    "instructions_per_run_into_reserved": 981,
    "instructions_per_invoke_in_c": 700,
    "heap_bytes_of_1000_run_into": 0,
    "bytes_copied_at_load": 0,
    "heap_bytes_beyond_vela_arena": 1000,
    "verifier_instructions_per_word": 70,
}


@pytest.fixture(scope="module")
def figures(request, small_models):
    if request.config.getoption("--port"):
        pytest.skip("counts instructions of the emulated board")
    command = [sys.executable, "-m", "ethosu_tools.cli", "bench", "overhead", "--json"]
    done = subprocess.run(
        [*command, *small_models.values()], capture_output=True, text=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", MOST)
def test_overhead_stays_small(figures, name):
    for model, row in figures["models"].items():
        if name.startswith("instructions_per") and model != "small_cnn":
            continue  # its copies of variables are work of the model, not overhead
        assert row[name] <= MOST[name], f"{model}: {row[name]:,}"


def test_text_by_folder(figures):
    assert {"driver", "model", "binding"} <= set(figures["text_bytes"])
    assert all(size > 1000 for size in figures["text_bytes"].values())
