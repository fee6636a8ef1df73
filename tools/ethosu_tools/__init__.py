# SPDX-License-Identifier: MIT
"""Host tools of MicroPython on boards with an Arm Ethos-U NPU."""
