# SPDX-License-Identifier: MIT
"""What Vela's raw output holds, for programs of our own."""

from modules.ethosu.runtime.conftest import vela  # noqa: F401
from modules.ethosu.runtime.executorch.conftest import raw  # noqa: F401
