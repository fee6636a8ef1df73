# SPDX-License-Identifier: MIT
"""The benchmarks of `ethosu bench`, one module each.

A module here is made like a command (`commands/__init__.py`); its docstring begins
"`ethosu bench NAME`: what it measures." Tests print the figures of this project itself.
"""
