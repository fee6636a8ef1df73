# SPDX-License-Identifier: MIT
"""What a compiled model leaves to the CPU, and why, from what Vela prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model import ModelFile
from . import remarks
from .plan.kernels import RENAMING, STATEFUL

# Operators that compute nothing: names of variables and other shapes.
ASIDE = (*RENAMING, *STATEFUL)


@dataclass(frozen=True)
class Leftover:
    """An operator of the compiled model outside the NPU, and why.

    output: the name of what it writes; dtype: of its first input. reason: Vela's, "" if it gives
    none; rule: what Vela accepts, "" if it does not say so. kernel: whether the runtime has one.
    """

    operator: str
    output: str
    dtype: str
    reason: str
    rule: str
    kernel: bool

    def __post_init__(self) -> None:
        """Check what holds for each."""
        assert self.operator not in ASIDE


def of(report: str, source: ModelFile, compiled: ModelFile) -> list[Leftover]:
    """What the CPU computes of the compiled model, with the reasons in Vela's output."""
    names = {tensor.name for graph in source.graphs for tensor in graph.tensors}
    operators = {
        (operator.name, graph.tensors[index].name, operator.on_npu): (graph, operator)
        for graph in compiled.graphs
        for operator in graph.operators
        for index in operator.outputs[:1]
        if index >= 0
    }
    found = []
    for name, output, reason, rule in remarks.left(report, names, list(operators), ASIDE)["left"]:
        graph, operator = operators[name, output, False]
        dtype = next((graph.tensors[index].dtype for index in operator.inputs if index >= 0), "")
        found.append(Leftover(name, output, dtype, reason, rule, operator.known))
    return found


def text(rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Each reason with its operators, and the rule below it; operators with one reason together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if not row["reason"]:
            continue
        groups.setdefault((row["operator"], row["reason"], row["rule"]), []).append(row["output"])
    return [
        [
            f"{' '.join([operator, ', '.join(outputs)]).strip()}: {reason}",
            *(f"  {line}" for line in rule.splitlines()),
        ]
        for (operator, reason, rule), outputs in groups.items()
    ]
