# SPDX-License-Identifier: MIT
"""`ethosu check`: tell whether a model file runs, where, how exactly and how fast, or why not."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import boards, fit, verification
from ..check import answer, on_boards, rules, runtimes, subject
from ..errors import InputError, MismatchError
from ..model import ANY, ModelFile
from ..ui import Ui
from .inspect import add_data_option

EPILOG = """\
The file may come from any tool: a .tflite as trained, or compiled by any release of Vela, Seeed,
OpenMV, Edge Impulse or Arm; an ExecuTorch program. A file that was never compiled is compiled for
the NPU of each board, and its results are compared with TFLite's reference kernels, bit by bit. For
a compiled file this needs the original: --reference. Milliseconds are those of the NPU, as of
`ethosu estimate`, without CPU operators.

The limits of other runtimes are read in their sources, which --json names, at one commit; your
build may have others. docs/errors.md explains what they print.

    ethosu check model.tflite
    ethosu check model_vela.tflite --reference model.tflite --board GROVE_VISION_AI_V2

The exit code is 0 if at least one board (with --board: this one) runs it, 6 if it runs but values
differ from the reference, else 3.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="FILE", help=ANY)
    add_data_option(parser)
    boards.add_option(parser, "check this board only", "all boards")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="MODEL",
        help="the original of a compiled model: compare with TFLite's reference kernels",
    )
    fit.add_reserve_option(parser)
    verification.add_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Examine the file."""
    file = ModelFile(args.model, args.data)
    facts = subject.of(file)
    reference = ModelFile(args.reference) if args.reference else None
    examination = on_boards.Examination(file, reference, ui, reserve=args.reserve)
    rows = list(examination.rows([args.board] if args.board else boards.names()))
    seen = replace(facts, rejected=examination.rejected)
    runs = [run.as_dict() for run in examination.runs]
    found = {
        "model": str(file),
        "bytes": len(file.data),
        "what": facts.what,
        "compiled": facts.compiled,
        "npu": facts.npu,
        "vela": facts.vela,
        "cpu_operators": examination.cpu_operators,
        "scratch_bytes": facts.scratch,
        "planned_bytes": facts.planned,
        "boards": [row.as_dict() for row in rows],
        "runs": runs,
        "runtimes": runtimes.verdicts(seen),
    }
    return {"verdict": answer.verdict(found), **found, "exit_code": _exit_code(rows, runs)}


def _exit_code(rows: Sequence[on_boards.Row], runs: Sequence[dict[str, Any]]) -> int:
    used = [runs[row.run] for row in rows if row.runs and row.run is not None]
    if not used:
        return InputError.exit_code
    return MismatchError.exit_code if any(run["exact"] is False for run in used) else 0


def render(data: dict[str, Any]) -> str:
    """The verdict first, then why, then the details."""
    lines = answer.wrapped(data["verdict"])
    lines += ["", *answer.wrapped(f"{data['model']} is {data['what']}; {data['bytes']:,} bytes")]
    if data["scratch_bytes"]:
        planned = f", planned tensors {data['planned_bytes']:,}" if data["planned_bytes"] else ""
        lines.append(f"the NPU's arena needs {data['scratch_bytes']:,} bytes{planned}")
    as_trained = "" if data["compiled"] else " as it is, without the NPU"
    lines += ["", *answer.lines(data), "", f"What other runtimes do with it{as_trained}:"]
    lines += [
        line for each in data["runtimes"] for line in answer.wrapped(f"- {rules.sentence(each)}")
    ]
    return "\n".join([*lines, "", "docs/errors.md explains their messages."])
