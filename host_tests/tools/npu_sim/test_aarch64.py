# SPDX-License-Identifier: MIT
"""The simulator on AArch64, with kernels for NEON, equals the plain one on this machine."""

import os
import shutil
import struct
import subprocess

import numpy as np
import pytest

from host_tests.kit import sharing
from host_tests.tools.npu_sim.assembler import execute
from host_tests.tools.npu_sim.random_operations import make
from host_tests.tools.npu_sim.test_fast import OPERATIONS, OVER_ITS_IFM

# Debian's gcc-aarch64-linux-gnu cannot be installed beside gcc-multilib, which other tests need.
CLANG, ARCHIVER, EMULATOR = "clang", "aarch64-linux-gnu-ar", "qemu-aarch64-static"
PACKAGES = (
    "binutils-aarch64-linux-gnu libc6-dev-arm64-cross libgcc-12-dev-arm64-cross qemu-user-static"
)
NAME_SIZE = 32

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(repo, tmp_path_factory):
    """Compile a program for AArch64 that runs operations."""
    if not (shutil.which(ARCHIVER) and shutil.which(EMULATOR)):
        assert os.environ.get("CI") != "true", f"needs {PACKAGES}"
        pytest.skip(f"needs Debian's {PACKAGES}")
    build, target = repo / "build/aarch64/clang", "--target=aarch64-linux-gnu"
    sharing.make("tools/npu_sim", f"CC={CLANG} {target}", f"AR={ARCHIVER}", f"BUILD={build}", "all")
    path = tmp_path_factory.mktemp("aarch64") / "run_operations"
    source = repo / "host_tests/tools/npu_sim/c/run_operations.c"
    options = ["-static", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{repo / 'tools/npu_sim'}"]
    command = [CLANG, target, *options, source, build / "libnpu_sim.a", "-lm", "-o", path]
    subprocess.run(command, check=True)
    return path


def packed(operation, memories):
    """Encode operations for run_operations.c, with memories at their present addresses."""
    contents = [operation.stream, *operation.regions]
    yield operation.config.encode().ljust(NAME_SIZE, b"\0") + struct.pack("<I", len(contents))
    for memory, content in zip(memories, contents, strict=True):
        yield struct.pack("<II", memory.address, len(content)) + bytes(content)


@pytest.mark.parametrize("cpu", ["cortex-a53", "max"])
def test_operations_equal_the_plain_model(program, repo, monkeypatch, cpu):
    sharing.make("tools/npu_sim", "plain")
    monkeypatch.setenv("ETHOSU_NPU_LIBRARY", str(repo / "build/npu_sim/plain/libnpu_sim.so"))
    operations = [make(kind, seed, config) for config, kind in OPERATIONS for seed in range(30)]
    operations += [make("CONV", seed, config) for config in OVER_ITS_IFM
                   for seed in OVER_ITS_IFM[config]]  # fmt: skip
    given, expected = [struct.pack("<I", len(operations))], []
    for operation in operations:
        run = execute(operation.config, operation.stream, operation.regions)
        given += packed(operation, run.memories)
        expected.append((run.outcome, run.cycles, [memory.data for memory in run.memories]))
    found = memoryview(
        subprocess.run(
            [EMULATOR, "-cpu", cpu, program], input=b"".join(given), stdout=-1, check=True
        ).stdout
    )
    for operation, (outcome, cycles, memories) in zip(operations, expected, strict=True):
        assert struct.unpack_from("<II", found) == (outcome, cycles), operation.description
        found = found[8:]
        for region, memory in enumerate(memories):
            data = np.frombuffer(found[: len(memory)], np.uint8)
            assert np.array_equal(data, memory), f"{operation.description}: memory {region}"
            found = found[len(memory) :]
    assert not found
