# SPDX-License-Identifier: MIT
"""Validates a model over a data set: data.py reads it, work.py runs blocks of samples, locally
or on a cluster; results.py holds the results of a block and their sum.
"""
