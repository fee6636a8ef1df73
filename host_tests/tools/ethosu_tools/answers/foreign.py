# SPDX-License-Identifier: MIT
"""Makes a table of `ethosu check`'s verdicts on third-party files."""

import hashlib
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosu_tools import boards, cli
from ethosu_tools.answers import rules, text
from ethosu_tools.base.errors import InputError
from ethosu_tools.base.ui import Ui
from ethosu_tools.commands import check

HERE = Path(__file__).parent
HEAD = (
    "file",
    "what it is",
    "runs here on",
    "exact",
    "NPU time",
    "refused by",
    "what its runtime does",
)
_LONGEST = 110
SHORT = {
    "TFLite or LiteRT on a PC": "TFLite on a PC",
    "TFLite Micro in your own firmware": "TFLite Micro",
    "SSCMA (SenseCraft) on Grove Vision AI V2": "SSCMA",
    "OpenMV on the AE3": "OpenMV",
    "Arm's ML embedded evaluation kit, inference runner on Corstone-300": "Arm's kit",
    "ExecuTorch's arm_executor_runner, Shared_Sram (Corstone-300)": "runner, Corstone-300",
    "ExecuTorch's arm_executor_runner, Dedicated_Sram (Corstone-320)": "runner, Corstone-320",
}


@dataclass(frozen=True)
class Foreign:
    """A file: repository and commit, path, git blob, and its runtime's behaviour, with source."""

    repository: str
    path: str
    blob: str
    seen: str
    where: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2].rpartition(" ")[2]


def every() -> list[Foreign]:
    return [Foreign(**row) for row in tomllib.loads((HERE / "foreign.toml").read_text())["file"]]


def blob_of(data: bytes) -> str:
    """Return git's name for these contents."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def row(file: Foreign, path: Path) -> tuple[str, ...]:
    """Make a row of the table from a copy of the file."""
    arguments = cli.make_parser("check").parse_args(["check", str(path)])
    start = f"`{file.name}`", *()
    there = file.seen + (f" ({file.where})" if file.where else "")
    try:
        data = check.execute(arguments, Ui(quiet=True))
    except InputError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return (*start, "not readable", f"none: {reason}", "-", "-", "-", there)
    data["boards"].sort(key=lambda row: boards.names().index(row["board"]))
    what = data["what"].removeprefix("a TensorFlow Lite model, ").removeprefix("an ")
    return (*start, what, _boards(data), _exact(data), _time(data), _refused(data), there)


def _boards(data: dict[str, Any]) -> str:
    names = list(dict.fromkeys(row["board"] for row in data["boards"]))
    running = list(dict.fromkeys(row["board"] for row in data["boards"] if row["runs"]))
    if not running:
        rows = sorted(data["boards"], key=lambda row: row["run"] is None)
        return f"none: {textwrap.shorten(rows[0]['short'][0], _LONGEST, placeholder=' ...')}"
    return f"all {len(names)}" if running == names else ", ".join(running)


def _exact(data: dict[str, Any]) -> str:
    found = {run["exact"] for run in data["runs"] if not run["refused"]}
    if False in found:
        worst = max(
            (run for run in data["runs"] if run["exact"] is False), key=lambda run: run["by"]
        )
        known = f"; {worst['note']}" if worst["note"] else ""
        return (
            f"no: {worst['differing']} of {worst['values']} values, by up to {worst['by']:g}{known}"
        )
    return "yes" if found == {True} else "nothing to compare" if found else "-"


def _time(data: dict[str, Any]) -> str:
    """Format the time on the first board that runs the file."""
    times = ((row["board"], row["estimate"]) for row in data["boards"] if row["runs"])
    return next((f"{text.figure(time)}, {name}" for name, time in times if time), "-")


def _refused(data: dict[str, Any]) -> str:
    """List runtimes that refuse the file, with the messages of the first exceeded limits."""
    return (
        "; ".join(
            SHORT[each["runtime"]] + f" ({each['reasons'][0]['message'] or 'its loader'})"
            for each in data["runtimes"]
            if each["verdict"] == rules.REFUSES
        )
        or "-"
    )


def table(folder: Path) -> Iterator[str]:
    """Return the lines of the table; InputError if a file is not in the folder."""
    copies = {blob_of(path.read_bytes()): path for path in folder.rglob("*") if path.is_file()}
    repository = ""
    for file in every():
        if file.blob not in copies:
            raise InputError(f"{file.repository} {file.path}, blob {file.blob}: not in {folder}")
        if file.repository != repository:
            repository = file.repository
            yield from (
                "",
                f"## {repository}",
                "",
                f"| {' | '.join(HEAD)} |",
                "| --- " * len(HEAD) + "|",
            )
        yield f"| {' | '.join(row(file, copies[file.blob]))} |"
