# SPDX-License-Identifier: MIT
"""TensorFlow Lite Micro's own ethos-u kernel compiles with this driver's headers.

This runs if ETHOSU_TFLM_DIR names a tflite-micro tree whose makefile has already downloaded
flatbuffers.
"""

import re
from pathlib import Path

import pytest

from host_tests.kit import needs
from host_tests.modules.ethosu.driver import cbuild

KERNEL = "tensorflow/lite/micro/kernels/ethos_u/ethosu.cc"
FLATBUFFERS = "tensorflow/lite/micro/tools/make/downloads/flatbuffers/include"


@pytest.fixture
def tflm() -> Path:
    """Return the tflite-micro tree."""
    return needs.tree("ETHOSU_TFLM_DIR", "tflite-micro")


@pytest.mark.parametrize("compiler", ["g++", "arm-none-eabi-g++ -mcpu=cortex-m55 -mfloat-abi=hard"])
def test_tflms_kernel_compiles_unchanged(tflm, tmp_path, compiler) -> None:
    """TFLM's kernel compiles, and our driver defines every driver function that it calls."""
    paths = [tflm, tflm / FLATBUFFERS, cbuild.REPO / "modules/ethosu/driver/include"]
    for path in (tflm / KERNEL, tflm / FLATBUFFERS):
        assert path.exists(), f"{path} is not there"
    output = tmp_path / "ethosu.o"
    includes = [f"-I{path}" for path in paths]
    command = [*compiler.split(), "-std=c++17", "-Wall", "-Werror", *includes]
    cbuild.run([*command, "-c", tflm / KERNEL, "-o", output])
    (driver,) = cbuild.archives("address", cbuild.DRIVER)
    defined = set(re.findall(r" [TW] (ethosu_\w+)", cbuild.run(["nm", driver])))
    needed = set(re.findall(r" U (ethosu_\w+)", cbuild.run(["nm", output])))
    assert "ethosu_invoke_v3" in needed
    assert needed <= defined
