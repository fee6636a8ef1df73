# SPDX-License-Identifier: MIT
"""NPUs under Linux: its own driver on a board, and its kernel in QEMU."""

OFFERS = {
    "native": {"accel": "accel:AccelModel"},
    "command": {"linux": "command"},
    "doctor": {"linux": "doctor"},
}
