# SPDX-License-Identifier: MIT
"""Fixtures of all tests with programs: their conftest.py import them."""

import functools
from pathlib import Path

import pytest

from host_tests.kit import fixtures

from . import made


@pytest.fixture(scope="session")
def raw(vela, small_models):
    """Vela's raw output of small_cnn: `raw("u55")` for options by name or an NPU."""

    @functools.cache
    def get(name: str):
        options = made.OPTIONS.get(name, ("--accelerator-config", name))
        return made.binary(vela(small_models["small_cnn"], *options, "--output-format", "raw"))

    return get


@pytest.fixture(scope="session")
def shared_programs() -> Path:
    """Folder of exported programs next to the tree."""
    return fixtures.shared("executorch", "exported programs")
