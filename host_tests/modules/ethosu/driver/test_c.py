# SPDX-License-Identifier: MIT
"""Tests the driver on the simulator, with scripted faults and timing, under ASan and UBSan.

Each test is a TEST() of a C source; the output names those that fail.
"""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build all C tests of the driver."""
    return cbuild.test_program(tmp_path_factory.mktemp("driver"), "address")


SLOW = "every_sequence_of_five_calls_leaves_the_driver_usable"
PREPARE = "payload/test_prepare.c"


@pytest.mark.parametrize("source", cbuild.TESTS)
def test_driver(program: Path, source: str) -> None:
    """All tests of a C source pass."""
    cbuild.run([program, *(name for name in cbuild.names(source) if name != SLOW)])


@pytest.mark.slow
def test_all_short_sequences(program: Path) -> None:
    cbuild.run([program, SLOW])


def test_a_handle_keeps_several_payloads() -> None:
    """Tests of prepared programs pass with ETHOSU_EXT_STREAMS=3, three payloads per handle."""
    parts = (cbuild.HERE / name for name in (PREPARE, *cbuild.FRAME))
    flags = cbuild.sanitized("address", "-DETHOSU_EXT_STREAMS=3")
    libraries = cbuild.group(*cbuild.archives("address", *cbuild.HOST))
    program = cbuild.sharing.program(
        "driver", [*flags, *parts, *cbuild.SOURCES, *libraries, "-lm", "-o"]
    )
    cbuild.run([program, *cbuild.names(PREPARE)])
