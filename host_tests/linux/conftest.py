# SPDX-License-Identifier: MIT
"""Fixtures: Debian's kernel and the client, or a sentence that says what is missing."""

import pytest
from debian import PackageMissingError

# Fixtures of these names.
from modules.ethosu.runtime.conftest import vela
from modules.ethosu.runtime.executorch.conftest import raw
from modules.ethosu.runtime.kernels.conftest import compile_mixed

from linux import kernel, machine

__all__ = ["compile_mixed", "raw", "vela"]


@pytest.fixture(scope="session")
def linux() -> machine.Linux:
    """All that is needed to boot."""
    try:
        return machine.Linux(kernel.get(), machine.build_client())
    except PackageMissingError as error:
        pytest.skip(f"NOT TESTED WITH LINUX: {error}")
