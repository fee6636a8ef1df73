# SPDX-License-Identifier: MIT
"""The benchmarks of `ethosu bench`, one module each.

A module here is made like a command (`commands/__init__.py`); its docstring begins
"`ethosu bench NAME`: what it measures." The figures repeat: they are counts, such as instructions,
and where only time will do, ratios of runs in pairs.
"""
