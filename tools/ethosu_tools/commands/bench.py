# SPDX-License-Identifier: MIT
"""`ethosu bench`: benchmarks whose figures repeat: counts, and ratios of paired runs."""

import argparse
import importlib
from typing import Any

from ..ui import Ui, sentence

# One module of `bench/` per line.
BENCHMARKS = {
    "sim": "speed of the NPU simulator, beside LiteRT on the same machine",
    "copy": "instructions that a copy of tensors costs, by DMA and by the CPU",
    "overlap": "time gained where the CPU works while the NPU does",
    "kernels": "instructions of CPU operators with weights, with and without CMSIS-NN",
    "overhead": "instructions, text and RAM that the module adds to what the NPU does",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmarks and their options."""
    names = parser.add_subparsers(dest="benchmark", metavar="BENCHMARK", required=True)
    for name, summary in BENCHMARKS.items():
        chosen = names.add_parser(name, help=summary, description=sentence(summary))
        # After the benchmark's name too; what was said before it stays.
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
    return importlib.import_module(f"...bench.{name}", __name__)
