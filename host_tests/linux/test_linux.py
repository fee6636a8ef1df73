# SPDX-License-Identifier: MIT
"""Linux's own NPU driver, in Debian's kernel, on the emulated NPU.

The kernel is unmodified: it finds the NPU by the device tree, and our runtime runs models on it.
Each test boots QEMU, for about ten seconds of CPU time.
"""

import os
import re
from dataclasses import replace

import pytest

from host_tests.conformance.generator import case as graphs
from host_tests.conformance.generator.builder import UnsuitableError
from host_tests.conformance.generator.check import Verdict, check
from host_tests.conformance.generator.families import U55_U65, U85
from host_tests.kit import found
from host_tests.kit.models.mixed_models import MODELS as MIXED
from host_tests.kit.models.reference_cases import make_case
from host_tests.linux.machine import model_file

pytestmark = pytest.mark.slow

# The models of MLPerf Tiny, and one with operators that the CPU has to compute.
MODELS = "kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8"
STEPS = 2


# Number of graphs for each NPU, and their first seed.
GRAPHS = int(os.environ.get("ETHOSU_LINUX_GRAPHS", "40"))
FIRST_SEED = 50_000
# Operators of which the kernel refuses some graphs, or all.
REFUSED = {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "MIRROR_PAD", "GATHER", "PAD"}


def cases(names, folder, compiled, npu):
    """Write model files, by name."""
    files = {}
    for name in names:
        case = make_case(folder / f"{name}.tflite", STEPS, extremes=False)
        model = compiled(case.model, npu).read_bytes()
        files[name] = model_file(model, case.inputs, case.outputs)
    return files


@pytest.mark.parametrize(
    ("npu", "fault", "message"),
    [
        ("ethos-u65-256", "hang", "timed out|timeout|hung|reset"),
        ("ethos-u65-512", "bus-error", "Error IRQ"),
        ("ethos-u85-256", "bus-error", "Error IRQ"),
    ],
)
def test_models_are_exact_after_a_fault(
    linux, shared_models, compiled, tmp_path, npu, fault, message
):
    files = cases(MODELS, shared_models, compiled, npu)
    boot = linux.boot(tmp_path, npu, files, "fault count", [f"fault={fault}"])
    print(f"Linux {linux.kernel.version}, {npu}:\n{boot.output}")
    assert boot.differing() == dict.fromkeys(files, [0] * STEPS)
    first = min(files)
    failed = boot.of("failed")
    assert [name for name, _ in failed] == [first]
    assert "did not reach the end of the command stream" in failed[0][1]
    assert re.search(message, boot.output), "the kernel says so in its log"
    counted = boot.of("counted")
    assert [name for name, _ in counted] == sorted(files)
    for _, text in counted:
        active, cycles, error = map(int, re.findall(r"-?\d+", text))
        assert error == 0 and 0 < active <= cycles


def test_operators_of_the_cpu_and_programs_run_on_linux(
    linux, compile_mixed, vela, small_models, tmp_path
):
    npu, files = "ethos-u65-256", {}
    for name, mixed in MIXED.items():
        model = compile_mixed(f"{name}_u65", mixed.make(), mixed.options, npu=npu)
        case = make_case(model.source, STEPS, extremes=False)
        files[name] = model_file(model.planned.read_bytes(), case.inputs, case.outputs)
    expected = {name: [0] * STEPS for name in files}
    for each in found.modules("program_rows"):
        case = each.on_u65(vela, small_models["small_cnn"])
        files["program"] = model_file(case.program, [case.inputs], [case.outputs])
        expected["program"] = [0]
    boot = linux.boot(tmp_path, npu, files)
    assert boot.differing() == expected, boot.output


def generated(family, npu):
    """Generate graphs that the simulator computes exactly, with their operators."""
    family, models, seed = replace(family, npus=(npu,)), {}, FIRST_SEED
    while len(models) < GRAPHS:
        seed += 1
        try:
            case = graphs.make(seed, family=family)
        except UnsuitableError:
            continue
        result = check(case)
        if result.verdict == Verdict.EXACT and "CALL_ONCE" not in case.operators:
            file = model_file(result.compiled, case.feeds, result.expected)
            models[f"g{seed}"] = file, case
    return models


@pytest.mark.parametrize(
    ("family", "npu"),
    [(U55_U65, "ethos-u65-256"), (U55_U65, "ethos-u65-512"), (U85, "ethos-u85-256")],
)
def test_generated_graphs_are_exact_or_refused_for_a_reason(linux, tmp_path, family, npu):
    made_of = generated(family, npu)
    boot = linux.boot(tmp_path, npu, {name: file for name, (file, _) in made_of.items()})
    refused = dict([*boot.of("refused"), *boot.of("failed")])
    for name, message in refused.items():
        print(f"{name}: {made_of[name][1]}: {message}")
        assert "Linux's driver rejected" in message, name
        assert REFUSED & set(made_of[name][1].operators), name
    print(*sorted({text for name, text in boot.of(".*") if name == "log"}), sep="\n")
    exact = {name: len(case.feeds) * [0] for name, (_, case) in made_of.items()}
    assert boot.differing() == {name: exact[name] for name in exact if name not in refused}
    print(f"{npu}: {len(made_of) - len(refused)} of {len(made_of)} graphs are exact")
