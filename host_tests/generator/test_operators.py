# SPDX-License-Identifier: MIT
"""Every operator that Vela can place on an Ethos-U55 or U65 has a generator."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .operators import ALONE, BOUNDS, GENERATORS, NEVER_ON_NPU, OPTIMISED_KERNELS, WITHOUT_GENERATOR

TABLE = "## Ethos-U55 and Ethos-U65 TFLite Summary Table"


@pytest.fixture(scope="module")
def reported(tmp_path_factory) -> set[str]:
    folder: Path = tmp_path_factory.mktemp("report")
    command = [sys.executable, "-m", "ethosu.vela", "--supported-ops-report"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
    text = (folder / "SUPPORTED_OPS.md").read_text()
    table = text[text.index(TABLE) + len(TABLE) :].partition("\n## ")[0]
    return set(re.findall(r"^\| ([A-Z0-9_]+) \|", table, re.MULTILINE))


def test_report_is_understood(reported):
    assert len(reported) > 50
    assert {"CONV_2D", "UNPACK", "UNIDIRECTIONAL_SEQUENCE_LSTM"} <= reported


def test_every_reported_operator_has_a_generator_or_a_reason(reported):
    assert reported - GENERATORS.keys() - WITHOUT_GENERATOR.keys() == set()


def test_no_generator_is_for_an_operator_outside_the_report(reported):
    assert (GENERATORS.keys() | WITHOUT_GENERATOR.keys()) - reported == set()


def test_special_treatment_names_operators_that_exist():
    special = ALONE | OPTIMISED_KERNELS | BOUNDS.keys() | NEVER_ON_NPU.keys()
    assert special <= GENERATORS.keys()


def test_what_is_bounded_or_judged_by_other_kernels_stands_alone():
    assert (OPTIMISED_KERNELS | BOUNDS.keys()) <= ALONE
