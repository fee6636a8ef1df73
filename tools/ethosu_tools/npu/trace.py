# SPDX-License-Identifier: MIT
"""What a traced inference did, as plain data: names of modes, traffic per region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .hardware import Operation

_POOL = ("MAX", "AVERAGE", "REDUCE_SUM", "SUM", "NONE", "MIN", "ARGMAX_X", "ARGMAX_Y")
_SIMPLE = ("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL", "LSR", "DIV")
_COMPARE = {16: "CMP_EQ", 17: "CMP_NE", 18: "CMP_GE", 19: "CMP_GT"}
_BITS = {33: "AND", 34: "OR", 35: "XOR", 36: "NOT", 42: "AND_NOT"}

# Modes of the operations that have some: the parameter of the command.
MODES: dict[str, dict[int, str]] = {
    "NPU_OP_CONV": {1: "MATMUL"},
    "NPU_OP_POOL": dict(enumerate(_POOL)),
    "NPU_OP_RESIZE": {0: "BILINEAR", 1: "REPLICATE", 2: "NEAREST"},
    "NPU_OP_ELEMENTWISE": dict(enumerate(_SIMPLE)) | _COMPARE | _BITS,
}


def mode(operation: Operation) -> str | None:
    """Name of the operation's mode, None when it has none."""
    return MODES.get(operation.name, {}).get(operation.param)


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
