# SPDX-License-Identifier: MIT
"""Drawings of a model: its arena over time and, for a page, a roofline."""
