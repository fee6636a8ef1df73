# SPDX-License-Identifier: MIT
"""Seeds mutants and reports which of them the tests find.

    make mutations COUNT=300      draw and run; resumes an earlier run
    python -m host_tests.mutation run OLD --of NEW --tree PATH   survivors of NEW in another tree
    python -m host_tests.mutation compare NEW OLD                survivors that the other kills

To show that a new suite finds all faults that an old one found, only its survivors have to run in
the old tree. Run it in a copy of the tree that is already built, because it changes sources (and
restores them). A mutant that does not compile does not count.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from host_tests.mutation import mutants
from host_tests.mutation.mutants import Mutant
from host_tests.mutation.rooms import ROOMS, tests

REPO = Path(__file__).resolve().parents[2]
LONGEST_S = 6000
KILLED, SURVIVED, INVALID, GONE = "killed", "survived", "invalid", "gone"


def run(tree: Path, command: list[str], seconds: float) -> tuple[int | None, str]:
    """Exit code, or None after a time-out; and the output."""
    process = subprocess.Popen(
        command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        printed, _ = process.communicate(timeout=seconds)
        return process.returncode, printed
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def judge(tree: Path, mutant: Mutant, workers: int) -> dict[str, object]:
    """Returns the fate of a mutant."""
    room = mutants.room_of(mutant)
    begun = time.monotonic()
    with mutants.seeded(tree, mutant) as file:
        if file is None:
            return {"result": GONE}
        if room.targets:
            code, _ = run(tree, ["make", "-s", *room.targets.split()], LONGEST_S)
            if code != 0:
                return {"result": INVALID}
        if room.rules == "python":
            code, _ = run(tree, [sys.executable, "-m", "py_compile", str(file)], LONGEST_S)
            if code != 0:
                return {"result": INVALID}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "--tb=no"]
        command += ["-p", "no:cacheprovider", "-n", str(workers), *tests(tree, room, file)]
        code, printed = run(tree, command, LONGEST_S)
    first = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    return {
        "result": SURVIVED if code == 0 else KILLED,
        "by": "time-out" if code is None else first and first[1],
        "seconds": round(time.monotonic() - begun),
    }


def wanted(tree: Path, count: int, seed: int, done: list[dict]) -> list[Mutant]:
    """One mutant of each room that still has too few; the room that lacks most comes first."""
    valid = Counter(row["room"] for row in done if row["result"] in (KILLED, SURVIVED))
    seen = {(row["file"], row["line"]) for row in done}
    missing = {room: count * room.share / 100 - valid[room.name] for room in ROOMS}
    room = max(ROOMS, key=lambda each: missing[each] / each.share)
    if missing[room] < 0.5:
        return []
    fresh = (each for each in mutants.drawn(tree, room, seed) if (each.file, each.line) not in seen)
    return [mutant] if (mutant := next(fresh, None)) else []


def table(rows: list[dict]) -> str:
    """Killed and survived by room."""
    lines = ["| room | killed | of |", "| --- | --- | --- |"]
    for room in (*(each.name for each in ROOMS), "all"):
        results = Counter(row["result"] for row in rows if room in ("all", row["room"]))
        lines.append(f"| {room} | {results[KILLED]} | {results[KILLED] + results[SURVIVED]} |")
    return "\n".join(lines)


def as_mutant(row: dict) -> Mutant:
    """The mutant of a row."""
    return Mutant(**{name: row[name] for name in Mutant.__dataclass_fields__})


def key(row: dict) -> tuple:
    """Identifies a mutant in each tree."""
    return row["file"], row["line"], row["after"]


def compare(new: list[dict], old: list[dict]) -> str:
    """Table of the new suite, and its survivors that the old suite kills."""
    there = {key(row): row for row in old}
    pairs = [(row, there.get(key(row))) for row in new if row["result"] == SURVIVED]
    results = Counter(row["result"] if row else "not run" for _, row in pairs)
    killed = [
        f"  {row['file']}:{row['line']}: {row['before'].strip()} -> {row['after'].strip()}"
        f" ({other['by']})"
        for row, other in pairs
        if other and other["result"] == KILLED
    ]
    counts = ", ".join(f"{count} {name}" for name, count in sorted(results.items()))
    return "\n".join([table(new), f"survivors, in the old tree: {counts}", *killed])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m host_tests.mutation", description=__doc__.splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="seed mutants, run the tests of each")
    runs.add_argument("results", type=Path, help="file of rows; what it has is not run again")
    runs.add_argument("--tree", type=Path, default=REPO, help="a copy of the tree, built")
    runs.add_argument("--of", type=Path, help="file of rows: run its survivors, draw no mutants")
    runs.add_argument("--count", type=int, default=300)
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--workers", type=int, default=2, help="of pytest")
    compares = commands.add_parser("compare", help="compare two files of rows")
    compares.add_argument("new", type=Path)
    compares.add_argument("old", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        print(compare(mutants.read(options.new), mutants.read(options.old)))
        return
    while True:
        done = mutants.read(options.results)
        if options.of:
            ran = {key(row) for row in done}
            survivors = [row for row in mutants.read(options.of) if row["result"] == SURVIVED]
            todo = [as_mutant(row) for row in survivors if key(row) not in ran][:1]
        else:
            todo = wanted(options.tree, options.count, options.seed, done)
        if not todo:
            break
        result = judge(options.tree, todo[0], options.workers)
        mutants.write(options.results, todo[0], **result)
        print(todo[0].room, f"{todo[0].file}:{todo[0].line}", *result.values(), flush=True)
    print(table(done))


if __name__ == "__main__":
    main()
