# SPDX-License-Identifier: MIT
"""What a traced inference did, as plain data: names of modes, traffic per region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .hardware import Operation

# Modes of the operations that have some: the parameter of the command.
MODES = {
    "NPU_OP_POOL": ("MAX", "AVERAGE", "REDUCE_SUM"),
    "NPU_OP_ELEMENTWISE": (
        *("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL"),
    ),
}


def mode(operation: Operation) -> str | None:
    """Name of the operation's mode, None when it has none."""
    modes = MODES.get(operation.name)
    return modes[operation.param] if modes else None


def traffic(operations: Sequence[Operation]) -> dict[int, dict[str, int]]:
    """Bytes read and written in each region that the operations touched."""
    regions: dict[int, dict[str, int]] = {}
    for operation in operations:
        for kind, amounts in (("read", operation.read), ("written", operation.written)):
            for region, count in enumerate(amounts):
                if count:
                    regions.setdefault(region, {"read": 0, "written": 0})[kind] += count
    return dict(sorted(regions.items()))


def as_dict(operation: Operation) -> dict[str, Any]:
    """One operation, as JSON can hold it; reads and writes by region."""
    data = asdict(operation)
    data["mode"] = mode(operation)
    for kind in ("read", "written"):
        amounts = getattr(operation, kind)
        data[kind] = {str(region): count for region, count in enumerate(amounts) if count}
    return data
