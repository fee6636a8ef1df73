# SPDX-License-Identifier: MIT
"""Tests the simulated NPU in this process: C structures, lifetime and results."""

import subprocess

import numpy as np
import pytest
from ethosu_tools.base import library
from ethosu_tools.base.errors import InputError, SetupError
from ethosu_tools.model import arrays
from ethosu_tools.sim.simulation import NPU_COUNT, Simulation

from host_tests.kit import sharing

# One structure of each kind: with pointers, aligned bytes, a text, 64-bit fields, an array.
STRUCTURES = (
    "ethosu_model_error",
    "ethosu_model_source",
    "ethosu_model_memory",
    "ethosu_description",
    "ethosu_describe_value",
    "npu_operation",
    "npu_memory",
)


def test_structures_are_those_of_the_compiler(repo, tmp_path):
    """cffi's layout of structures, computed from the headers, equals the compiler's."""
    layouts = {name: library.ffi().typeof(f"struct {name}") for name in STRUCTURES}
    lines = []
    expected = []
    for name, layout in layouts.items():
        lines.append(f'printf("%zu\\n", sizeof(struct {name}));')
        expected.append(library.ffi().sizeof(layout))
        for field, place in layout.fields:
            lines.append(f'printf("%zu\\n", offsetof(struct {name}, {field}));')
            expected.append(place.offset)
    source = tmp_path / "layout.c"
    headers = ("stdio.h", "ethosu_describe.h", "npu_sim.h")
    source.write_text(
        "".join(f"#include <{name}>\n" for name in headers)
        + f"int main(void) {{\n{chr(10).join(lines)}\n}}\n"
    )
    folders = ("modules/ethosu/runtime/include", "tools/npu_sim")
    includes = [f"-I{repo / folder}" for folder in folders]
    sharing.run(["cc", *includes, source, "-o", tmp_path / "layout"])
    assert [int(line) for line in sharing.run([tmp_path / "layout"]).split()] == expected


def random_inputs(session, seed):
    random = np.random.default_rng(seed)
    return [
        random.integers(-128, 128, tensor.shape).astype(tensor.dtype) for tensor in session.inputs
    ]


def test_a_reset_restores_the_first_result(small_models, compiled):
    with Simulation(compiled(small_models["small_streaming"])) as simulation:
        inputs = random_inputs(simulation, 1)
        first = simulation.step(inputs)
        second = simulation.step(random_inputs(simulation, 2))
        simulation.reset()
        assert np.array_equal(simulation.step(inputs), first)
        assert np.array_equal(simulation.step(random_inputs(simulation, 2)), second)


def test_two_npus_work_side_by_side_and_a_third_is_refused(small_models, compiled):
    model = small_models["small_cnn"]
    with (
        Simulation(compiled(model, "ethos-u55-64")) as first,
        Simulation(compiled(model, "ethos-u55-256")) as second,
    ):
        inputs = random_inputs(first, 3)
        assert np.array_equal(first.step(inputs), second.step(inputs))
        with pytest.raises(SetupError, match="at most 2 NPUs"):
            Simulation(compiled(model))
    with Simulation(compiled(model)) as third:
        third.step(inputs)


def test_a_lost_simulation_releases_its_npu(small_models, compiled):
    for _ in range(2 * NPU_COUNT):
        Simulation(compiled(small_models["small_cnn"]))


def test_input_of_the_wrong_size_is_refused_and_the_next_step_works(small_models, compiled):
    with Simulation(compiled(small_models["small_cnn"])) as simulation:
        with pytest.raises(InputError, match=r"input 0 must have .* bytes, found 3"):
            simulation.step([np.zeros(3, np.int8)])
        simulation.step(random_inputs(simulation, 1))


def test_library_of_another_kind_is_refused(tmp_path):
    other = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", other], check=True)
    with pytest.raises(SetupError, match=r"is incompatible with these tools .* run: make sim-host"):
        library.load_sim(other)


def test_feed_runs_all_its_steps(small_models, compiled):
    model = compiled(small_models["small_streaming"])
    with Simulation(model) as simulation:
        data = np.stack([random_inputs(simulation, seed)[0] for seed in range(4)])
        feed = arrays.check({"0": data}, simulation.inputs)
        rows = list(simulation.run(feed))
        simulation.reset()
        again = [simulation.step([row]) for row in data]
    assert np.array_equal(rows, again) and len(rows) == 4
