# SPDX-License-Identifier: MIT
"""`ethosu bench`: count instructions and compare times, in ways that repeat."""

import argparse
import importlib
from typing import Any

from ..cli import discover
from ..ui import Ui, sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmarks and their options."""
    names = parser.add_subparsers(dest="benchmark", metavar="BENCHMARK", required=True)
    for name, summary in discover("bench").items():
        chosen = names.add_parser(name, help=summary, description=sentence(summary))
        # They may follow the benchmark's name, too.
        for option in ("--json", "--quiet"):
            chosen.add_argument(
                option, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
            )
        _module(name).add_arguments(chosen)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the chosen benchmark."""
    result: dict[str, Any] = _module(args.benchmark).execute(args, ui)
    return {"benchmark": args.benchmark, **result}


def render(data: dict[str, Any]) -> str:
    """Lay its result out for a person."""
    return str(_module(data["benchmark"]).render(data))


def _module(name: str):  # type: ignore[no-untyped-def]  # a module is its own interface
    return importlib.import_module(f"...bench.{name.replace('-', '_')}", __name__)
