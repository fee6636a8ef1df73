# SPDX-License-Identifier: MIT
"""Tests the data cache of sim_host, under ASan and UBSan.

Each test is a TEST() of the C source; the output names those that fail.
"""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild

SOURCE = Path(__file__).parent / "c/test_cache.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Link the tests with driver, board and simulator."""
    output = tmp_path_factory.mktemp("sim_host") / "test_cache"
    return cbuild.link(
        output, "address", [str(SOURCE), "c/check.c"], cbuild.DRIVER, cbuild.BOARD, cbuild.SIM
    )


def test_cache(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests of the C source pass."""
    monkeypatch.delenv("ETHOSU_COHERENCE", raising=False)
    print(cbuild.run([program, *cbuild.names(str(SOURCE))]))
