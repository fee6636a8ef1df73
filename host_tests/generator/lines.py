# SPDX-License-Identifier: MIT
"""Line coverage of the simulator.

python -m generator.lines run --count 1000    run generated graphs in this process
python -m generator.lines report FOLDER       read gcov's notes and data, print what was missed
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from ethosu_tools.errors import ToolError
from ethosu_tools.sim import Simulation

from . import case as cases
from . import isolated, vela
from .builder import UnsuitableError
from .families import U55_U65, U85


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run")
    run.add_argument("--count", type=int, default=1000)
    actions.add_parser("report").add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.action == "run":
        _run(arguments.count)
    else:
        _report(arguments.folder.resolve())


def _run(count: int) -> None:
    """Only the model runs here: a child process would take its counters with it."""
    done = 0
    for seed in range(count):
        try:
            case = cases.make(seed // 2, family=(U55_U65, U85)[seed % 2])
            compiled = isolated.call(vela.compile_case, case)
            with Simulation(compiled.model, case.npu, verify=False) as simulation:
                simulation.step(case.feeds[0])
            done += 1
        except (UnsuitableError, vela.RefusedError, isolated.DiedError, ToolError):
            continue
    print(f"{done} of {count} graphs ran")


def _report(folder: Path) -> None:
    hits: dict[str, dict[int, int]] = defaultdict(dict)
    for notes in sorted(folder.glob("*.gcno")):
        command = ["gcov", "--json-format", "--stdout", str(notes)]
        text = subprocess.run(command, capture_output=True, check=True, cwd=folder).stdout
        for document in text.splitlines():
            for file in json.loads(document)["files"]:
                if "npu_sim" not in Path(file["file"]).parts:
                    continue  # the compiler's own headers
                lines = hits[Path(file["file"]).name]
                for line in file["lines"]:
                    number = line["line_number"]
                    lines[number] = lines.get(number, 0) + line["count"]
    total = sum(map(len, hits.values()))
    if not total:
        sys.exit(f"{folder} holds no coverage notes")
    missed = 0
    for name, lines in sorted(hits.items()):
        cold = [number for number, count in sorted(lines.items()) if not count]
        missed += len(cold)
        print(f"{name:24} {100 - 100 * len(cold) / len(lines):5.1f} %  {_ranges(cold)}")
    print(f"{'all':24} {100 - 100 * missed / total:5.1f} %  {missed} of {total} lines not reached")


def _ranges(numbers: list[int]) -> str:
    """`3-5 9`, for 3, 4, 5, 9."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


if __name__ == "__main__":
    main()
