# SPDX-License-Identifier: MIT
"""Finds the first layer that differs between two ways to compute a model.

ways.py       the ways: TFLite's kernels, Vela and the simulated NPU
observe.py    values of layers while the simulator runs a compiled model
sides.py      the two sides, and how far their values differ
search.py     the search: observed values first, then cuts of the model
shrink.py     the smallest cut that shows the difference
registers.py  registers in which two compiled models differ
structure.py  what differs between two models, whatever their values
report.py     files and text for a bug report
"""
