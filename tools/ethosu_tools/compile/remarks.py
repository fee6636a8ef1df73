# SPDX-License-Identifier: MIT
"""What Vela prints about a model: why operators stay on the CPU, and the rest.

The web page runs this file in MicroPython: it imports nothing, and takes plain data.
"""

TYPE_CHECKING = False  # except for mypy
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

# Vela 5.2's Regor prints a block for each operator: the reason, and the rule on further lines.
_HEAD = "Warning (supported operators) operator: "
_OUTPUT = ", ofm: '"
_REASON = "Reason: "
_ACTIVATION = "_act"
# Vela's wording that says nothing to a user, and ours.
_PLAIN = {"Unsupported opType": "Vela has no NPU operation for it"}


def read(report: str) -> "tuple[dict[str, tuple[str, str]], list[str]]":
    """Reason and rule by the name of the operator's output, and the lines of all other remarks."""
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
    """Rows [operator, output, reason, rule] of what the CPU computes, and Vela's other remarks.

    names: of the tensors before Vela. operators: of the compiled model, [name, name of its first
    output, whether it is on the NPU]; aside: those that compute nothing. Vela also gives reasons
    for operators that it removes later.
    """

    def known(output: str) -> str:
        """The name in the model: Vela gives the result another one if an activation follows."""
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
