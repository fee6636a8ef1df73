# SPDX-License-Identifier: MIT
"""Mutation testing: small faults are seeded into the sources, and the tests must find them."""
