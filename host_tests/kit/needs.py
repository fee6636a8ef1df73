# SPDX-License-Identifier: MIT
"""Finds test requirements that may be missing on a machine."""

import os
from pathlib import Path
from typing import NoReturn

import pytest
from ethosu_tools.base import other_python

from host_tests.kit import debian
from host_tests.tools.qemu_plugin import releases


def missing(reason: str) -> NoReturn:
    """Skip the test with this reason, or fail if all tests are required to run (CI=true)."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def python_with(extra: str, variable: str) -> str:
    """Return the Python that a variable names, else that of `ethosu doctor --install EXTRA`.

    Without either, the test is skipped, even with CI=true, because the packages are optional.
    """
    python = os.environ.get(variable) or other_python.environment(extra)
    if not python:
        pytest.skip(
            f"NOT TESTED WITH {extra.upper()}: run `ethosu doctor --install {extra}`, "
            f"or set {variable}"
        )
    return python


def tree(variable: str, what: str) -> Path:
    """Return another project's tree, named by a variable; skip the test without one."""
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set: no tree of {what} at hand")
    return Path(folder)


def qemu(release: str) -> Path:
    """Return the program of a release in releases.ALL."""
    try:
        return releases.program(release)
    except debian.PackageMissingError as error:
        missing(f"NOT TESTED WITH QEMU {release}: {error}")
