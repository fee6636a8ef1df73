# SPDX-License-Identifier: MIT
"""Helpers for all tests: images, builds, packages, and missing requirements."""
