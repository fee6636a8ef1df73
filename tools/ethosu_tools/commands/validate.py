# SPDX-License-Identifier: MIT
"""`ethosu validate`: measure the accuracy and errors of a compiled model over a data set."""

import argparse
import hashlib
import math
import os
from functools import partial
from pathlib import Path
from typing import Any

from .. import boards
from ..base import addons, paths, verification
from ..base.errors import InputError, MismatchError, UsageError
from ..base.files import Output
from ..base.ui import Ui, positive
from ..boards import targets
from ..compile.plan.kernels import STATEFUL
from ..model import Description, ModelFile, arrays
from ..model.vela_versions import open_model
from ..sim.oracle import check_original

EPILOG = """\
DATA is one of
  FILE.npz      arrays "0", "1", ... (first dimension: samples) and, for classes, "labels"
  FILE.npy      the array of the only input, without classes
  FILE.csv      a header line; column `label` is the class, the others are the values of the input
  FOLDER        one folder per class, with arrays (.npy) and images (needs Pillow)
  FILE.py:NAME  an iterable of samples or of (sample, class), or a function that returns one
Arrays of floats are real values and are quantised; integers are raw values of the input's type. A
sample has the shape that `ethosu inspect` prints, with axes in the model's order. Axes of size 1
may be omitted, and a flat row of all values is accepted. Other orders, such as channels first, are
rejected with a message that names the required transposition.

--reference is the original model, before compilation. An int8 model is compared bit by bit with
TFLite's reference kernels, a float model by value, in steps of the output's scale. If an int8 model
is not bit-exact, the exit code is 6.

    ethosu validate kws_vela.tflite test.npz --reference kws.tflite
    ethosu validate kws_vela.tflite test.npz --on /dev/ttyACM0

To resume an interrupted run, start the same command again.
"""
_MAX_MATRIX = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a compiled .tflite file")
    parser.add_argument("data", help="the data set, see below")
    parser.add_argument(
        "--on",
        default="sim",
        metavar="sim|qemu|PORT",
        help="the simulated NPU, emulated boards, or a board's port (default: sim)",
    )
    parser.add_argument("--reference", type=Path, metavar="MODEL", help="see below")
    parser.add_argument(
        "--top",
        type=positive,
        default=5,
        metavar="K",
        help="also report top-K accuracy (default: 5)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="number of processes (default: one per core; 1 for a port)",
    )
    for name in addons.offers("cluster"):
        parser.add_argument(f"--{name}", metavar="ADDRESS", help="run on a cluster: its scheduler")
    parser.add_argument(
        "--failures", type=Output, metavar="NPZ", help="save the inputs of the first failures here"
    )
    parser.add_argument(
        "--notes",
        type=Path,
        metavar="FILE",
        help="record finished blocks here, for resuming (default: in the user's cache)",
    )
    boards.add_option(parser, "the board to emulate", boards.DEFAULT_HELP)
    targets.add_npu_option(
        parser, "NPU to simulate or emulate (default: the model's)", default=None
    )
    verification.add_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run all samples."""
    from ..answers.validate import data as data_sets
    from ..answers.validate import work

    real = args.on not in ("sim", "qemu")
    workers = args.workers or (1 if real else os.cpu_count() or 1)
    name = next((name for name in addons.offers("cluster") if getattr(args, name)), "")
    address = getattr(args, name, "")
    cluster = partial(addons.load("cluster", name).results, address) if name else None
    if real and (workers > 1 or cluster):
        raise UsageError(f"{args.on} is a port, which allows one worker and no cluster")
    file = open_model(ui, args.model)
    description = file.compiled
    _check_stateless(args.model, description)
    classes = data_sets.classes_of(description.outputs[0])
    data = data_sets.read(args.data, description.inputs, classes)
    reference = ModelFile(args.reference) if args.reference else None
    if reference:
        check_original(reference, file, types=False)  # the reference may be a float model
    where = args.on, args.npu, args.board
    settings = work.Settings(
        file.data,
        file.named,
        str(args.model),
        reference.data if reference else None,
        *where,
        args.top,
        verify=verification.chosen(),
    )
    key = hashlib.sha256(f"{settings!r} {data.identity}".encode()).hexdigest()
    notes = work.Notes(args.notes or paths.cache("validate") / f"{key[:16]}.jsonl", key)
    resumed, complete = len(notes.done), False
    try:
        with ui.progress(f"running on {address or args.on}") as progress:
            result = work.run(settings, data, notes, workers, cluster, progress)
        complete = True
    finally:
        notes.close(remove=complete)
    if args.failures and result.failures:
        arrays.save(args.failures, data.chosen(result.failures))
    summary = {
        "model": str(args.model),
        "data": args.data,
        "on": args.on,
        "top": args.top,
        "resumed_blocks": resumed,
        "classes": list(data.classes),
        "reference": str(args.reference) if args.reference else None,
        **result.as_dict(),
        "outputs": math.prod(description.outputs[0].shape),
        "exact": result.exact if _promises_bits(reference, description) else None,
    }
    if reference and summary["exact"] not in (None, result.samples):
        ui.result(summary, render(summary))
        raise MismatchError(
            f"{result.samples - result.exact:,} of {result.samples:,} samples differ from the "
            f"reference {args.reference}"
        )
    return summary


def _check_stateless(path: Path, compiled: Description) -> None:
    """Reject streaming models: workers run blocks of samples, so their state would be undefined."""
    if any(name in STATEFUL for name in compiled.cpu_operators):
        raise InputError(
            f"{path} is a streaming model, which keeps state between samples, but the samples of a "
            "data set are independent; compare a stream with `ethosu run --reference`"
        )


def _promises_bits(reference: ModelFile | None, compiled: Description) -> bool:
    """Whether outputs must be bit-exact with the reference, which a float model's cannot be."""
    if reference is None:
        return True
    same = [tensor.dtype for tensor in reference.description.outputs] == [
        tensor.dtype for tensor in compiled.outputs
    ]
    return same and reference.is_quantised


def render(data: dict[str, Any]) -> str:
    """Report accuracy, errors and confusion."""
    several = "s" if data["samples"] != 1 else ""
    lines = [f"{data['model']}: {data['samples']:,} sample{several} on {data['on']}"]
    labelled = data["labelled"]
    if not labelled:
        lines.append("accuracy    not measured: the samples have no labels")
    if labelled:
        lines.append(f"accuracy    {_share(data['top1'], labelled)}")
        if data["top"] < data["outputs"]:
            lines.append(f"top {data['top']:<7} {_share(data['topk'], labelled)}")
    if data["reference"]:
        if data["exact"] is not None:
            lines.append(f"bit-exact   {_share(data['exact'], data['samples'])}")
        lines.append(f"same class  {_share(data['agree'], data['samples'])}")
        if labelled:
            lines.append(f"accuracy of the reference  {_share(data['reference_top1'], labelled)}")
        lines += [_error(index, each) for index, each in enumerate(data["errors"])]
    lines += _confusion(data)
    if data["failures"]:
        lines.append(f"first failures  {', '.join(map(str, data['failures']))}")
    return "\n".join(lines)


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:6.2f} %  {count:,} of {of:,}"


def _error(index: int, error: dict[str, Any]) -> str:
    from ..answers.validate.results import BINS

    names = ["0", *(f"<={each}" for each in BINS[1:]), f">{BINS[-1]}"]
    shown = ", ".join(
        f"{name}: {count:,}" for name, count in zip(names, error["histogram"], strict=True) if count
    )
    return (
        f"output {index}    largest error {error['largest']:g} steps, "
        f"mean {error['total'] / max(1, error['values']):.4g}; {shown}"
    )


def _confusion(data: dict[str, Any]) -> list[str]:
    """Format the confusion matrix if it is small, else the most frequent confusions."""
    counts = {(label, predicted): count for label, predicted, count in data["confusion"]}
    if not counts:
        return []
    size = 1 + max(max(pair) for pair in counts)
    names = data["classes"] or [str(index) for index in range(size)]
    names = [*names, *(str(index) for index in range(len(names), size))]
    if size <= _MAX_MATRIX:
        width = max(len(str(count)) for count in counts.values()) + 1
        head = max(map(len, names))
        lines = ["rows: class, columns: prediction, starting at 0"]
        for label in range(size):
            row = "".join(
                f"{counts.get((label, predicted), 0):>{width}}" for predicted in range(size)
            )
            lines.append(f"{names[label]:>{head}} {row}")
        return lines
    wrong = sorted(((count, *pair) for pair, count in counts.items() if pair[0] != pair[1]))[::-1]
    return [f"{names[a]} predicted as {names[b]}  {count:,}" for count, a, b in wrong[:10]]
