# SPDX-License-Identifier: MIT
"""Rows of the table of layers as plain data for JSON, and that data as text or HTML.

COLUMNS formats the cells of a layer; commands choose the columns to show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # NumPy, which `ethosu boards` does not need
    from ..sim.table import Layer

_ON_CPU = "on the CPU"

Row = Mapping[str, Any]


def as_dict(layer: Layer, total: int, peak: int) -> dict[str, Any]:
    """Plain data, relative to `total` cycles on an NPU with `peak` MACs per cycle."""
    cycles = layer.cycles if layer.on_npu else None
    return {
        "name": layer.name,
        "on": "npu" if layer.on_npu else "cpu",
        "cycles": cycles,
        "share": None if cycles is None else cycles / max(1, total),
        "macs": layer.macs,
        "mac_use": layer.macs / (cycles * peak) if cycles else None,
        "bound": layer.bound,
        "operations": len(layer.operations) if layer.on_npu else 1,
        "read": dict(layer.read),
        "written": dict(layer.written),
    }


def peak(npu: str) -> int:
    """MACs of an NPU per cycle."""
    return int(npu.rpartition("-")[2])


def _moved(row: Row) -> int:
    """All bytes that a layer reads and writes."""
    return sum([*row["read"].values(), *row["written"].values()])


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in amounts.items() if count)


# Text of each column, for a layer on the NPU.
COLUMNS: dict[str, Callable[[Row], str]] = {
    "cycles": lambda row: f"{row['cycles']:,}",
    "share": lambda row: f"{row['share']:.1%}",
    "MACs": lambda row: f"{row['macs']:,}",
    "MAC use": lambda row: "" if row["mac_use"] is None else f"{row['mac_use']:.0%}",
    "bytes": lambda row: f"{_moved(row):,}",
    "read": lambda row: _amounts(row["read"]),
    "written": lambda row: _amounts(row["written"]),
}
NUMBERS = ("cycles", "share", "MACs", "MAC use", "bytes")


def cell(row: Row | None, column: str) -> str:
    """Text of a column for a layer; "-" if the model has no such layer."""
    if row is None:
        return "-"
    if column == "layer":
        return str(row["name"])
    if column == "bound":
        return _ON_CPU if row["on"] == "cpu" else str(row["bound"])
    return "" if row["on"] == "cpu" else COLUMNS[column](row)


def cells(rows: Sequence[Row], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The text of these columns."""
    return [tuple(cell(row, column) for column in columns) for row in rows]


def difference(figures: Row) -> str:
    """Text of the output differences of a Difference, as plain data."""
    values = f"{figures['values']:,} values of {figures['steps']} random inputs"
    if not figures["differing"]:
        return f"equal: {values}"
    return (
        f"{figures['differing']:,} of {values} differ, by at most {figures['largest']:g}, "
        f"on average {figures['mean']:.3g}"
    )


def text(head: Sequence[str], rows: Sequence[Sequence[str]], *numbers: str) -> str:
    """A table for a terminal; numeric columns are right-aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            each.rjust(width) if name in numbers else each.ljust(width)
            for name, each, width in zip(head, row, widths, strict=True)
        ).rstrip()
        for row in (head, *rows)
    )


def html(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for an HTML page."""
    lines = [_line("th", head), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, row: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(each)}</{tag}>" for each in row) + "</tr>"
