# SPDX-License-Identifier: MIT
"""The runtime builds with few kernels, or none."""

import re
import subprocess

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

from . import plan_writer, runner
from .maker import make


def _load(program, folder, name):
    case = make(name, 0)
    (result,) = runner.run(program, folder, [(plan_writer.add_plan(case.model), case.inputs)])
    return result


@pytest.mark.parametrize("flag", ["-DETHOSU_KERNEL_LIST=", "-DETHOSU_KERNEL_LIST=KERNEL(PAD)"])
def test_missing_kernel_is_named(build_cases, tmp_path, flag):
    result = _load(build_cases(flag), tmp_path, "SOFTMAX")
    assert result.status == -3
    assert result.text == (
        "operator 0 (SOFTMAX) of subgraph 0: Vela left it to the CPU, and this build has no kernel "
        "for it; run: make firmware ETHOSU_KERNELS=all"
    )


def test_a_chosen_kernel_is_built_in(build_cases, tmp_path):
    assert _load(build_cases("-DETHOSU_KERNEL_LIST=KERNEL(PAD)"), tmp_path, "PAD").status == 0


def test_unknown_name_is_refused(repo):
    make_it = ["make", "-f", "-", "ETHOSU_KERNELS=CONV_2D CONV_3D"]
    text = f"USERMOD_DIR := {repo}/modules/ethosu\ninclude $(USERMOD_DIR)/micropython.mk\nall:\n"
    done = subprocess.run(make_it, input=text, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    rows = (repo / "modules/ethosu/runtime/kernels/kernels.def").read_text()
    known = " ".join(re.findall(r"^KERNEL\(([A-Z0-9_]+),", rows, re.MULTILINE))
    assert f"unknown kernel CONV_3D; expected: {known}" in done.stderr


def test_sizes_are_printed(repo, tmp_path):
    script = repo / "modules/ethosu/runtime/kernels/sizes.sh"
    flags = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -O0"
    lines = sharing.run([script, tmp_path, flags]).splitlines()
    sizes = {line.split()[1]: int(line.split()[0]) for line in lines}
    assert 0 < sizes["RELU"] < sizes["CONV_2D"]


def test_a_build_without_kernels_carries_none(repo):
    """A build without kernels contains none, since the table no longer refers to them."""
    module = repo / "modules/ethosu"
    paths = [f"-I{module / name}" for name in (".", "driver/include", "runtime/include")]
    command = [*cbuild.CORTEX_M55, *paths, "-DETHOSU_KERNEL_LIST="]
    (table,) = sharing.objects(command, [module / "runtime/kernels/registry.c"])
    assert cbuild.run(["arm-none-eabi-nm", "-u", table]) == ""
