# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

PACKAGES = (("labgrid", "labgrid", "ports labgrid:PLACE"),)
