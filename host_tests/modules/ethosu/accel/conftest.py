# SPDX-License-Identifier: MIT
"""The simulated device."""

import pytest

from host_tests.modules.ethosu.accel.kernel import simulated


@pytest.fixture
def kernel():
    """The device, with an Ethos-U65-256; a test must close everything it opens."""
    with simulated("ethos-u65-256") as kernel:
        yield kernel
