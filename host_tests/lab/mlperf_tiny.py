# SPDX-License-Identifier: MIT
"""The four models of MLPerf Tiny on all boards, by `ethosu check`."""

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

from ethosu_tools import cli
from ethosu_tools.answers import answer
from ethosu_tools.base.errors import InputError
from ethosu_tools.base.files import Output, read_whole, write_whole
from ethosu_tools.base.ui import Ui, markdown
from ethosu_tools.commands import check

from host_tests.lab import script

EPILOG = """\
The models belong to MLCommons and are not part of this project. Copy the four files from its
repository mlcommons/tiny, folder benchmark/training, into a folder, and pass that with --models.
`ethosu validate` measures their accuracy with MLCommons' data sets.

    python -m host_tests.lab.mlperf_tiny --models MODELS --page docs/mlperf_tiny.md
"""
# Files, with the hashes of their contents, and tasks.
TASKS = {
    "kws_ref_model.tflite": (
        "aeea436800704fce17b17292e4412630ad856e9d777c044c64ef748a880bd0ae",
        "Keyword spotting: DS-CNN, 12 words",
    ),
    "vww_96_int8.tflite": (
        "597a384c8c2c8a1276f04702f25013b7838f2f814f1ca7c174d295b73e3d6b7b",
        "Visual wake words: MobileNetV1 0.25, 96 x 96",
    ),
    "pretrainedResnet_quant.tflite": (
        "3c002613d1b2475eb51dd78dfb85a546c8ae658dee71cf6ade43b022fe205415",
        "Image classification: ResNet-8, CIFAR-10",
    ),
    "ad01_int8.tflite": (
        "87cf24194ef93d1d9b11a591d805526b98008e351655d29883c825c9c106ba24",
        "Anomaly detection: auto-encoder, 640 values",
    ),
}
HEAD = ("NPU cycles", "file bytes", "arena bytes")
INTRODUCTION = """\
<!-- SPDX-License-Identifier: MIT -->
# MLPerf Tiny on all boards

`python -m host_tests.lab.mlperf_tiny --models MODELS --page docs/mlperf_tiny.md` generated this
page with `ethosu check`, whose option `--chips` adds chips without a board here, the other places
of the weights, and Vela's example systems. No chip was measured: [latency.md](latency.md) explains
how accurate the latencies are. ">=" marks a lower bound, all that can be given for off-chip weights
or tensors, and for Ethos-U65 and U85. All values of three random inputs are compared with TFLite's
reference kernels. These are not MLCommons benchmark results.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--models", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--page", type=Output, metavar="MD", help="write the tables to this file")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Ask `ethosu check` about each model that is there."""
    paths = {name: args.models / name for name in TASKS if (args.models / name).is_file()}
    if not paths:
        raise InputError(f"{args.models} has none of {', '.join(TASKS)}; see --help for a source")
    found = {}
    for name, path in paths.items():
        if hashlib.sha256(read_whole(path)).hexdigest() != TASKS[name][0]:
            raise InputError(f"{path} is not MLCommons' file: expected SHA-256 {TASKS[name][0]}")
        words = ["check", str(path)]
        found[name] = check.execute(cli.make_parser("check").parse_args(words), ui)
    if args.page:
        write_whole(args.page, page(found).encode())
    return {"models": found, "missing": [name for name in TASKS if name not in found]}


def page(models: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [INTRODUCTION]
    for name, data in models.items():
        head, *rows = answer.cells(data)
        figures = (
            tuple(f"{value:,}" for value in (time["cycles"], need["file"], need["arena"]))
            for time, need in ((row["estimate"], row["need"]) for row in data["boards"])
        )
        table = ((*row, *more) for row, more in zip(rows, figures, strict=True))
        lines += [f"## {TASKS[name][1]}\n", f"`{name}`: {data['verdict']}.\n"]
        lines += [*markdown((*head, *HEAD), table), ""]
    return "\n".join(lines)


def render(data: dict[str, Any]) -> str:
    """The tables, and what is missing."""
    missing = f"\nmissing: {', '.join(data['missing'])}" if data["missing"] else ""
    return page(data["models"]).removeprefix(INTRODUCTION) + missing


if __name__ == "__main__":
    script.main(sys.modules[__name__])
