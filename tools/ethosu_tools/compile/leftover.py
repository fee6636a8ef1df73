# SPDX-License-Identifier: MIT
"""Vela's reasons for leaving operators to the CPU, from what it prints."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..model import ModelFile
from .plan.kernels import RENAMING, STATEFUL

# Vela 5.2's Regor prints a block for each operator: the reason, and the rule on further lines.
_BLOCK = re.compile(
    r"^Warning \(supported operators\) operator: (?P<kind>\S+), ofm: '(?P<output>.*)'\n"
    r"Reason: (?P<reason>.*)\n(?P<rule>(?:.+\n)*)",
    re.MULTILINE,
)
_ACTIVATION = "_act"
# Vela prints None for CALL_ONCE, which it has no name for.
_FREE = ("None", *RENAMING, *STATEFUL)
# Its words that say nothing to a user.
_PLAIN = {"Unsupported opType": "Vela has no NPU operation for it"}


@dataclass(frozen=True)
class Reason:
    """Why Vela leaves an operator to the CPU; rule: what it accepts, "" if it does not say so."""

    operator: str
    output: str
    reason: str
    rule: str


def parse(report: str, source: ModelFile, compiled: ModelFile) -> list[Reason]:
    """The reasons in Vela's output for the operators that it left to the CPU, in its order.

    Without those that it removed later, and those that compute nothing: names of variables, their
    values, other shapes.
    """
    left = {
        graph.tensors[output].name
        for graph in compiled.graphs
        for operator in graph.operators
        for output in operator.outputs
        if output >= 0 and not operator.on_npu
    }
    names = {tensor.name for graph in source.graphs for tensor in graph.tensors}
    return [
        Reason(
            block["kind"],
            _known(block["output"], names),
            _PLAIN.get(block["reason"].strip(), block["reason"].strip()),
            block["rule"].rstrip(),
        )
        for block in _BLOCK.finditer(report)
        if block["kind"] not in _FREE and left & {block["output"], _known(block["output"], names)}
    ]


def _known(output: str, names: Collection[str]) -> str:
    """The name in the model: Vela gives the result another one if an activation follows."""
    own = output.removesuffix(_ACTIVATION)
    return own if output not in names and own in names else output


def text(rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Each reason with its operators, and the rule below it; operators with one reason together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        groups.setdefault((row["operator"], row["reason"], row["rule"]), []).append(row["output"])
    return [
        [
            f"{' '.join([operator, ', '.join(outputs)]).strip()}: {reason}",
            *(f"  {line}" for line in rule.splitlines()),
        ]
        for (operator, reason, rule), outputs in groups.items()
    ]
