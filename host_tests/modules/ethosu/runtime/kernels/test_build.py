# SPDX-License-Identifier: MIT
"""Builds with few kernels, or none."""

import subprocess

import pytest

from host_tests.modules.ethosu.runtime import cortex_m55

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
    assert "unknown kernel CONV_3D; expected: ADD ARG_MAX" in done.stderr


def test_sizes_are_printed(repo, tmp_path):
    script = repo / "modules/ethosu/runtime/kernels/sizes.sh"
    flags = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -O0"  # which takes half as long as -O2
    done = subprocess.run([script, tmp_path, flags], capture_output=True, text=True, check=True)
    sizes = {line.split()[1]: int(line.split()[0]) for line in done.stdout.splitlines()}
    assert 0 < sizes["RELU"] < sizes["CONV_2D"]


def test_a_build_without_kernels_carries_none(repo, tmp_path):
    registry, linked = repo / "modules/ethosu/runtime/kernels/registry.c", tmp_path / "linked"
    # The list is only read there; the archive holds the other sources, for any list.
    kernels = registry.parent.glob("*.[ch]")
    assert [path for path in kernels if "ETHOSU_KERNEL_LIST" in path.read_text()] == [registry]
    command = [*cortex_m55.GCC, "-DETHOSU_KERNEL_LIST=", "-c", registry]
    subprocess.run([*command, "-o", tmp_path / "registry.o"], check=True)
    command = ["arm-none-eabi-ld", "-r", "--gc-sections", "-u", "kernel_find", "-o", linked]
    subprocess.run([*command, tmp_path / "registry.o", cortex_m55.archive()], check=True)
    names = subprocess.run(["arm-none-eabi-nm", linked], capture_output=True, text=True, check=True)
    functions = [line.split()[-1] for line in names.stdout.splitlines() if " T " in line]
    assert functions == ["kernel_find"]
