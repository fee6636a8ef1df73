# SPDX-License-Identifier: MIT
"""The answer on a model file, from plain data: where it runs, how exactly, how fast, or why not.

`data` has the rows and runs of on_boards.py: "boards" and "runs".
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from ..base.ui import counted
from ..sim import fit
from . import text, views

WIDTH = 98
_NAMED = 3  # boards in a sentence


def verdict(data: dict[str, Any]) -> str:
    """One sentence."""
    running = [row for row in data["boards"] if row["runs"]]
    names = list(dict.fromkeys(row["board"] for row in data["boards"]))
    if running:
        able = list(dict.fromkeys(row["board"] for row in running))
        used = [data["runs"][index] for index in sorted({row["run"] for row in running})]
        share = f"all {len(names)}" if able == names else f"{len(able)} of {len(names)}"
        where = f"{share} boards" if able[_NAMED:] else ", ".join(able)
        but = "but " if any(run["exact"] is False for run in used) else ""
        return f"Yes: it runs on {where}; {but}{exactness(used)}"
    where = f"it runs on none of {len(names)} boards" if names[1:] else f"not on {names[0]}"
    # First what is wrong where the NPU is right.
    rows = sorted(data["boards"], key=lambda row: row["run"] is None)
    reasons = list(dict.fromkeys(reason for row in rows for reason in row["short"]))
    options = "" if names[1:] else f" --board {names[0]}"
    compiling = f"; compile the original with `ethosu compile{options}`"
    remedy = "" if rows[0]["run"] is not None else compiling
    more = f" (and {len(reasons) - 1} more, below)" if reasons[1:] else ""
    return f"No: {where}: {reasons[0]}{remedy}{more}"


def speed(row: dict[str, Any]) -> str:
    """How fast a board is, with the basis of the figure; a sentence."""
    where, time = f"{row['board']} ({row['npu']})", row["estimate"]
    if not time:
        return f"On {where} the CPU computes everything; the estimate covers the NPU only."
    figure = f"the NPU takes {text.figure(time)} for an inference"
    return f"On {where} {figure}; this figure is {time['basis']}."


def exactness(runs: Sequence[dict[str, Any]]) -> str:
    """How exact these runs are, in words."""
    wrong = [run for run in runs if run["exact"] is False]
    if wrong:
        worst = max(wrong, key=lambda run: float(run["by"]))
        known = f", {worst['note']}" if worst["note"] else ""
        return (
            f"{worst['differing']:,} of {worst['values']:,} values differ from the reference, "
            f"by up to {worst['by']:g} ({worst['npu'] or 'CPU'}){known}"
        )
    if all(run["exact"] for run in runs):
        cases = next((run["note"] for run in runs if run["note"]), "")
        return f"every value is right: {cases}" if cases else "every value equals TFLite's"
    unknown = next(run["note"] for run in runs if run["exact"] is None)
    return f"exactness is unknown: {unknown}"


def remarks(data: dict[str, Any]) -> list[str]:
    """What is wrong with each run, and what else is known."""
    lines = []
    exact = [run["npu"] or "CPU" for run in data["runs"] if run["exact"]]
    for run in data["runs"]:
        if run["exact"] is False:
            lines.append(exactness([run]))
        lines += [f"warning: {warning}" for warning in run["warnings"]]
    wrong = any(run["exact"] is False for run in data["runs"])
    if wrong and exact:
        lines.append(f"every value is right on {', '.join(dict.fromkeys(exact))}")
    if wrong:
        lines.append("`ethosu bisect` finds the first layer that differs")
    return list(dict.fromkeys(lines))


def _what(data: dict[str, Any]) -> str:
    """What the milliseconds are."""
    return "the NPU's part of an inference" if data["cpu_operators"] else "one inference"


def cells(data: dict[str, Any]) -> list[tuple[str, ...]]:
    """The table of all boards, its head first, without the reasons in full; what runs it first."""
    rows = sorted(data["boards"], key=lambda row: not row["runs"])
    return [
        ("board", "NPU", f"{_what(data)}, or what is missing"),
        *((row["board"], row["npu"], _time(row) if row["runs"] else _lack(row)) for row in rows),
    ]


def _lack(row: dict[str, Any]) -> str:
    refused = row["run"] is not None and row["need"] is None
    return "no" if refused else fit.in_a_word(row)


def _time(row: dict[str, Any]) -> str:
    return text.figure(row["estimate"]) if row["estimate"] else "CPU only"


def lines(data: dict[str, Any]) -> list[str]:
    """For a terminal: the boards that run it, as a table; each reason, with those that do not."""
    running = [(row["board"], row["npu"], _time(row)) for row in data["boards"] if row["runs"]]
    head = ("runs on", "NPU", _what(data))
    shown = views.text(head, running).splitlines() if running else []
    shown += wrapped(text.BRACKETS) if text.BRACKET in "".join(row[2] for row in running) else []
    if left := data["cpu_operators"]:
        more = "; `ethosu estimate FILE --board BOARD --cpu` counts their time" if running else ""
        shown += wrapped(f"left to the CPU: {counted(left)}{more}")
    shown += [line for remark in remarks(data) for line in wrapped(remark)]
    refusing: dict[str, list[str]] = {}
    for row in data["boards"]:
        if not row["runs"]:
            refusing.setdefault("; ".join(row["short"]), []).append(
                f"{row['board']} ({row['npu']})"
            )
    if not running and [len(row["short"]) for row in data["boards"]] == [1]:
        return shown  # the verdict says it
    for reason, names in refusing.items():
        shown += wrapped(f"not on {', '.join(names)}: {reason}")
    return shown


def wrapped(line: str) -> list[str]:
    """A line for a terminal, in several; as it is for a file or another program."""
    if not (sys.stdout and sys.stdout.isatty()):
        return [line]
    return textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_long_words=False)
