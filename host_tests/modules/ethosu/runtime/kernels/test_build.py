# SPDX-License-Identifier: MIT
"""Builds with few kernels, or none."""

import subprocess

import pytest

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
    done = subprocess.run([script, tmp_path], capture_output=True, text=True, check=True)
    sizes = {line.split()[1]: int(line.split()[0]) for line in done.stdout.splitlines()}
    assert 0 < sizes["RELU"] < sizes["CONV_2D"]


def test_a_build_without_kernels_carries_none(repo, tmp_path):
    kernels = repo / "modules/ethosu/runtime/kernels"
    objects = []
    for source in kernels.glob("*.c"):
        objects.append(tmp_path / f"{source.stem}.o")
        command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-O2"]
        command += ["-std=gnu11", "-ffunction-sections", "-fdata-sections"]
        command += [
            f"-I{repo}/modules/ethosu{part}"
            for part in ("", "/driver", "/driver/include", "/runtime")
        ]
        command += ["-DETHOSU_KERNEL_LIST=", "-c", source, "-o", objects[-1]]
        subprocess.run(command, check=True)
    linked = tmp_path / "linked"
    command = ["arm-none-eabi-ld", "-r", "--gc-sections", "-u", "kernel_find", "-o", linked]
    subprocess.run([*command, *objects], check=True)
    names = subprocess.run(["arm-none-eabi-nm", linked], capture_output=True, text=True, check=True)
    functions = [line.split()[-1] for line in names.stdout.splitlines() if " T " in line]
    assert functions == ["kernel_find"]
