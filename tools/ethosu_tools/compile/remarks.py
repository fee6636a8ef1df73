# SPDX-License-Identifier: MIT
"""Reads Vela's output about a model: why operators stay on the CPU, and other remarks.

The web page runs this file in MicroPython: it imports nothing, and takes plain data.
"""

TYPE_CHECKING = False  # mypy takes it as True
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

# Vela 5.2's Regor prints a block for each operator: the reason, and the rule on further lines.
_HEAD = "Warning (supported operators) operator: "
_OUTPUT = ", ofm: '"
_REASON = "Reason: "
_ACTIVATION = "_act"
# Vela's wording, and ours.
_PLAIN = {"Unsupported opType": "Vela has no NPU operation for it"}


def read(report: str) -> "tuple[dict[str, tuple[str, str]], list[str]]":
    """Return reason and rule by the operator's output, and the lines of all other remarks."""
    reasons, others, lines = {}, [], report.split("\n")
    at = 0
    while at < len(lines):
        name = lines[at].partition(_OUTPUT)[2] if lines[at].startswith(_HEAD) else ""
        if name and lines[at + 1 : at + 2] and lines[at + 1].startswith(_REASON):
            end = at + 2
            while end < len(lines) and lines[end]:
                end += 1
            reason = lines[at + 1][len(_REASON) :].strip()
            rule = "\n".join(lines[at + 2 : end]).rstrip()
            reasons[name[: name.rfind("'")]] = (_PLAIN.get(reason, reason), rule)
            at = end
        else:
            others += [lines[at]] if lines[at].strip() else []
            at += 1
    return reasons, others


def left(
    report: str,
    names: "Collection[str]",
    operators: "Sequence[Sequence[Any]]",
    aside: "Collection[str]",
) -> "dict[str, list[Any]]":
    """Return rows [operator, output, reason, rule] for the CPU, and Vela's other remarks.

    names: the source's tensors. operators: rows [name, first output's name, whether the NPU runs
    it] of the compiled model; aside: names of operators to skip. Vela also gives reasons for
    operators that it removes later.
    """

    def known(output: str) -> str:
        """Return the model's name for an output, which Vela renames if an activation follows."""
        own = output[: -len(_ACTIVATION)] if output.endswith(_ACTIVATION) else output
        return own if output not in names and own in names else output

    reasons, others = read(report)
    said = {known(output): why for output, why in reasons.items()}
    rows = [
        [name, output, *said.get(known(output), ("", ""))]
        for name, output, on_npu in operators
        if not on_npu and name not in aside
    ]
    return {"left": rows, "others": others}
