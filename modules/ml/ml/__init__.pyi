# SPDX-License-Identifier: MIT
"""OpenMV's `ml` for an Ethos-U NPU, on the modules `ethosu` and `ethosu_image`.

Each array of ulab that goes in is real values, whatever its dtype, as OpenMV has it. (In `ethosu`
an array of int8 is raw values: scripts for both differ there.)
"""

from . import preprocessing as preprocessing
from . import utils as utils
from .model import Model as Model
from .preprocessing import Normalization as Normalization
