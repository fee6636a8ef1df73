# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

from . import accel

PROGRAMS = (("dtc", "device-tree-compiler", "ethosu linux"),)


CHECKS = (
    ("accel library", "--on accel", lambda: str(accel.library_file())),
    ("accel device", "--on accel", lambda: ", ".join(map(str, accel.devices()))),
)
