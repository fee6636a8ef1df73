# SPDX-License-Identifier: MIT
"""What the page needs."""

PROGRAMS, READERS = {}, {}
INSTALLED = {"modules/ethosu/executorch/pytorch.md": ("executorch", "EXECUTORCH_PYTHON")}
