# SPDX-License-Identifier: MIT
"""Seeds mutants and tells which the tests find.

    make mutations COUNT=300      draw and run; continues where it was stopped
    python -m host_tests.conformance mutation run OLD --of NEW --tree PATH  survivors elsewhere
    python -m host_tests.conformance mutation compare NEW OLD  survivors that the other kills

To show that a new suite finds all faults that an old one found, only its survivors have to run in
the old tree. Trees are copies that are already built: sources change there and are restored.
A mutant runs alone in the tests that are nearest to its file. Those that survive wait until there
are some of a room, and are seeded together: if all tests of the room pass, all survive, else the
halves are tried. A mutant that does not compile does not count.
"""

import argparse
import contextlib
import os
import re
import resource
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from host_tests.conformance.mutation import mutants
from host_tests.conformance.mutation.mutants import Mutant
from host_tests.conformance.mutation.rooms import HOSTS, ROOMS, Room, near, tests

REPO = Path(__file__).resolve().parents[3]
LONGEST_S = 6000
# Limit of CPU time in seconds for each process, since a mutant may loop for ever.
CPU_S = 300
# Numbers of mutants seeded together: new ones, and survivors of another suite.
TOGETHER, OLD_TOGETHER = 4, 8
KILLED, SURVIVED, INVALID, GONE = "killed", "survived", "invalid", "gone"


def run(tree: Path, command: list[str]) -> tuple[int | None, str]:
    """Run a command; returns its exit code, or None after LONGEST_S, and its output."""
    process = subprocess.Popen(
        command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_S, CPU_S))  # inherited
    try:
        printed, _ = process.communicate(timeout=LONGEST_S)
        return process.returncode, printed
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def compiles(tree: Path, room: Room, files: list[Path]) -> bool:
    """Whether the tree with its mutants builds."""
    python = str(tree / ".venv/bin/python")
    if room.rules == "python":
        return run(tree, [python, "-m", "py_compile", *map(str, files)])[0] == 0
    return run(tree, ["make", "-s", *room.targets.split()])[0] == 0


def killer(tree: Path, paths: list[Path]) -> str | None:
    """Return the first test that fails; None if all pass."""
    command = [".venv/bin/python", "-m", "pytest", "-x", "-q", "-m", "not slow", "-k", HOSTS]
    command += ["--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", *map(str, paths)]
    code, printed = run(tree, command)
    if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        return None
    first = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    return first[1] if first else f"exit code {code}" if code is not None else "time-out"


def judge(tree: Path, together: list[Mutant], alone: bool) -> Iterator[tuple[Mutant, dict]]:
    """Judge the mutants of a room; yields a row for each, {} if it has to be run again.

    alone: there is one mutant, which runs only in the nearest tests.
    """
    room = mutants.room_of(together[0])
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        seeded = [stack.enter_context(mutants.seeded(tree, each)) for each in together]
        files = [file for file in seeded if file]
        for mutant, file in zip(together, seeded, strict=True):
            if file is None:
                yield mutant, {"result": GONE}
        together = [each for each, file in zip(together, seeded, strict=True) if file]
        if not together:
            return
        valid = compiles(tree, room, files)
        by = valid and killer(tree, near(tree, room, files[0]) if alone else tests(tree, room))
    if len(together) > 1 and (not valid or by):
        middle = len(together) // 2
        yield from judge(tree, together[:middle], alone)
        yield from judge(tree, together[middle:], alone)
        return
    seconds = {"seconds": round((time.monotonic() - begun) / len(together))}
    for mutant in together:
        if not valid:
            yield mutant, {"result": INVALID}
        elif by:
            yield mutant, {"result": KILLED, "by": by, **seconds}
        else:
            yield mutant, {} if alone else {"result": SURVIVED, **seconds}


class Work:
    """The remaining work, shared by one thread per tree."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.done = mutants.read(options.results)
        # Mutants that only the rest of the suite may kill, and mutants that run now.
        self.waiting: list[Mutant] = []
        self.running: list[Mutant] = []
        ran = {key(row) for row in self.done}
        survivors = [row for row in mutants.read(options.of or Path()) if row["result"] == SURVIVED]
        self.waiting += [as_mutant(row) for row in survivors if key(row) not in ran]

    def drawn(self) -> Mutant | None:
        """Draw a mutant of a room that has too few; None if there are enough."""
        options = self.options
        if options.of:
            return None
        counted = Counter(row["room"] for row in self.done if row["result"] in (KILLED, SURVIVED))
        pending = self.waiting + self.running
        counted += Counter(each.room for each in pending)
        seen = {(row["file"], row["line"]) for row in self.done}
        seen |= {(each.file, each.line) for each in pending}
        missing = {room: options.count * room.share / 100 - counted[room.name] for room in ROOMS}
        for room in sorted(ROOMS, key=lambda each: -missing[each] / each.share):
            if missing[room] >= 0.5:
                all_of_it = mutants.drawn(options.tree[0], room, options.seed)
                fresh = (each for each in all_of_it if (each.file, each.line) not in seen)
                if mutant := next(fresh, None):
                    return mutant
        return None

    def next(self) -> tuple[list[Mutant], bool]:
        """Return mutants of a room to run together, or one to run alone; tells which."""
        with self.lock:
            most = OLD_TOGETHER if self.options.of else TOGETHER
            rooms = Counter(each.room for each in self.waiting)
            full = next((room for room, count in rooms.items() if count >= most), None)
            alone = None if full else self.drawn()
            if alone:
                together = [alone]
            else:
                full = full or next(iter(rooms), None)
                together = [each for each in self.waiting if each.room == full][:most]
            self.waiting = [each for each in self.waiting if each not in together]
            self.running += together
            return together, bool(alone)

    def finish(self, mutant: Mutant, row: dict) -> None:
        """Write a mutant's result, or let it wait for the rest of the suite."""
        with self.lock:
            self.running.remove(mutant)
            if row:
                self.done.append(mutants.write(self.options.results, mutant, **row))
                print(mutant.room, f"{mutant.file}:{mutant.line}", *row.values(), flush=True)
            else:
                self.waiting.append(mutant)

    def run(self, tree: Path) -> None:
        """Work in this tree until nothing is left."""
        while True:
            together, alone = self.next()
            if not together:
                return
            for mutant, row in judge(tree, together, alone):
                self.finish(mutant, row)


def table(rows: list[dict]) -> str:
    """Format how many mutants were killed and survived by room."""
    lines = ["| room | killed | of |", "| --- | --- | --- |"]
    for room in (*(each.name for each in ROOMS), "all"):
        results = Counter(row["result"] for row in rows if room in ("all", row["room"]))
        lines.append(f"| {room} | {results[KILLED]} | {results[KILLED] + results[SURVIVED]} |")
    return "\n".join(lines)


def as_mutant(row: dict) -> Mutant:
    """Return the mutant of a row."""
    return Mutant(**{name: row[name] for name in Mutant.__dataclass_fields__})


def key(row: dict) -> tuple:
    """Return a key that identifies a mutant in any tree."""
    return row["file"], row["line"], row["after"]


def compare(new: list[dict], old: list[dict]) -> str:
    """Format the new suite's table, and its survivors that the old suite kills."""
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
        prog="python -m host_tests.conformance.mutation", description=__doc__.splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="seed mutants, run the tests of each")
    runs.add_argument("results", type=Path, help="file of rows; what it has is not run again")
    runs.add_argument(
        "--tree", type=Path, action="append", help="a copy of the tree, built; several work at once"
    )
    runs.add_argument("--of", type=Path, help="file of rows: run its survivors, draw no mutants")
    runs.add_argument("--count", type=int, default=300)
    runs.add_argument("--seed", type=int, default=1)
    compares = commands.add_parser("compare", help="compare two files of rows")
    compares.add_argument("new", type=Path)
    compares.add_argument("old", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        print(compare(mutants.read(options.new), mutants.read(options.old)))
        return
    options.tree = [path.resolve() for path in options.tree or [REPO]]
    work = Work(options)
    with ThreadPoolExecutor(len(options.tree)) as pool:
        list(pool.map(work.run, options.tree))  # which raises what a tree raised
    print(table(work.done))


if __name__ == "__main__":
    main()
