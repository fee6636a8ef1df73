# SPDX-License-Identifier: MIT
"""The driver on the simulator, with scripted faults and timing, under ASan and UBSan.

Each test is a TEST() of a C source; run one alone with `pytest -k its_name`.
"""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All C tests of the folder."""
    return cbuild.test_program(tmp_path_factory.mktemp("driver"), "address")


@pytest.mark.parametrize("name", cbuild.names(*cbuild.TESTS))
def test_driver(program: Path, name: str) -> None:
    """One named test."""
    cbuild.run([program, name])
