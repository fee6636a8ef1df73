# SPDX-License-Identifier: MIT
"""Every operator that Vela can place on an Ethos-U has a generator."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.sim.oracle import OPTIMISED

from .families import U55_U65, U85

TABLES = {
    "## Ethos-U55 and Ethos-U65 TFLite Summary Table": U55_U65,
    "## Ethos-U85 TFLite Summary Table": U85,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> str:
    folder: Path = tmp_path_factory.mktemp("report")
    command = [sys.executable, "-m", "ethosu.vela", "--supported-ops-report"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "SUPPORTED_OPS.md").read_text()


@pytest.fixture(params=TABLES, ids=[family.name for family in TABLES.values()])
def title(request) -> str:
    return request.param


@pytest.fixture
def family(title):
    return TABLES[title]


@pytest.fixture
def reported(report, title) -> set[str]:
    table = report[report.index(title) + len(title) :].partition("\n## ")[0]
    return set(re.findall(r"^\| ([A-Z0-9_]+) \|", table, re.MULTILINE))


def test_report_is_understood(reported):
    assert len(reported) > 50
    assert {"CONV_2D", "UNPACK", "UNIDIRECTIONAL_SEQUENCE_LSTM"} <= reported


def test_exactly_the_reported_operators_have_generators(reported, family):
    assert set(family.generators) == reported


def test_special_treatment_names_operators_that_exist(family):
    special = set(OPTIMISED) | BOUNDS.keys() | family.never_on_npu.keys()
    assert family.alone | special <= family.generators.keys()


def test_operators_with_a_bound_or_other_kernels_are_tested_alone(family):
    assert set(OPTIMISED) | BOUNDS.keys() <= family.alone
