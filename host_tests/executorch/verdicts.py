# SPDX-License-Identifier: MIT
"""Compares the verdicts of ExecuTorch's tests on our NPU with those on Arm's FVP.

The FVP's verdicts are the marks of the tests: its CI fails if a test without a mark fails there,
or if one that is marked as wrong, strictly, passes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]

GENERATIONS = ("u55", "u65", "u85")
# Verdicts and their meanings for the NPU.
AGREED, AGREED_WRONG = "agreed: passes", "agreed: wrong, as marked"
REFUSED, DISAGREED = "refused", "disagreed"
LENIENT = "passes, though its mark allows it to be wrong"
NOTHING = "says nothing: "
SKIPPED, NO_DEVICE, EARLY = (
    f"{NOTHING}skipped",
    f"{NOTHING}passes without the FVP",
    f"{NOTHING}wrong as marked, before the FVP starts",
)
ORDER = (AGREED, AGREED_WRONG, LENIENT, REFUSED, DISAGREED, SKIPPED, NO_DEVICE, EARLY)


def generation(row: Row) -> str:
    """Return the NPU of a case, from its name."""
    found = re.search("u55|u65|u85", row["case"].rpartition("::")[2])
    return found[0] if found else "none"


def verdict(row: Row, runs: list[Row]) -> tuple[str, str]:
    """Return a case's verdict and cause; the last of the stand-in's `runs` counts."""
    refusal = runs[-1]["refused"] if runs else None
    marked = bool(row["wrong"])
    if row["outcome"] == "passed":
        if marked:
            return LENIENT, row["wrong"][0]
        return (AGREED if runs else NO_DEVICE), ""
    if "XPASS(strict)" in row["error"]:
        return DISAGREED, f"marked as wrong, but passes: {row['wrong'][0]}"
    if row["as_marked"]:
        return (AGREED_WRONG if runs else EARLY), refusal or row["error"]
    if row["outcome"] == "skipped":
        return SKIPPED, row["error"]
    return (REFUSED, refusal) if refusal else (DISAGREED, row["error"])


def judge(rows: Iterable[Row], runs: Iterable[Row]) -> list[tuple[Row, str, str]]:
    """Judge each case; the last row of a repeated test counts."""
    by_test: dict[str, list[Row]] = {}
    for run in runs:
        by_test.setdefault(run["test"], []).append(run)
    return [
        (row, *verdict(row, by_test.get(row["test"], [])))
        for row in {row["test"]: row for row in rows}.values()
    ]


def table(judged: Iterable[tuple[Row, str, str]]) -> str:
    """Format cases by verdict and generation, in Markdown, and the causes of disagreements."""
    judged = list(judged)
    counts = Counter((found, generation(row)) for row, found, _ in judged)
    lines = ["| verdict | U55 | U65 | U85 |", "| --- | ---: | ---: | ---: |"]
    for found in ORDER:
        lines.append(
            f"| {found} | {' | '.join(str(counts[found, each]) for each in GENERATIONS)} |"
        )
    totals = (sum(counts[found, each] for found in ORDER) for each in GENERATIONS)
    lines.append(f"| all | {' | '.join(map(str, totals))} |")
    for found in (REFUSED, DISAGREED, LENIENT, AGREED_WRONG):
        causes = Counter(_cause(cause) for _, each, cause in judged if each == found)
        lines += ["", f"{found}:"] if causes else []
        lines += [f"- {count} x {cause}" for cause, count in causes.most_common()]
    return "\n".join(lines)


def _cause(text: str) -> str:
    """Return the cause in one line, without numbers of instructions."""
    line = next((each for each in text.splitlines() if each.strip()), "no reason given")
    return re.sub(r"instruction \d+", "an instruction", line)[:200]
