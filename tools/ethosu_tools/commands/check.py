# SPDX-License-Identifier: MIT
"""`ethosu check`: tell whether a model runs, where, how exactly and how fast, or why not."""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .. import boards
from ..answers import answer, faster, on_boards, page, rules, runtimes, subject, traits, views
from ..base import verification
from ..base.errors import InputError, MismatchError, UsageError
from ..base.files import Output, write_whole
from ..base.ui import Ui
from ..boards import setup, systems, targets
from ..boards.systems import System
from ..compile import load
from ..model import ANY, ModelFile
from ..model.tflite import signatures
from ..model.vela_versions import add_data_option, warn
from ..sim import fit

EPILOG = """\
The file may come from any tool: a .tflite as trained, or compiled by any release of Vela, Seeed,
OpenMV, Edge Impulse or Arm; an ExecuTorch program. A file that was never compiled is compiled for
the NPU of each board, and its results are compared with TFLite's reference kernels, bit by bit. For
a compiled file this needs the original: --reference.

    ethosu check model.tflite
    ethosu check model_vela.tflite --reference model.tflite --board GROVE_VISION_AI_V2
    ethosu check kws.tflite vww.tflite                    a column for each file
    ethosu check model.tflite --board BOARD --html page.html
    ethosu check model.tflite --npu ethos-u55-128 --config mine.ini --system-config MY_CHIP

Boards come in order of their speed, then those with only a lower bound (>=). The time follows
Vela's performance model, per operation, and adds what that omits: partial blocks at the edges,
memory that is read again for each block, copies that overlap with kernels, and the speeds of the
chip's memories. docs/latency.md compares it with measurements of chips; the range in brackets comes
from there: 30 % below 0.2 ms, otherwise 20 %. Only a lower bound is given where no chip was
measured: for Ethos-U65 and U85, for weights or tensors outside the chip, and for boards whose
memory speeds are guesses. If operators stay on the CPU, their instructions are counted on an
emulated board. `ethosu profile` has the time of each layer.

The limits of other runtimes are read in their sources, which --json names, at one commit; your
build may have others. docs/errors.md explains what they print.

The exit code is 0 if at least one board (with --board: this one) runs it, 6 if it runs but values
are wrong, else 3. What is known of the NPU, or of TFLite's kernels, is not wrong, and is said. If
there are several files, or a file has several signatures, the exit code is the worst.
"""
# Exit codes, from the worst.
_BY_WEIGHT = (InputError.exit_code, MismatchError.exit_code)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("models", type=Path, nargs="+", metavar="FILE", help=ANY)
    add_data_option(parser)
    systems.add_board(parser, "--board", "all boards")
    targets.add_npu_option(parser, "this NPU only (default: all)", default=None)
    parser.add_argument("--weights", metavar="MEMORY", help="memory of --board for the weights")
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="MODEL",
        help="the original of a compiled model: compare with TFLite's reference kernels",
    )
    fit.add_reserve_option(parser)
    parser.add_argument(
        "--html",
        type=Output,
        metavar="FILE",
        help="write a page: the answer, and the layers, the memory over time and the traffic on "
        "the fastest board, or on --board",
    )
    verification.add_option(parser)
    others = parser.add_argument_group("other systems")
    others.add_argument(
        "--chips",
        action="store_true",
        help="also chips without a board here, other memories, and Vela's example of each NPU",
    )
    others.add_argument(
        "--config", type=Path, metavar="INI", help="your own Vela configuration file, with --npu"
    )
    others.add_argument("--system-config", help="section of that file: clock and memories")
    others.add_argument(
        "--memory-mode",
        help="placement of weights and tensors there (default: Shared_Sram)",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Examine each file; if it has several signatures, the model of each."""
    _refuse(args)
    found = [_of_file(args, ui, path) for path in args.models]
    if len(found) == 1:
        return found[0]
    return {"models": found, "exit_code": _worst(found)}


def _refuse(args: argparse.Namespace) -> None:
    """Raise UsageError for options that exclude each other."""
    if args.models[1:] and (args.reference or args.html or args.data):
        raise UsageError("--reference, --html and --data are of one file")
    if args.config and (not (args.npu and args.system_config) or args.board or args.weights):
        raise UsageError(
            "--config needs --npu and --system-config, and excludes --board and --weights"
        )
    if (args.system_config or args.memory_mode) and not args.config:
        raise UsageError("--system-config and --memory-mode are of the file given by --config")
    if args.chips and (args.board or args.config):
        raise UsageError("--chips is for all boards: it excludes --board and --config")
    if args.reserve and (args.config or args.board in boards.chips()):
        name = args.system_config or args.board
        raise UsageError(f"--reserve is a part of a board's heap, but {name} has no known heap")
    if args.weights and not args.board:
        raise UsageError("--weights is a memory of one board: select it with --board")


def _of_file(args: argparse.Namespace, ui: Ui, path: Path) -> dict[str, Any]:
    file = ModelFile(path, args.data)
    warn(ui, file)
    reference = ModelFile(args.reference) if args.reference else None
    answers: dict[str, dict[str, Any]] = {}
    for each in signatures.each(file):
        original = reference and signatures.select(reference, each.signature)
        html = None if answers else args.html  # shows the first signature
        if html and each.signature:
            ui.remark(f"{html} is about the signature {each.signature}")
        answers[each.signature or ""] = _examine(args, ui, each, original, html)
    first = next(iter(answers.values()))
    if len(answers) == 1:
        return first
    verdicts = "; ".join(f"{name}: {found['verdict']}" for name, found in answers.items())
    return first | {
        "verdict": f"{len(answers)} signatures: {verdicts}",
        "signatures": answers,
        "exit_code": _worst(answers.values()),
    }


def _worst(answers: Iterable[dict[str, Any]]) -> int:
    codes = [found["exit_code"] for found in answers]
    return next((code for code in _BY_WEIGHT if code in codes), 0)


def _examine(
    args: argparse.Namespace,
    ui: Ui,
    file: ModelFile,
    reference: ModelFile | None,
    html: Path | None,
) -> dict[str, Any]:
    """Return the answer for one model, and write its page if `html` names one."""
    facts = traits.of(file)
    examination = on_boards.Examination(file, reference, ui, reserve=args.reserve)
    rows = [examination.row(system) for system in _systems(args, ui, file)]
    rows.sort(key=lambda row: row.rank)
    first = rows[0]
    seen = replace(facts, rejected=examination.rejected)
    runs = [run.as_dict() for run in examination.runs]
    made = examination.runs[first.run].file if first.run is not None else None
    time = first.estimate if first.runs else None
    found = {
        "model": str(file),
        "bytes": len(file.whole),
        "what": facts.what,
        "compiled": facts.compiled,
        "npu": facts.npu,
        "vela": facts.vela,
        "dtypes": facts.dtypes,
        "cpu_operators": examination.cpu_operators,
        "uncounted": examination.uncounted,
        "scratch_bytes": facts.scratch,
        "planned_bytes": facts.planned,
        "boards": [row.as_dict() for row in rows],
        "runs": runs,
        "faster": faster.changes(file, made, time, args.reserve) if made and time else [],
        "leftover": load.leftover_of(file, first.system),
        "runtimes": runtimes.verdicts(seen),
    }
    if len(rows) == 1 and (point := boards.blind_point(first.system.name)):
        found["blind_point"] = asdict(point)
    found = {"verdict": answer.verdict(found), **found, "exit_code": _exit_code(rows, runs)}
    if html and made:
        examined = subject.examine(file, first.system, reference)
        write_whole(html, page.build(examined, found).encode())
        found["html"] = str(html)
    elif html:
        ui.warn(f"{html} was not written: {first.system.name} cannot load {file}")
    return found


def _systems(args: argparse.Namespace, ui: Ui, file: ModelFile) -> Iterator[System]:
    """Select the systems to examine."""
    setup.check_npu(file, args.npu)
    if args.config:
        mode = args.memory_mode or "Shared_Sram"
        yield systems.custom(args.npu, args.config, args.system_config, mode)
    elif args.chips:
        npu = args.npu or file.description.npu
        yield from (system for system in systems.every() if npu in (None, system.npu))
    else:
        for each in setup.every(file, args.board, args.npu, args.weights, ui=ui):
            yield each.system


def _exit_code(rows: list[on_boards.Row], runs: list[dict[str, Any]]) -> int:
    used = [runs[row.run] for row in rows if row.runs and row.run is not None]
    if not used:
        return InputError.exit_code
    return MismatchError.exit_code if answer.is_wrong(used) else 0


def render(data: dict[str, Any]) -> str:
    """Format the verdict, the reasons, then the details; several files as a table."""
    if "models" in data:
        lines = [
            line
            for each in data["models"]
            for line in answer.wrapped(f"{each['model']}: {each['verdict']}")
        ]
        return "\n".join([views.text(*answer.side_by_side(data["models"])), "", *lines])
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
    lines += ["docs/errors.md explains their messages.", "", *answer.following(data)]
    return "\n".join(lines).rstrip()
