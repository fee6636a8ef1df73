# SPDX-License-Identifier: MIT
"""Tests the library that gives CPU and NPU separate copies of memory, with ASan and UBSan.

Each test is a TEST() of the C source; the output names those that fail.
"""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild

SOURCE = Path(__file__).with_suffix(".c")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Link the tests with the simulator's library."""
    output = tmp_path_factory.mktemp("coherence") / "test_coherence"
    return cbuild.link(output, "address", [str(SOURCE), "c/check.c"], cbuild.SIM)


def test_coherence(program: Path) -> None:
    """All tests of the C source pass."""
    cbuild.run([program, *cbuild.names(str(SOURCE))])
