# SPDX-License-Identifier: MIT
"""OpenMV's modules for scripts that run on an emulated board."""

OFFERS = {"rom": {"openmv": "modules"}}
