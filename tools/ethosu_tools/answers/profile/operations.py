# SPDX-License-Identifier: MIT
"""What the NPU does in an inference, operation by operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...model.arrays import Array
from ...sim import table
from ...sim.trace import traffic
from .. import views
from ..subject import Subject

_HEAD = ("#", "layer", "operation", "IFM", "IFM2", "OFM", "kernel", "MACs", "read", "written",
         "cycles")  # fmt: skip
_LONGEST = 30  # longest name of a layer in the table


def record(
    examined: Subject, inputs: Sequence[Array] | None, maps: dict[str, np.ndarray] | None
) -> dict[str, Any]:
    """Record the operations of one inference with these inputs, in the system's memories.

    `maps` gets the output of each operation, under its number.
    """
    file, memories = examined.file, examined.system.memories
    operations = table.record(file, memories, coherence="off", inputs=inputs, maps=maps)
    names = table.Names(file).of(operations)
    return {
        "commands": sum(operation.commands for operation in operations),
        "traffic": {str(region): sums for region, sums in traffic(operations).items()},
        "operations": [
            {"layer": name, **each.as_dict()} for name, each in zip(names, operations, strict=True)
        ],
    }


def text(data: dict[str, Any]) -> list[str]:
    """The operations as a table, with the traffic of each region below."""
    rows = [_row(index, each) for index, each in enumerate(data["operations"])]
    lines = [views.text(_HEAD, rows, "#", "MACs", "cycles"), ""]
    for region, sums in data["traffic"].items():
        lines.append(f"region {region}: {sums['read']:,} bytes read, {sums['written']:,} written")
    return [*lines, f"commands: {data['commands']:,} bytes read", ""]


def _row(index: int, operation: dict[str, Any]) -> tuple[str, ...]:
    name = operation["name"].removeprefix("NPU_OP_")
    height, width = operation["kernel"]
    return (
        str(index),
        operation["layer"][:_LONGEST],
        f"{name} {operation['mode']}" if operation["mode"] else name,
        *(_map(operation[key]) for key in ("ifm", "ifm2", "ofm")),
        f"{height}x{width}" if height else "",
        f"{operation['macs']:,}" if operation["macs"] else "",
        _traffic(operation["read"]),
        _traffic(operation["written"]),
        f"{operation['cycles']:,}",
    )


def _map(map_: dict[str, Any] | None) -> str:
    if map_ is None:
        return ""
    shape = "x".join(str(size) for size in map_["shape"])
    region = f"chain {map_['region']}" if map_["chained"] else f"@{map_['region']}"
    return f"{map_['dtype']} {shape} {region}"


def _traffic(amounts: dict[str, int]) -> str:
    return " ".join(f"{count:,}@{region}" for region, count in amounts.items())
