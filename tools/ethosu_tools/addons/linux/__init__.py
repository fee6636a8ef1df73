# SPDX-License-Identifier: MIT
"""NPUs under Linux: the kernel's driver on a board, and the kernel in QEMU."""

OFFERS = {
    "native": {"accel": "accel:AccelModel"},
    "wheel library": {"accel": "accel/libethosu_accel.so"},
    "library": {"accel": "accel:load"},
    "place": {"accel": "this computer's NPU (or /dev/accel/accelN)"},
    "command": {"linux": "command"},
    "doctor": {"linux": "doctor"},
}
