# SPDX-License-Identifier: MIT
"""The benchmarks of `ethosu bench`, one module each.

A module here offers the three functions of a command (`commands/__init__.py`);
`commands/bench.py` lists it. They give figures that repeat: counts, such as
instructions, and where only time will do, ratios of runs in pairs.
"""
