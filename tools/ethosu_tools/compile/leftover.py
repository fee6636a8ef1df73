# SPDX-License-Identifier: MIT
"""What a compiled model leaves to the CPU, and why, from what Vela prints."""

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
# Its words that say nothing to a user.
_PLAIN = {"Unsupported opType": "Vela has no NPU operation for it"}


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
        """Check what holds for each: names of variables and other shapes compute nothing."""
        assert self.operator not in (*RENAMING, *STATEFUL)


def of(report: str, source: ModelFile, compiled: ModelFile) -> list[Leftover]:
    """The operators of the compiled model that the CPU computes, with the reasons in Vela's output.

    Vela also gives reasons for operators that it removes later.
    """
    names = {tensor.name for graph in source.graphs for tensor in graph.tensors}
    said = {_known(block["output"], names): block for block in _BLOCK.finditer(report)}
    return [
        Leftover(
            operator.name,
            output,
            next((graph.tensors[index].dtype for index in operator.inputs if index >= 0), ""),
            _PLAIN.get(why["reason"].strip(), why["reason"].strip()) if why else "",
            why["rule"].rstrip() if why else "",
            operator.known,
        )
        for graph in compiled.graphs
        for operator in graph.operators
        if not operator.on_npu and operator.name not in (*RENAMING, *STATEFUL)
        for output in [graph.tensors[index].name for index in operator.outputs[:1] if index >= 0]
        for why in [said.get(_known(output, names))]
    ]


def _known(output: str, names: Collection[str]) -> str:
    """The name in the model: Vela gives the result another one if an activation follows."""
    own = output.removesuffix(_ACTIVATION)
    return own if output not in names and own in names else output


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
