# SPDX-License-Identifier: MIT
"""Finds causes: of results that differ, of an error message, of a model that does not fit."""
