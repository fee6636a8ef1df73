# SPDX-License-Identifier: MIT
"""Finds the add-ons: the packages in addons/. The rest of the tools knows none of them by name.

The dictionary OFFERS of an add-on's package lists what it offers: for each kind, names of objects
and where they are, as "MODULE:OBJECT" or "MODULE" in the package. The package itself imports
nothing, because every command reads all of these dictionaries.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = f"{__package__.rpartition('.')[0]}.addons"
_FOLDER = Path(__file__).parents[1] / "addons"


@cache
def offers(kind: str) -> Mapping[str, str]:
    """Map the names of a kind that add-ons offer, in alphabetical order, to their objects."""
    return {name: f"{addon}.{at}" for name, (addon, at) in _rows(kind).items()}


def texts(kind: str) -> Mapping[str, str]:
    """The same for a kind whose entries are no places but texts for the help."""
    return {name: text for name, (_, text) in _rows(kind).items()}


def _rows(kind: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for each in pkgutil.iter_modules([str(_FOLDER)]):
        table = getattr(importlib.import_module(f"{_PACKAGE}.{each.name}"), "OFFERS", {})
        found |= {name: (each.name, text) for name, text in table.get(kind, {}).items()}
    return dict(sorted(found.items()))


@cache
def load(kind: str, name: str) -> Any:
    """Import the object of this name; None if no add-on offers it."""
    at = offers(kind).get(name)
    if at is None:
        return None
    module, _, item = at.partition(":")
    loaded = importlib.import_module(f"{_PACKAGE}.{module}")
    return getattr(loaded, item) if item else loaded


def every(kind: str) -> dict[str, Any]:
    """Import all objects of a kind, by name."""
    return {name: load(kind, name) for name in offers(kind)}
