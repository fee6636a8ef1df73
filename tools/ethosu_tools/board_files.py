# SPDX-License-Identifier: MIT
"""board.toml with what it inherits: the one source of what firmware and tools know of a board.

firmware/board.py uses it with the system's Python, so it needs nothing but the standard library.
"""

import tomllib
from pathlib import Path
from typing import Any

# The emulated board that a command takes that is not told one.
DEFAULT = "MPS3_AN547"
FILE = "board.toml"
CHIP_FILE = "chip.toml"
CHIPS = "firmware/chips"


def files(root: Path, name: str = FILE) -> list[Path]:
    """The files of this name in the folders of boards."""
    return sorted((root / "boards").glob(f"*/{name}"))


def read(root: Path, path: Path) -> dict[str, Any]:
    """One board.toml over the file of its chip, still with all variants."""
    table = tomllib.loads(path.read_text())
    if "chip" in table:
        return over(tomllib.loads((root / CHIPS / table["chip"] / CHIP_FILE).read_text()), table)
    return table


def variants(name: str, table: dict[str, Any]) -> list[str]:
    """The names of a folder's boards: with variants FOLDER-VARIANT, else FOLDER."""
    return [f"{name}-{variant}" for variant in table.get("variants", ())] or [name]


def choose(table: dict[str, Any], variant: str) -> dict[str, Any]:
    """The table with the entries of a variant over its own."""
    return over(table, table["variants"][variant]) if variant else table


def over(table: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The table with the entries of another one over its own, level by level."""
    merged = dict(table)
    for key, value in more.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            value = over(below, value)
        merged[key] = value
    return merged
