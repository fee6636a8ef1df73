# SPDX-License-Identifier: MIT
"""Compares two compiled files without their source, one NPU operation at a time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...base.errors import InputError, MismatchError
from ...model.arrays import Array
from ...sim.difference import Difference
from . import registers
from .observe import Record
from .search import Row
from .sides import Side, compared


def compare(a: Side, b: Side, tolerance: float | None) -> dict[str, Any]:
    """Return the rows of `ethosu bisect`: operations, or layers if the operations differ."""
    for side in (a, b):
        if isinstance(side.outcome, str):
            raise InputError(f"{side.file} does not run: {side.outcome}")
    seen = [side.seen for side in (a, b)]
    if seen[0] is None or seen[1] is None:
        raise InputError(f"{a.file} and {b.file} cannot be compared: pass --source")
    rows = [*_aligned(seen[0], seen[1], tolerance), *_outputs(a, b, tolerance)]
    layers = [Row(number, *row).as_dict() for number, row in enumerate(rows)]
    at = next((n for n, (_, each) in enumerate(rows) if each and each.differs), None)
    result = {
        "layers": layers,
        "compared": sum(each is not None for _, each in rows),
        "first": None,
        "exit_code": 0,
    }
    if at is None or a.compiled is None or b.compiled is None:
        return result
    found = registers.differences(a.compiled, b.compiled) or []
    own = [row for row in found if row.layer == rows[at][0] or row.operation == at]
    return result | {
        "first": {**layers[at], "error": None, "group": []},
        "registers": [asdict(row) for row in own or found],
        "defects": [],
        "exit_code": MismatchError.exit_code,
    }


def _aligned(a: Record, b: Record, tolerance: float | None) -> list[tuple[str, Difference | None]]:
    """Pair equal operations; if they are not equal, pair layers by the last map of each."""
    kinds = [
        [(operation.kind, operation.ofm and operation.ofm.shape) for operation in each.operations]
        for each in (a, b)
    ]
    if kinds[0] == kinds[1]:
        pairs = [(name, number, number) for number, name in enumerate(a.names)]
    else:
        last = [{name: number for number, name in enumerate(each.names)} for each in (a, b)]
        pairs = [
            (name, number, last[1][name]) for name, number in last[0].items() if name in last[1]
        ]
    return [(name, _measure(a, b, one, other, tolerance)) for name, one, other in pairs]


def _measure(
    a: Record, b: Record, one: int, other: int, tolerance: float | None
) -> Difference | None:
    columns: list[list[Array]] = []
    for each, number in ((a, one), (b, other)):
        maps = [step[number] for step in each.maps]
        columns.append([map_ for map_ in maps if map_ is not None])
    if not columns[0] or len(columns[0]) != len(columns[1]):
        return None
    if columns[0][0].dtype != columns[1][0].dtype:
        return None
    return compared(columns[0], columns[1], tolerance=tolerance)


def _outputs(a: Side, b: Side, tolerance: float | None) -> list[tuple[str, Difference | None]]:
    tensors = a.file.description.outputs, b.file.description.outputs
    if len(tensors[0]) != len(tensors[1]):
        raise InputError(f"{a.file} has {len(tensors[0])} outputs, {b.file} {len(tensors[1])}")
    rows = []
    for place, kinds in enumerate(zip(*tensors, strict=True)):
        columns = [
            [step[place] for step in side.outcome if not isinstance(step, str)] for side in (a, b)
        ]
        name = f"output {place} {kinds[0].name}"
        rows.append((name, compared(columns[0], columns[1], kinds, tolerance)))
    return rows
