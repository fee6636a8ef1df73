# SPDX-License-Identifier: MIT
"""Validates a model over a data set: data.py reads it, work.py runs blocks of samples, on one
machine or on a Dask cluster; results.py is what comes out of a block, and of all.
"""
