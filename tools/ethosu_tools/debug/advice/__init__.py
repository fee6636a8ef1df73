# SPDX-License-Identifier: MIT
"""Why operators stay on the CPU, and changes of the model that bring them to the NPU.

instead.py   what to write instead of operators that nothing here computes
edit.py      replaces an operator of a model by others
rewrites.py  the table of changes; resampling.py and windows.py have their functions
trial.py     applies, compiles, runs and measures them
"""
