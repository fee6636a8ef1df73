# SPDX-License-Identifier: MIT
"""Answers on a model file: where it runs, how fast, how exactly; as text and pages."""
