# SPDX-License-Identifier: MIT
"""Models of mixed graphs, compiled and planned."""

import functools

import pytest

from host_tests.kit.models.mixed_models import MODELS


@pytest.fixture(scope="session")
def mixed(compile_mixed):
    """Compile models of mixed_models once each, by name: `mixed("svdf")`."""

    @functools.cache
    def make(name: str):
        return compile_mixed(name, MODELS[name].make(), MODELS[name].options)

    return make
