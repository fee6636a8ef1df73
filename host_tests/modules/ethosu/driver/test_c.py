# SPDX-License-Identifier: MIT
"""The driver on the simulator, with scripted faults and timing, under ASan and UBSan.

Each test is a TEST() of a C source; run one alone with `pytest -k its_name`.
"""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild

SOURCES = sorted(path.name for path in cbuild.C.glob("test_*.c"))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One program for each C source."""
    folder = tmp_path_factory.mktemp("driver")
    frame = ["board.c", "check.c"]
    return {
        source: cbuild.link(folder / source[:-2], "address", [source, *frame], *cbuild.ALL)
        for source in SOURCES
    }


@pytest.mark.parametrize(
    ("source", "name"), [(source, name) for source in SOURCES for name in cbuild.names(source)]
)
def test_driver(programs: dict[str, Path], source: str, name: str) -> None:
    """One named test of a C source."""
    cbuild.run([programs[source], name])
