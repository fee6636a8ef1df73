# SPDX-License-Identifier: MIT
"""Rows of host_tests/tree/make/test_gone.py."""

LISTS = {
    "Linux": (
        *("modules/ethosu/accel", "all archive", "modules/ethosu/runtime/run/mutable.c"),
        ("accel/libethosu_accel.so", "accel/libethosu_accel.a"),
    ),
}
