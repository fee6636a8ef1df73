# SPDX-License-Identifier: MIT
"""Long runs against faults and wear; each has a short form among the tests."""
