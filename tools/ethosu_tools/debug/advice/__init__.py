# SPDX-License-Identifier: MIT
"""Explains why operators stay on the CPU, and changes a model to move them to the NPU.

instead.py   alternatives to operators that nothing here computes
edit.py      replaces an operator of a model by others
rewrites.py  the table of changes; resampling.py and windows.py have their functions
trial.py     applies, compiles, runs and measures them
"""
