# SPDX-License-Identifier: MIT
"""Finds what is wrong: the first layer that differs, an error text, a model that does not fit."""
