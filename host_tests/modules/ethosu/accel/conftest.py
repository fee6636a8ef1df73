# SPDX-License-Identifier: MIT
"""Fixtures: the simulated device, and a small model."""

import pytest

from host_tests.kit.models.reference_cases import make_case
from host_tests.modules.ethosu.accel.kernel import simulated


@pytest.fixture
def kernel():
    """Return the device, with an Ethos-U65-256; a test must close everything it opens."""
    with simulated("ethos-u65-256") as kernel:
        yield kernel


@pytest.fixture
def case(small_models):
    """Return a model, its inputs, and TFLite's results."""
    return make_case(small_models["small_cnn"], 2, extremes=False)
