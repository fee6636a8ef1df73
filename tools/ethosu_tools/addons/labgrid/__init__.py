# SPDX-License-Identifier: MIT
"""Labgrid places as ports."""

OFFERS = {
    "kit": {"labgrid": "doctor:KIT"},
    "port": {"labgrid": "labgrid:PLACE or labgrid:TAG=VALUE"},
    "scheme": {"labgrid": "places"},
    "doctor": {"labgrid": "doctor"},
}
