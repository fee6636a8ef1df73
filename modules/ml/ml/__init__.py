# SPDX-License-Identifier: MIT
"""OpenMV's `ml` for an Ethos-U NPU, on the modules `ethosu` and `ethosu_image`.

Arrays of ulab passed as inputs are real values, whatever their dtype, as in OpenMV. (In `ethosu`,
an int8 array is raw values, so scripts for the two differ.)
"""

from . import preprocessing, utils
from .model import Model
from .preprocessing import Normalization

__all__ = ("Model", "Normalization", "preprocessing", "utils")
