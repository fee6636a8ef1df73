# SPDX-License-Identifier: MIT
"""Every kernel computes what TFLite's reference kernels do, bit by bit, under ASan and UBSan."""

import re

import pytest
from ai_edge_litert import schema_py_generated as schema

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
    kernels = re.findall(r"^KERNEL\((\w+), \d+, \w+\)$", text, re.MULTILINE)
    assert kernels == sorted(GENERATORS)


def test_operators_are_the_schemas(repo):
    text = (repo / "modules/ethosu/runtime/operators.def").read_text()
    ours = {name: int(code) for name, code in re.findall(r"OPERATOR\((\w+), (\d+)\)", text)}
    schemas = {k: v for k, v in vars(schema.BuiltinOperator).items() if k.isupper()}
    assert ours and ours.items() <= schemas.items()
