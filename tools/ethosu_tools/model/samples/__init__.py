# SPDX-License-Identifier: MIT
"""Samples of models and sounds that others made: wake words, and speech."""
