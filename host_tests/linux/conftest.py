# SPDX-License-Identifier: MIT
"""Fixtures: Debian's kernel and the client, or a message that names what is missing."""

import pytest

from host_tests.kit.debian import PackageMissingError
from host_tests.linux import kernel, machine


@pytest.fixture(scope="session")
def linux() -> machine.Linux:
    """Return the kernel and the client for booting."""
    try:
        return machine.Linux(kernel.get(), machine.build_client())
    except PackageMissingError as error:
        pytest.skip(f"NOT TESTED WITH LINUX: {error}")
