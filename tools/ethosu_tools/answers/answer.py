# SPDX-License-Identifier: MIT
"""The answer on a model file, from plain data: where it runs, how exactly, how fast, or why not.

`data` is that of `ethosu check`: "boards" and "runs" are the rows and runs of on_boards.py.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.ui import counted
from ..boards.facts import BlindPoint
from ..compile import known, leftover
from ..sim import fit
from . import text, views

UNKNOWN = str(fit.Status.UNKNOWN)
WIDTH = 98
_NAMED = 3  # a sentence names at most this many boards


def verdict(data: dict[str, Any]) -> str:
    """Return the answer in one sentence."""
    of_boards = [row for row in data["boards"] if row["status"] != UNKNOWN]
    if not of_boards:
        return _of_chips(data)
    running = [row for row in of_boards if row["runs"]]
    names = list(dict.fromkeys(row["board"] for row in of_boards))
    if running:
        able = list(dict.fromkeys(row["board"] for row in running))
        used = [data["runs"][index] for index in sorted({row["run"] for row in running})]
        share = f"all {len(names)}" if able == names else f"{len(able)} of {len(names)}"
        where = f"{share} boards" if able[_NAMED:] else ", ".join(able)
        return f"{_yes(used)} it runs on {where}; {_but(used)}{exactness(used)}"
    where = f"it runs on none of {len(names)} boards" if names[1:] else f"not on {names[0]}"
    # Boards with the model's NPU come first: their reasons tell more than "another NPU".
    rows = sorted(of_boards, key=lambda row: row["run"] is None)
    reasons = list(dict.fromkeys(reason for row in rows for reason in row["short"]))
    options = "" if names[1:] else rows[0]["options"]
    compiling = f"; compile the original with `{f'ethosu compile {options}'.strip()}`"
    remedy = "" if rows[0]["run"] is not None else compiling
    more = f" (and {len(reasons) - 1} more, below)" if reasons[1:] else ""
    return f"No: {where}: {reasons[0]}{remedy}{more}"


def _of_chips(data: dict[str, Any]) -> str:
    """Return the verdict if no row is a board with known memories."""
    rows = data["boards"]
    heap = max(row["need"]["heap"] for row in rows)
    names = ", ".join(dict.fromkeys(row["board"] for row in rows))
    where = f"it runs on {names} if the firmware has {heap:,} bytes of heap for it"
    return f"{_yes(data['runs'])} {where}; {_but(data['runs'])}{exactness(data['runs'])}"


def _but(runs: Sequence[dict[str, Any]]) -> str:
    return "but " if any(run["exact"] is False for run in runs) else ""


def is_wrong(runs: Sequence[dict[str, Any]]) -> bool:
    """Whether results differ beyond the known deviations of the NPU and the reference."""
    return any(run["exact"] is False and not run["note"].startswith(known.KNOWN) for run in runs)


def _yes(runs: Sequence[dict[str, Any]]) -> str:
    return "Wrong:" if is_wrong(runs) else "Yes:"


def speed(row: dict[str, Any]) -> str:
    """Return a sentence on the speed of a board and on what the figure is based."""
    where, time = f"{row['board']} ({row['npu']})", row["estimate"]
    if not time:
        return f"On {where} the CPU computes everything; the estimate covers the NPU only."
    figure = f"the NPU takes {text.figure(time)} of an inference"
    if row["cpu"]:
        figure += f", and the CPU at least {row['cpu']['low_ms']:.3g} ms"
    return f"On {where} {figure}; the NPU's figure is {time['basis']}."


def exactness(runs: Sequence[dict[str, Any]]) -> str:
    """Return how exact these runs are, in words."""
    wrong = [run for run in runs if run["exact"] is False]
    if wrong:
        worst = max(wrong, key=lambda run: float(run["by"]))
        why = f", {worst['note']}" if worst["note"] else ""
        return (
            f"{worst['differing']:,} of {worst['values']:,} values differ from the reference, "
            f"by up to {worst['by']:g} ({worst['npu'] or 'CPU'}){why}"
        )
    if all(run["exact"] for run in runs):
        cases = next((run["note"] for run in runs if run["note"]), "")
        return f"every value is right: {cases}" if cases else "every value equals TFLite's"
    unknown = next(run["note"] for run in runs if run["exact"] is None)
    return f"exactness is unknown: {unknown}"


def remarks(data: dict[str, Any]) -> list[str]:
    """Return what is wrong with each run, and its warnings."""
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


def cells(data: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the table of all boards, its header first; it gives reasons in a word."""
    mixed = bool(data["cpu_operators"])
    time = ("NPU, ms", "CPU, ms") if mixed else ("one inference, ms",)
    rows = [("board", "NPU", "weights", *time, "heap", "/rom")]
    for row in data["boards"]:
        shown = _time(row) if row["runs"] else _lack(row)
        part = (f">= {row['cpu']['low_ms']:.3g}" if row["cpu"] else "?",) if mixed else ()
        sizes = (_share(row, name) for name in ("heap", "rom"))
        rows.append((row["board"], row["npu"], row["weights"], shown, *part, *sizes))
    return rows


def _lack(row: dict[str, Any]) -> str:
    refused = row["run"] is not None and row["need"] is None
    return "no" if refused else fit.in_a_word(row)


def _time(row: dict[str, Any]) -> str:
    if not row["estimate"]:
        return "CPU only"
    return text.figure(row["estimate"]).replace("at least", ">=").replace(" ms", "")


def _share(row: dict[str, Any], name: str) -> str:
    """Bytes of a resource that the model takes, and their share of it."""
    if name not in row["shares"]:
        return f"{row['need']['heap' if name == 'heap' else 'image']:,}" if row["need"] else ""
    return f"{row['used'][name]:,} ({row['shares'][name]:.0%})"


def notes(data: dict[str, Any]) -> list[str]:
    """Return notes below the table: its brackets, the CPU's part, and what would be faster."""
    first, running = data["boards"][0], [row for row in data["boards"] if row["runs"]]
    lines = [text.BRACKETS] if any(text.BRACKET in _time(row) for row in running) else []
    if left := data["cpu_operators"]:
        lines.append(f"left to the CPU: {counted(left)}")
        if any(row["cpu"] for row in data["boards"]):
            lines.append(text.CPU)
        else:
            why = data["uncounted"] or "the CPU's clock is unknown"
            lines.append(f"the CPU's part was not counted: {why}")
        lines += text.float_ends(left, data["dtypes"])
    if first["reserve"]:
        lines.append(f"{first['reserve']:,} bytes of each heap are reserved for your program")
    lines += [f"faster on {first['board']}: {change}" for change in data["faster"]]
    if point := data.get("blind_point"):
        lines.append(f"for scale: {BlindPoint(**point).text}")
    return lines + remarks(data)


def lines(data: dict[str, Any]) -> list[str]:
    """Return the answer for a terminal: the table, notes, and why the model does not run."""
    head, *rows = cells(data)
    head = tuple(name if name == "NPU" else name.upper().replace(" MS", " ms") for name in head)
    shown = views.text(head, rows, "HEAP", "/ROM").splitlines()
    shown += [line for note in notes(data) for line in wrapped(note)]
    why = leftover.text(data["leftover"])
    shown += ["Vela's reasons:", *(f"  {line}" for group in why for line in group)] if why else []
    refusing: dict[tuple[str, ...], list[str]] = {}
    for row in data["boards"]:
        refused = data["runs"][row["run"]] if row["run"] is not None else None
        if refused and refused["refused"]:
            key = (refused["refused"], *refused["remedies"])
            refusing.setdefault(key, []).append(f"{row['board']} ({row['npu']})")
    for (reason, *remedies), names in refusing.items():
        if len(refusing) > 1 or data["boards"][0]["runs"]:
            shown += wrapped(f"not on {', '.join(names)}: {reason}")
        shown += [f"  {line}" for line in remedies]
    short = [row for row in data["boards"] if row["lacks"]]
    if short and not data["boards"][0]["runs"]:
        shown += wrapped(f"{short[0]['board']}: {fit.describe(short[0]).removeprefix('no: ')}")
    return shown


def side_by_side(models: Sequence[dict[str, Any]]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The head and the rows of a table with a row for each board and a column for each model."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for data in models:
        for row in data["boards"]:
            key = (row["board"], row["npu"], row["weights"])
            shown = _time(row) if row["runs"] else _lack(row)
            part = f" + CPU >= {row['cpu']['low_ms']:.3g}" if row["runs"] and row["cpu"] else ""
            rows.setdefault(key, {})[data["model"]] = shown + part
    names = [data["model"] for data in models]
    head = ("BOARD", "NPU", "WEIGHTS", *(f"{Path(name).stem}, ms" for name in names))
    return head, [(*key, *(found.get(name, "-") for name in names)) for key, found in rows.items()]


def following(data: dict[str, Any]) -> list[str]:
    """Return the command to type next, and where the page is."""
    first = data["boards"][0]
    lines = [f"page: {data['html']}"] if "html" in data else []
    if first["runs"] and not data["compiled"] and first["used"] and not data["exit_code"]:
        lines.append(f"next: ethosu compile {data['model']} {first['options']}")
    return lines


def wrapped(line: str) -> list[str]:
    """Break a line to fit a terminal; stdout of another kind gets the line unchanged."""
    if not (sys.stdout and sys.stdout.isatty()):
        return [line]
    return textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_long_words=False)
