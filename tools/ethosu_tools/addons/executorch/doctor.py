# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

from ...base.other_python import Kit

KIT = Kit(
    "ExecuTorch and PyTorch",
    "import executorch.exir",
    "PyTorch: ExecuTorch and PyTorch, 1.8 GB; on Linux, PyTorch from PyPI adds 3 GB of CUDA, "
    'unless --pip "--extra-index-url URL" selects PyTorch\'s CPU builds',
)
PACKAGES = (("executorch", "executorch", "ethosu compile of PyTorch"),)
