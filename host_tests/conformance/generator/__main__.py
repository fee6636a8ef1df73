# SPDX-License-Identifier: MIT
"""Checks generated cases: one seed, a range, or as many as a time allows.

python -m host_tests.conformance generator --seed 17  one case, in detail
python -m host_tests.conformance generator --count 2000  seeds 0..1999
python -m host_tests.conformance generator --seconds 3600  as many as fit, from a seed of the day
python -m host_tests.conformance generator --choices FILE  a case that was reduced and saved
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from . import case as cases
from .builder import UnsuitableError
from .check import Result, Verdict, check, write_failure
from .families import FAMILIES
from .reduce import reduce_case

BUILD = Path(__file__).resolve().parents[3] / "build" / "generator"


def main() -> int:
    """Run from the command line; exit status 1 if a case failed."""
    arguments = _arguments()
    family = FAMILIES[arguments.family]
    if arguments.choices:
        numbers = [int(word) for word in arguments.choices.read_text().split()]
        return _one(cases.make(choices=numbers, family=family))
    if arguments.seed is not None:
        return _one(cases.make(arguments.seed, family=family))
    return _sweep(arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="host_tests.conformance generator", description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, default="u55-u65", help="NPUs to draw for")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--choices", type=Path)
    parser.add_argument("--first", type=int, default=None, help="first seed of a sweep")
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--no-reduce", action="store_true", help="only report failures")
    parser.add_argument(
        "--here", action="store_true", help="simulate in this process, which counts covered lines"
    )
    parser.add_argument("--features", type=Path, help="write what the command streams used")
    return parser.parse_args()


def _one(case: cases.Case) -> int:
    result = check(case)
    print(case)
    print(f"{result.verdict.value} {result.reason}")
    for difference in result.differences:
        print(f"  {difference}")
    if result.verdict.failed:
        print(f"saved in {write_failure(case, result, BUILD / 'cases')}")
    return int(result.verdict.failed)


def _sweep(arguments: argparse.Namespace) -> int:
    end = time.monotonic() + (arguments.seconds or float("inf"))
    first = arguments.first
    if first is None:
        first = int(time.strftime("%Y%m%d")) * 1_000_000 if arguments.seconds else 0
    count = arguments.count or (10**9 if arguments.seconds else 100)
    print(f"seeds from {first}")
    report = Report()
    for seed in range(first, first + count):
        if time.monotonic() > end:
            break
        try:
            case = cases.make(seed, family=FAMILIES[arguments.family])
        except UnsuitableError:
            report.unsuitable += 1
            continue
        result = check(case, here=arguments.here)
        report.add(case, result)
        if result.verdict.failed:
            print(f"seed {seed}: {case}: {result.verdict.value}: {result.reason}", flush=True)
            if not arguments.no_reduce:
                small, its_result = reduce_case(case, result)
                print(f"  reduced to {small}: {its_result.reason}")
                print(f"  {write_failure(small, its_result, BUILD / 'failures')}", flush=True)
    report.print()
    if arguments.features:
        lines = [f"{count:8} {name}" for name, count in sorted(report.features.items())]
        arguments.features.write_text("\n".join(lines) + "\n")
    return int(report.failed > 0)


class Report:
    """Counts of a sweep."""

    def __init__(self) -> None:
        self.verdicts: Counter[Verdict] = Counter()
        self.reasons: dict[Verdict, Counter[str]] = defaultdict(Counter)
        self.operators: Counter[str] = Counter()
        self.features: Counter[str] = Counter()
        self.unsuitable = 0

    @property
    def failed(self) -> int:
        """Cases that failed."""
        return sum(count for verdict, count in self.verdicts.items() if verdict.failed)

    def add(self, case: cases.Case, result: Result) -> None:
        """Count one case."""
        self.verdicts[result.verdict] += 1
        if result.verdict is Verdict.EXACT:
            self.operators.update(set(case.operators))
        else:
            self.reasons[result.verdict][result.reason] += 1
        self.features.update(result.features)

    def print(self) -> None:
        """Print the verdicts, and why cases never reached the NPU."""
        for verdict, count in self.verdicts.most_common():
            print(f"{count:6} {verdict.value}")
            if not verdict.failed:
                for reason, number in self.reasons[verdict].most_common():
                    print(f"         {number:5} {reason}")
        print(f"{self.unsuitable:6} seeds make no graph")
        print("operators in exact cases:")
        print("  " + ", ".join(f"{name} {count}" for name, count in sorted(self.operators.items())))


if __name__ == "__main__":
    sys.exit(main())
