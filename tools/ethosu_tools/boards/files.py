# SPDX-License-Identifier: MIT
"""Reads board.toml and the chip.toml under it: all that firmware and tools know about a board.

firmware/make/board.py uses it with the system's Python, so it needs only the standard library.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The board that commands emulate by default.
DEFAULT = "MPS3_AN547"
FILE = "board.toml"
# The file of a machine that runs third-party firmware only.
MACHINE_FILE = "machine.toml"
CHIP_FILE = "chip.toml"
CHIPS = "firmware/chips"


def files(root: Path, name: str = FILE) -> list[Path]:
    """The files of this name in the folders of boards."""
    return sorted((root / "boards").glob(f"*/{name}"))


def read(root: Path, path: Path) -> dict[str, Any]:
    """Read a board.toml merged over the file of its chip, with all variants."""
    table = tomllib.loads(path.read_text())
    if "chip" in table:
        return over(tomllib.loads((root / CHIPS / table["chip"] / CHIP_FILE).read_text()), table)
    return table


def variants(name: str, table: dict[str, Any]) -> list[str]:
    """Name the boards in a folder: FOLDER-VARIANT for each variant, or FOLDER.

    The first variant is the usual one: tools take it if only the folder is named.
    """
    return [f"{name}-{variant}" for variant in table.get("variants", ())] or [name]


def variant_of(name: str) -> str:
    """Return the variant of a board, or "" if it has none."""
    return name.partition("-")[2]


def choose(table: dict[str, Any], name: str) -> dict[str, Any]:
    """Merge the entries of the variant of a board, FOLDER-VARIANT or FOLDER, over the table."""
    variant = variant_of(name)
    return over(table, table["variants"][variant]) if variant else table


def of_npu(table: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the table of each NPU, with the NPU's entries of [by_npu], if any."""
    plain = {key: value for key, value in table.items() if key not in ("by_npu", "variants")}
    npus, entries = table.get("npus"), table.get("by_npu", {})
    if not isinstance(npus, list) or not all(isinstance(npu, str) for npu in npus):
        return {"": plain}  # which is an error for whoever fills it
    return {npu: over(plain, entries.get(npu, {})) for npu in (*npus, *entries)}


def over(table: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    """Merge two tables level by level; entries of `upper` win."""
    merged = dict(table)
    for key, value in upper.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            value = over(below, value)
        merged[key] = value
    return merged
