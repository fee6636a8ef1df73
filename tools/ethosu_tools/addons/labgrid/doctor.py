# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

from ...base.other_python import Kit

KIT = Kit("labgrid", "import labgrid.remote.client", "ports labgrid:PLACE")
PACKAGES = (("labgrid", "labgrid", "ports labgrid:PLACE"),)
