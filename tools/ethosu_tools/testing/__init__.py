# SPDX-License-Identifier: MIT
"""Tests on boards: the pytest plugin and its pool of boards."""
