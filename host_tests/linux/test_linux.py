# SPDX-License-Identifier: MIT
"""Linux's own driver of the NPU, in Debian's own kernel, on the emulated NPU.

Nothing of that kernel is ours: it finds the NPU by the device tree, and the runtime's models run on
it. Each of these boots QEMU for some ten seconds of CPU time.
"""

import re

import pytest
from modules.ethosu.runtime.reference_cases import make_case

from linux.machine import model_file

pytestmark = pytest.mark.slow

# MLPerf Tiny, and one with operators that the CPU has to compute.
MODELS = "kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8"
STEPS = 2


def cases(names, folder, compiled, npu):
    """Model files, by name."""
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
