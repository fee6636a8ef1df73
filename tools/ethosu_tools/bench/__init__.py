# SPDX-License-Identifier: MIT
"""The benchmarks of `ethosu bench`, one module each.

A module here offers the three functions of a command (`commands/__init__.py`);
`commands/bench.py` lists it. All of them count what repeats, such as
instructions, and none measures time.
"""
