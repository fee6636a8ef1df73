# SPDX-License-Identifier: MIT
"""`ethosu check`: tell whether a model file runs, where, how exactly and how fast, or why not."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import boards
from ..answers import answer, on_boards, rules, runtimes, traits
from ..base import verification
from ..base.errors import InputError, MismatchError
from ..base.ui import Ui
from ..boards import setup
from ..model import ANY, ModelFile
from ..model.tflite import signatures
from ..model.vela_versions import add_data_option
from ..sim import fit

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
differ from the reference, else 3. If the file has several signatures, the model of each is checked;
the exit code is then the worst.
"""
# Exit codes, the worst first.
_BY_WEIGHT = (InputError.exit_code, MismatchError.exit_code)


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
    """Examine the file; if it has several signatures, the model of each."""
    file = ModelFile(args.model, args.data)
    reference = ModelFile(args.reference) if args.reference else None
    answers = {}
    for each in signatures.each(file):
        original = reference and signatures.select(reference, each.signature)
        answers[each.signature or ""] = _examine(args, ui, each, original)
    first = next(iter(answers.values()))
    if len(answers) == 1:
        return first
    verdicts = "; ".join(f"{name}: {found['verdict']}" for name, found in answers.items())
    codes = [found["exit_code"] for found in answers.values()]
    return first | {
        "verdict": f"{len(answers)} signatures: {verdicts}",
        "signatures": answers,
        "exit_code": next((code for code in _BY_WEIGHT if code in codes), 0),
    }


def _examine(
    args: argparse.Namespace, ui: Ui, file: ModelFile, reference: ModelFile | None
) -> dict[str, Any]:
    """The answer for one model."""
    facts = traits.of(file)
    examination = on_boards.Examination(file, reference, ui, reserve=args.reserve)
    rows = []
    for each in setup.every(file, args.board):
        if args.board and each.remark:
            ui.remark(each.remark)
        rows.append(examination.row(each))
    seen = replace(facts, rejected=examination.rejected)
    runs = [run.as_dict() for run in examination.runs]
    found = {
        "model": str(file),
        "bytes": len(file.whole),
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
    """The verdict first, then why, then the details; of each signature if there are several."""
    if "signatures" not in data:
        return _render_one(data)
    parts = [
        f"Signature {name}\n\n{_render_one(each)}" for name, each in data["signatures"].items()
    ]
    return "\n\n".join(["\n".join(answer.wrapped(data["verdict"])), *parts])


def _render_one(data: dict[str, Any]) -> str:
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
