# SPDX-License-Identifier: MIT
"""The library that gives CPU and NPU separate copies of memory, under ASan and UBSan.

Each test is a TEST() of the C source; run one alone with `pytest -k its_name`.
"""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild

SOURCE = Path(__file__).parent / "c/test_coherence.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests, linked with the simulator's library."""
    output = tmp_path_factory.mktemp("coherence") / "test_coherence"
    return cbuild.link(output, "address", [str(SOURCE), "check.c"], cbuild.SIM)


@pytest.mark.parametrize("name", cbuild.names(str(SOURCE)))
def test_coherence(program: Path, name: str) -> None:
    """One named test of the C source."""
    cbuild.run([program, name])
