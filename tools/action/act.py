# SPDX-License-Identifier: MIT
"""Second step of action.yml: runs what its inputs name, and writes the summary of the job.

The inputs are environment variables. Each command prints JSON, of which the tables are made.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TEXT_MAX = 200  # characters of a cell
USAGE = 2


@dataclass
class Result:
    """What became of one file, or of all tests: a row of its table, and details below."""

    what: str
    code: int
    cells: list[str]
    details: list[list[str]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The end of the row."""
        return "passed" if self.code == 0 else f"**failed**, exit code {self.code}"


def setting(name: str) -> str:
    """Return an input, without white space around it."""
    return os.environ.get(name, "").strip()


def files(name: str) -> list[str]:
    """Return the paths of an input, one in each line; a pattern stands for all that match."""
    found = []
    for line in filter(None, map(str.strip, setting(name).splitlines())):
        matching = sorted(map(str, Path().glob(line))) if "*" in line else [line]
        found += matching or [line]  # the command says that there is no such file
    return found


def place(prefix: str = "") -> list[str]:
    """Return the options of the board and its NPU."""
    words = (("board", setting("BOARD")), ("npu", setting("NPU")))
    return [f"--{prefix}{name}={value}" for name, value in words if value]


def more() -> list[str]:
    """Return the options that the inputs add."""
    return shlex.split(setting("ARGUMENTS"))


@contextlib.contextmanager
def others() -> Iterator[None]:
    """Output of others: the runner must not take its lines for commands to itself."""
    token = uuid.uuid4().hex
    print(f"::stop-commands::{token}", flush=True)
    yield
    print(f"\n::{token}::", flush=True)


def ask(*words: str) -> tuple[int, dict[str, Any]]:
    """Run `ethosu WORDS --json`; returns its exit code and its answer, which may be an error."""
    command = [sys.executable, "-m", "ethosu_tools.cli", *words, "--json"]
    print("ethosu", shlex.join(words), flush=True)
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        data = json.loads(done.stdout)
    except ValueError:
        data = {"error": (done.stderr or done.stdout).strip().rpartition("\n")[2]}
    with others():
        print(data.get("output", "") + data.get("log", done.stderr))
    return done.returncode, data


def run(image: str) -> Result:
    """Run firmware to its end."""
    until = setting("UNTIL")
    # The usual limit: with one, the command refuses a board with a prompt, which never ends.
    ends = ["--timeout=60", *([f"--until={until}"] if until else [])]
    code, data = ask("qemu", f"--firmware={image}", *place(), *ends, *more())
    # A fault is in the log; what the firmware printed last may say little of it.
    said = data.get("error") or (code and data["log"].strip()) or data["output"]
    last = said.strip().rpartition("\n")[2]
    return Result(image, code, [data.get("board", ""), data.get("npu", ""), last], data=data)


def check(model: str) -> Result:
    """Tell on which boards a model runs, and how fast."""
    code, data = ask("check", model, *place(), *more())
    rows = [
        [row["board"], row["npu"], row["status"], _time(row["estimate"]), *_memory(row)]
        for row in data.get("boards", ())
    ]
    return Result(model, code, [data.get("error") or data.get("verdict", "")], rows, data)


def _time(estimate: dict[str, Any] | None) -> str:
    if not estimate:
        return ""
    least = ">= " if estimate["high_ms"] is None else ""
    return f"{least}{estimate['low_ms' if least else 'ms']:.3g} ms"


def _memory(row: dict[str, Any]) -> tuple[str, str]:
    need = row.get("need") or {}
    return tuple(f"{need[key]:,}" if key in need else "" for key in ("heap", "file"))


def tests(paths: list[str]) -> Result:
    """Run tests with pytest; its JUnit file has what became of them."""
    report = Path(os.environ["RUNNER_TEMP"], "ethosu-tests.xml")
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *paths, f"--junitxml={report}"]
    with others():
        done = subprocess.run([*command, *place("ethosu-"), *more()])
    if not report.is_file():
        return Result(" ".join(paths), done.returncode, ["", "", "", "pytest ran no test"])
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    counts = {kind: int(suite.get(kind, 0)) for kind in ("tests", "failures", "errors", "skipped")}
    wrong = counts["failures"] + counts["errors"]
    cells = [counts["tests"] - wrong - counts["skipped"], wrong, counts["skipped"]]
    rows = [
        [f"{case.get('classname')}::{case.get('name')}", found.get("message", "")]
        for case in suite.iter("testcase")
        for kind in ("failure", "error")
        for found in case.findall(kind)
    ]
    return Result(" ".join(paths), done.returncode, [*map(str, cells), ""], rows, counts)


def cell(text: str) -> str:
    """Return a text as a cell of a table, which shows it as it is."""
    line = " ".join(text.split())
    line = line if len(line) <= TEXT_MAX else line[: TEXT_MAX - 3] + "..."
    return re.sub(r"[\\`*_|<>\[\]&~#]", lambda found: f"&#{ord(found[0])};", line)


def table(head: str, rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {head} |", "|" + " --- |" * (head.count("|") + 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def summary(head: str, details: str, results: list[Result]) -> str:
    """Return the part of the summary for one kind of work."""
    rows = [[cell(r.what), *map(cell, r.cells), r.verdict] for r in results]
    parts = [table(head, rows)]
    for each in results:
        if each.details:
            parts.append(f"{cell(each.what)}:\n")
            parts.append(table(details, [list(map(cell, row)) for row in each.details]))
    return "\n".join(parts)


KINDS: dict[str, tuple[str, str, Callable[[list[str]], list[Result]]]] = {
    "RUN": (
        "firmware | board | NPU | last output | result",
        "",
        lambda found: [run(each) for each in found],
    ),
    "CHECK": (
        "model | answer | result",
        "board | NPU | answer | time | bytes of heap | bytes of the file",
        lambda found: [check(each) for each in found],
    ),
    "PYTEST": (
        "tests | passed | failed | skipped | | result",
        "test | error",
        lambda found: [tests(found)],
    ),
}


def annotate(result: Result) -> None:
    """Show a failure beside the files of the change, as the runner's command `error`."""
    text = " ".join(filter(None, [result.what, result.cells[-1], f"(exit code {result.code})"]))
    for special, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(special, code)
    print(f"::error::{text}", flush=True)


def append(variable: str, text: str) -> None:
    """Add lines to a file that the runner reads."""
    with Path(os.environ[variable]).open("a") as file:
        file.write(text)


def main() -> int:
    """Do all that the inputs name; returns the exit code of the first that failed."""
    done: dict[str, list[Result]] = {}
    for name, (head, details, work) in KINDS.items():
        if found := files(name):
            done[name] = work(found)
            append("GITHUB_STEP_SUMMARY", summary(head, details, done[name]) + "\n")
    results = [each for kind in done.values() for each in kind]
    if not results:
        print('::error::give one of the inputs "run", "check" and "pytest"')
    for each in results:
        if each.code:
            annotate(each)
    code = next((each.code for each in results if each.code), 0) if results else USAGE
    report = Path(os.environ["RUNNER_TEMP"], "ethosu-report.json")
    answers = {
        name.lower(): [{"what": each.what, "exit_code": each.code, **each.data} for each in kind]
        for name, kind in done.items()
    }
    report.write_text(json.dumps(answers, indent=2))
    append("GITHUB_OUTPUT", f"exit-code={code}\nreport={report}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
