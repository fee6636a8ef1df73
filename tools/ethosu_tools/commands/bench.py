# SPDX-License-Identifier: MIT
"""`ethosu bench`: measure a model on a board, and compare estimates with measurements."""

import argparse
import importlib
from pathlib import Path
from typing import Any

from ..cli import declare, discover
from ..errors import UsageError
from ..ui import Ui, sentence

EPILOG = """\
`ethosu bench MODEL` is short for `ethosu bench latency MODEL`. It measures a model on an emulated
board or on yours (--on PORT): latency, the NPU's counters, and the amount of work, which determines
the energy. `ethosu bench latency --help` lists the options.
"""
DEFAULT = "latency"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmarks and their options."""
    names = parser.add_subparsers(dest="benchmark", metavar="BENCHMARK", required=True)
    for name, summary in discover("bench").items():
        chosen = names.add_parser(name, help=summary, description=sentence(summary))
        # These options may also follow the benchmark's name.
        for option in ("--json", "--quiet"):
            chosen.add_argument(
                option, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
            )
        declare(chosen, _module(name))


def complete(words: list[str]) -> list[str]:
    """Insert the default benchmark where `ethosu bench` is followed by a model.

    Raises UsageError if the word is neither a benchmark nor a file.
    """
    known = discover("bench")
    at = next((i for i, word in enumerate(words) if word not in ("--json", "--quiet")), None)
    if at is None or words[at] in (*known, "-h", "--help"):
        return words
    first = words[at]
    if not first.startswith("-") and not Path(first).exists():
        raise UsageError(
            f"{first!r} is neither a file nor a benchmark; benchmarks are {', '.join(known)}"
        )
    return [*words[:at], DEFAULT, *words[at:]]


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the chosen benchmark."""
    result: dict[str, Any] = _module(args.benchmark).execute(args, ui)
    return {"benchmark": args.benchmark, **result}


def render(data: dict[str, Any]) -> str:
    """Format the benchmark's result."""
    return str(_module(data["benchmark"]).render(data))


def _module(name: str) -> Any:
    return importlib.import_module(f"...bench.{name.replace('-', '_')}", __name__)
