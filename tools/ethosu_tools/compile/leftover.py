# SPDX-License-Identifier: MIT
"""Operators that a compiled model leaves to the CPU, with Vela's reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model import ModelFile
from . import remarks
from .plan.kernels import RENAMING, STATEFUL

# Operators that only name variables or reshape: it does not matter where they run.
ASIDE = (*RENAMING, *STATEFUL)


@dataclass(frozen=True)
class Leftover:
    """An operator that Vela leaves to the CPU, and why.

    output: name of the first output; dtype: type of the first input. reason, rule: what Vela prints
    as its reason and as what it accepts, or "". kernel: whether the runtime has a kernel.
    """

    operator: str
    output: str
    dtype: str
    reason: str
    rule: str
    kernel: bool

    def __post_init__(self) -> None:
        """Check that the operator computes something."""
        assert self.operator not in ASIDE


def of(report: str, source: ModelFile, compiled: ModelFile) -> list[Leftover]:
    """List what the CPU computes of the compiled model, with the reasons in Vela's output."""
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
    """Format each reason with all of its operators, and the rule below."""
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
