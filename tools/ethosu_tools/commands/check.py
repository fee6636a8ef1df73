# SPDX-License-Identifier: MIT
"""`ethosu check`: tell whether a model file runs, where, how exactly and how fast, or why not."""

import argparse
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import boards, fit, verification
from ..check import on_boards, runtimes, subject
from ..errors import InputError
from ..estimate import text
from ..layers import views
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

The exit code is 0 if at least one board (with --board: this one) runs it, else 3.
"""
_WIDTH = 98


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
    reference = _reference(args.reference, file) if args.reference else None
    examination = on_boards.Examination(file, reference, ui, args.reserve)
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
        "cpu_operators": dict(file.description.cpu_operators),
        "scratch_bytes": facts.scratch,
        "planned_bytes": facts.planned,
        "boards": [row.as_dict() for row in rows],
        "runs": runs,
        "runtimes": [each.as_dict() for each in runtimes.verdicts(seen)],
    }
    runs_somewhere = any(row.runs for row in rows)
    code = 0 if runs_somewhere else InputError.exit_code
    return {"verdict": _verdict(found), **found, "exit_code": code}


def _reference(path: Path, file: ModelFile) -> ModelFile:
    """The original of a compiled file; InputError if it cannot be that."""
    if not file.description.compiled:
        raise InputError(f"{file} is not compiled: it is its own reference, omit --reference")
    reference = ModelFile(path)
    before, after = reference.description, file.description
    if before.compiled:
        raise InputError(f"{reference} is compiled, for {before.npu or 'the CPU'}: not a reference")
    for what, own, others in (
        ("inputs", after.inputs, before.inputs),
        ("outputs", after.outputs, before.outputs),
    ):
        shapes = [[list(tensor.shape) for tensor in each] for each in (own, others)]
        if shapes[0] != shapes[1]:
            raise InputError(
                f"{reference} is not the original of {file}: it has {what} {_shapes(shapes[1])}, "
                f"expected {_shapes(shapes[0])}"
            )
    return reference


def _shapes(shapes: list[list[int]]) -> str:
    return ", ".join(map(str, shapes)) or "none"


def _verdict(data: dict[str, Any]) -> str:
    """The answer in plain words."""
    running = [row for row in data["boards"] if row["runs"]]
    if running:
        names = list(dict.fromkeys(row["board"] for row in running))
        used = [data["runs"][index] for index in sorted({row["run"] for row in running})]
        but = "but " if any(run["exact"] is False for run in used) else ""
        return f"Yes: it runs on {', '.join(names)}; {but}{_exactness(used)}"
    names = list(dict.fromkeys(row["board"] for row in data["boards"]))
    where = f"it runs on none of {len(names)} boards" if names[1:] else f"not on {names[0]}"
    # First what is wrong where the NPU is right.
    rows = sorted(data["boards"], key=lambda row: row["run"] is None)
    reasons = list(dict.fromkeys(reason for row in rows for reason in row["short"]))
    remedy = "" if rows[0]["run"] is not None else "; compile the original with `ethosu compile`"
    more = f" (and {len(reasons) - 1} more, below)" if reasons[1:] else ""
    return f"No: {where}: {reasons[0]}{remedy}{more}"


def _exactness(runs: list[dict[str, Any]]) -> str:
    wrong = [run for run in runs if run["exact"] is False]
    if wrong:
        worst = max(wrong, key=lambda run: float(run["by"]))
        known = f", {worst['note']}" if worst["note"] else ""
        return (
            f"{worst['differing']:,} of {worst['values']:,} values differ from the reference, "
            f"by up to {worst['by']:g} ({worst['npu'] or 'CPU'}){known}"
        )
    if all(run["exact"] for run in runs):
        cases = next((run["note"] for run in runs if run["note"]), "")
        return f"every value is right: {cases}" if cases else "every value equals TFLite's"
    unknown = next(run["note"] for run in runs if run["exact"] is None)
    return f"exactness is unknown: {unknown}"


def render(data: dict[str, Any]) -> str:
    """The verdict first, then why, then the details."""
    lines = _wrapped(data["verdict"])
    lines += ["", *_wrapped(f"{data['model']} is {data['what']}; {data['bytes']:,} bytes")]
    if data["scratch_bytes"]:
        planned = f", planned tensors {data['planned_bytes']:,}" if data["planned_bytes"] else ""
        lines.append(f"the NPU's arena needs {data['scratch_bytes']:,} bytes{planned}")
    if data["cpu_operators"] and (data["npu"] or data["planned_bytes"]):
        counts = (f"{name} x {count}" for name, count in data["cpu_operators"].items())
        lines += _wrapped(f"left to the CPU: {', '.join(counts)}")
    as_trained = "" if data["compiled"] else " as it is, without the NPU"
    lines += ["", *_boards(data), "", f"What other runtimes do with it{as_trained}:"]
    lines += [line for each in data["runtimes"] for line in _wrapped(f"- {_what(each)}")]
    return "\n".join([*lines, "", "docs/errors.md explains their messages."])


def _boards(data: dict[str, Any]) -> list[str]:
    """The boards that run it, as a table; then each reason, with the boards that do not."""
    running = [row for row in data["boards"] if row["runs"]]
    cells = [
        (row["board"], row["npu"], text.figure(row["estimate"]) if row["estimate"] else "CPU only")
        for row in running
    ]
    lines = views.text(("runs on", "NPU", "ms"), cells).splitlines() if cells else []
    for run in data["runs"]:
        if run["exact"] is False:
            lines += _wrapped(_exactness([run]))
        lines += [line for warning in run["warnings"] for line in _wrapped(f"warning: {warning}")]
    refusing: dict[str, list[str]] = {}
    for row in data["boards"]:
        if not row["runs"]:
            refusing.setdefault("; ".join(row["short"]), []).append(
                f"{row['board']} ({row['npu']})"
            )
    for reason, names in refusing.items():
        lines += _wrapped(f"not on {', '.join(names)}: {reason}")
    return lines


def _what(each: dict[str, Any]) -> str:
    if not each["reasons"]:
        return f"{each['runtime']} {each['verdict']}, by all limits that are known"
    needs = each["verdict"] == runtimes.NEEDS
    reasons = []
    for reason in each["reasons"]:
        said = reason["rule"] != "build" and reason["message"]
        reasons.append(reason["text"] + (f' ("{said}")' if said else ""))
    return f"{each['runtime']} {each['verdict']}{'' if needs else ':'} {'; '.join(reasons)}"


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False)
