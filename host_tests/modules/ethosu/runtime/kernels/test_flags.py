# SPDX-License-Identifier: MIT
"""No flag of the compiler changes what a kernel computes.

MicroPython's ports use -fsingle-precision-constant: a constant like 0.1 is a float then.
"""

import subprocess

import pytest

from . import runner
from .maker import GENERATORS

SINGLE = "-fsingle-precision-constant"
CASES = 30
GCC = [
    "arm-none-eabi-gcc",
    "-mcpu=cortex-m55",
    "-mthumb",
    "-mfloat-abi=hard",
    "-std=gnu11",
    "-O1",
]


def assembly(repo, source, *flags):
    module = repo / "modules/ethosu"
    paths = [f"-I{module / folder}" for folder in (".", "driver", "driver/include", "runtime")]
    command = [*GCC, "-ffp-contract=off", *flags, *paths, "-S", "-o", "-", source]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_single_precision_constants_change_no_instruction(repo):
    sources = sorted((repo / "modules/ethosu/runtime").rglob("*.c"))
    assert len(sources) > 40
    changed = [s.name for s in sources if assembly(repo, s) != assembly(repo, s, SINGLE)]
    assert changed == []


@pytest.fixture(scope="module")
def single_cases(build_cases):
    """run_cases.c on kernels that were compiled with that flag."""
    return build_cases(SINGLE)


# Implied by the test above: the same instructions compute the same.
@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_equals_the_reference_with_single_precision_constants(single_cases, tmp_path, name):
    assert runner.check(single_cases, tmp_path, name, CASES) == []
