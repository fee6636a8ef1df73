# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

PACKAGES = (("executorch", "executorch", "ethosu compile of PyTorch"),)
