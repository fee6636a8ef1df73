# SPDX-License-Identifier: MIT
"""Every kernel computes what TFLite's reference kernels do, bit by bit, under ASan and UBSan."""

import re

import pytest

from . import runner
from .maker import GENERATORS

CASES = 100
MANY = 1000


@pytest.mark.parametrize("name", GENERATORS)
def test_equals_the_reference(run_cases, tmp_path, name):
    assert runner.check(run_cases, tmp_path, name, CASES) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_equals_the_reference_on_many(run_cases, tmp_path, name):
    assert runner.check(run_cases, tmp_path, name, MANY) == []


def test_every_kernel_is_tested(repo):
    text = (repo / "modules/ethosu/runtime/kernels/kernels.def").read_text()
    assert set(re.findall(r"KERNEL\((\w+)\)", text)) <= set(GENERATORS)
