# SPDX-License-Identifier: MIT
"""C programs use the runtime with CMake and only a model's kernels; runs the example."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import sharing

EXAMPLE = sharing.BUILD.parent / "modules/ethosu/examples/c"
NPU = "ethos-u55-128"


def configure(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """Run CMake on the example."""
    command = ["cmake", "-S", EXAMPLE, "-B", folder, *options]
    return subprocess.run(map(str, command), capture_output=True, text=True, check=False)


def build(folder: Path, *options: object) -> Path:
    """Configure and build the example; returns the program."""
    done = configure(folder, *options)
    assert done.returncode == 0, done.stderr
    command = ["cmake", "--build", str(folder), "-j2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "example.elf"


def run(program: Path, npu: str = NPU) -> tuple[int, list[str]]:
    """Run the program on QEMU; returns exit code and output lines."""
    sharing.make("tools/qemu_plugin")
    plugin = f"{sharing.BUILD}/qemu_plugin/libethosu_qemu.so,npu={npu}"
    machine = ["-M", "mps3-an547", "-display", "none", "-serial", "none", "-monitor", "none"]
    semihosting = ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,chardev=out"]
    command = [
        "qemu-system-arm",
        *machine,
        *semihosting,
        "-plugin",
        plugin,
        "-kernel",
        str(program),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout.splitlines()


@pytest.fixture(scope="module")
def example(compiled, small_models, tmp_path_factory) -> Path:
    """Build the example with a model of NPU operators only, without CPU kernels."""
    model = compiled(small_models["small_cnn"], NPU)
    folder = tmp_path_factory.mktemp("example")
    options = ("-DETHOSU_KERNELS=none", "-DETHOSU_PTE=OFF", "-DETHOSU_TARGET_NPU_CONFIG=" + NPU)
    return build(folder, f"-DMODEL={model}", *options)


def test_the_example_is_exact(example, small_models) -> None:
    """The example's printed outputs equal the reference's."""
    oracle = Oracle(small_models["small_cnn"])
    shape = oracle.inputs[0].shape
    given = np.arange(np.prod(shape), dtype=np.uint32).astype(np.uint8).view(np.int8).reshape(shape)
    (wanted,) = oracle.step([given])
    assert run(example) == (0, [str(value) for value in wanted.reshape(-1)])


def test_the_example_reports_why_it_fails(example) -> None:
    """For another NPU's model, the example prints one error message."""
    code, lines = run(example, "ethos-u55-256")
    assert code == 1
    assert lines[0].startswith(f"model was compiled for {NPU}, the NPU is ethos-u55-256")


def test_only_requested_kernels_are_linked(example) -> None:
    """With ETHOSU_KERNELS=none, no CPU kernel, second product or program reader is linked."""
    symbols = subprocess.check_output(["arm-none-eabi-nm", str(example)], text=True)
    assert "ethosu_ext_part_U85" not in symbols and "program_open" not in symbols
    assert not re.search(r"\b(kernel_conv|softmax_\w+|nd_next)\b", symbols)


def test_no_part_of_the_library_is_referred_to_weakly(example) -> None:
    """Weak references take nothing from a static library, so names would be missing."""
    library = example.parent / "ethosu_runtime/libethosu_runtime.a"
    symbols = subprocess.check_output(["arm-none-eabi-nm", str(library)], text=True)
    assert re.findall(r" [wvWV] (\w+)", symbols) == []
    linked = subprocess.check_output(["arm-none-eabi-nm", str(example)], text=True)
    assert re.search(r" T operator_name$", linked, re.MULTILINE)


def test_a_missing_kernel_is_one_error(tmp_path, compiled, small_models) -> None:
    """A missing kernel gives one error, with the available names."""
    model = compiled(small_models["small_cnn"], NPU)
    done = configure(tmp_path, f"-DMODEL={model}", "-DETHOSU_KERNELS=CONV_2D NONSENSE")
    assert done.returncode != 0
    assert "unknown kernel NONSENSE; expected:" in " ".join(done.stderr.split())
