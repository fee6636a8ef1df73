# SPDX-License-Identifier: MIT
"""The benchmarks of `ethosu bench`, one module each.

A module here has the structure of a command (`commands/__init__.py`); its docstring begins
"`ethosu bench NAME`: what it measures." Other figures about this project itself than their growth
are printed by its tests.
"""
