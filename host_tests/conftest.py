# SPDX-License-Identifier: MIT
"""Fixtures for the tests of all parts; `board` comes from ethosu_tools.pytest_plugin."""

import os
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repo() -> Path:
    """Root of the source tree."""
    return REPO


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """Where the parts' builds go."""
    return REPO / "build"


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Folder of third-party models beside the tree."""
    models = REPO.parent / "shared" / "models"
    if not models.is_dir():
        reason = f"{models} is not there: third-party models are not part of the tree"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return models
