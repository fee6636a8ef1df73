# SPDX-License-Identifier: MIT
"""Labgrid places as ports."""

OFFERS = {"scheme": {"labgrid": "places"}, "doctor": {"labgrid": "doctor"}}
