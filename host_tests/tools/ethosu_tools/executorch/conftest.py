# SPDX-License-Identifier: MIT
"""What Vela's raw output holds, for programs of our own."""

from host_tests.modules.ethosu.runtime.conftest import vela  # noqa: F401
from host_tests.modules.ethosu.runtime.executorch.conftest import raw  # noqa: F401
