# SPDX-License-Identifier: MIT
"""What a test needs that a machine may lack."""

import os
import shutil
from typing import NoReturn

import pytest
from ethosu_tools import paths
from ethosu_tools.errors import SetupError


def missing(reason: str) -> NoReturn:
    """Skip the test with this reason; where all tests have to run (CI=true), it fails with it."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def python_with(package: str, variable: str) -> str:
    """The Python that a variable names; skip the test without it, whose package is no requirement.

    CI=true does not need it either: these packages do not fit into the environment of the tests.
    """
    found = os.environ.get(variable)
    if not found:
        pytest.skip(f"NOT TESTED WITH {package}: {variable} names no Python that has it")
    return found


def web() -> None:
    """Skip the test where the board WEB was not built."""
    if shutil.which("node") is None:
        missing("node is missing: apt-get install nodejs")
    try:
        paths.web_image()
    except SetupError as error:
        missing(str(error))
