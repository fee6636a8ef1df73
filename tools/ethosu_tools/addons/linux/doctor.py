# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

from ...base import paths
from . import accel

PROGRAMS = (("dtc", "device-tree-compiler", "ethosu linux"),)


CHECKS = (
    ("accel library", "--on accel", lambda: str(paths.accel_library())),
    ("accel device", "--on accel", lambda: ", ".join(map(str, accel.devices()))),
)
