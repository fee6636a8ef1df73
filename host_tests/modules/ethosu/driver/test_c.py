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


SLOW = "every_sequence_of_five_calls_leaves_the_driver_usable"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == SLOW else [])
        for name in cbuild.names(*cbuild.TESTS)
    ],
)
def test_driver(program: Path, name: str) -> None:
    """One named test."""
    cbuild.run([program, name])


@pytest.fixture(scope="module")
def with_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of prepared programs, with handles that keep three payloads."""
    own = sorted((cbuild.REPO / "modules/ethosu/driver").glob("*.c"))
    sources = [*(cbuild.C / name for name in ("test_prepare.c", "board.c", "check.c")), *own]
    flags = cbuild.sanitized("address", "-DETHOSU_EXT_STREAMS=3")
    libraries = cbuild.group(*cbuild.archives("address", *cbuild.HOST))
    output = tmp_path_factory.mktemp("three") / "driver"
    return cbuild.sharing.program(output.name, [*flags, *sources, *libraries, "-lm", "-o"])


@pytest.mark.parametrize("name", cbuild.names("test_prepare.c"))
def test_a_handle_keeps_several_payloads(with_three: Path, name: str) -> None:
    """ETHOSU_EXT_STREAMS."""
    cbuild.run([with_three, name])
