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


def web() -> None:
    """Skip the test where the board WEB was not built."""
    if shutil.which("node") is None:
        missing("node is missing: apt-get install nodejs")
    try:
        paths.web_image()
    except SetupError as error:
        missing(str(error))
