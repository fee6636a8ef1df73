# SPDX-License-Identifier: MIT
"""Programs with the names and the command line of Arm's Fixed Virtual Platforms (FVP).

Scripts that start an FVP start the emulator instead: docs/fvp.md.
"""

from .models import MODELS
from .simulate import main

__all__ = ["MODELS", "main"]
