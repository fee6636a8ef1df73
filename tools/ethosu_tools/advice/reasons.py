# SPDX-License-Identifier: MIT
"""Vela's reasons for leaving operators to the CPU, from what it prints."""

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from ..model import ModelFile

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
class Reason:
    """Why Vela leaves an operator to the CPU; rule: what it accepts, "" if it does not say so."""

    operator: str
    output: str
    reason: str
    rule: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def parse(report: str, source: ModelFile) -> list[Reason]:
    """The reasons in Vela's output for a model, in its order."""
    names = {tensor.name for graph in source.graphs for tensor in graph.tensors}
    return [
        Reason(
            block["kind"],
            _known(block["output"], names),
            _PLAIN.get(block["reason"].strip(), block["reason"].strip()),
            block["rule"].rstrip(),
        )
        for block in _BLOCK.finditer(report)
    ]


def _known(output: str, names: Collection[str]) -> str:
    """The name in the model: Vela gives the result another one if an activation follows."""
    own = output.removesuffix(_ACTIVATION)
    return own if output not in names and own in names else output


def text(row: dict[str, Any]) -> list[str]:
    """One operator's reason, and the rule below it."""
    name = " ".join(part for part in (row["operator"], row["output"]) if part)
    return [f"{name}: {row['reason']}", *(f"  {line}" for line in row["rule"].splitlines())]
