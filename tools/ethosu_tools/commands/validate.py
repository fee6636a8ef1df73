# SPDX-License-Identifier: MIT
"""`ethosu validate`: accuracy and errors of a compiled model over a data set."""

import argparse
import hashlib
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, boards, models, vela, verification
from ..errors import InputError, MismatchError, UsageError
from ..model import Description, ModelFile
from ..plan.kernels import STATEFUL
from ..ui import Ui

EPILOG = """\
DATA is one of
  FILE.npz      arrays "0", "1", ... (samples in front) and, if there are classes, "labels"
  FILE.npy      the array of the one input, without classes
  FILE.csv      a header; a column `label`, all others are the values of the input
  FOLDER        a folder for each class, in it arrays (.npy) and images (with Pillow)
  FILE.py:NAME  an iterable, or a function that returns one, of samples or (sample, class)
Arrays of floats are real values, which are quantised; integers are raw values, of the input's type.
The axes are in the model's order: a sample has the shape that `ethosu inspect` prints, may lack
axes of size 1, or is a row of all its values. Other orders of the axes, such as channels first, are
refused with the transposition that is needed.

--reference names the model as it was before compiling: an int8 one is compared bit by bit with
TFLite's reference kernels, a float one by value, in steps of the output's scale. If bits differ
from those of an int8 one, the exit code is 6.

    ethosu validate kws_vela.tflite test.npz --reference kws.tflite
    ethosu validate kws_vela.tflite test.npz --on /dev/ttyACM0
    ethosu validate kws_vela.tflite test.npz --scheduler tcp://10.0.0.1:8786

A run that was stopped continues where it stopped when the same command is started again.
"""
_CONFUSION_MOST = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("model", type=Path, help="what `ethosu compile` made")
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
        type=_positive,
        default=5,
        metavar="K",
        help="also count samples whose class is among the K most likely (default: 5)",
    )
    parser.add_argument(
        "--workers",
        type=_positive,
        metavar="N",
        help="processes (default: all cores; of a port, 1)",
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster does the work")
    parser.add_argument(
        "--failures", type=Path, metavar="NPZ", help="keep the inputs of the first failures here"
    )
    parser.add_argument(
        "--notes",
        type=Path,
        metavar="FILE",
        help="where finished blocks are recorded (default: in the cache)",
    )
    boards.add_option(parser, "the board of qemu", boards.DEFAULT_HELP)
    vela.add_npu_option(
        parser, "another simulated or emulated NPU than the model's own", default=None
    )
    verification.add_option(parser)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, found {text!r}")
    return int(text)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run all samples."""
    from ..validate import data as data_sets
    from ..validate import work

    real = args.on not in ("sim", "qemu")
    workers = args.workers or (1 if real else os.cpu_count() or 1)
    if real and (workers > 1 or args.scheduler):
        raise UsageError(f"{args.on} is a port, which has one worker, and no Dask")
    file = ModelFile(args.model)
    description = file.compiled
    _check_stateless(args.model, description)
    classes = data_sets.classes_of(description.outputs[0])
    data = data_sets.read(args.data, description.inputs, classes)
    reference = ModelFile(args.reference) if args.reference else None
    _check_reference(reference, description)
    where = args.on, args.npu, args.board
    job = work.Job(
        file.data,
        str(args.model),
        reference.data if reference else None,
        *where,
        args.top,
        verify=verification.chosen(),
    )
    key = hashlib.sha256(f"{job!r} {data.identity}".encode()).hexdigest()
    notes = work.Notes(args.notes or _cache() / f"{key[:16]}.jsonl", key)
    resumed, complete = len(notes.done), False
    try:
        with ui.progress(f"running on {args.scheduler or args.on}") as progress:
            result = work.run(job, data, notes, workers, args.scheduler, progress)
        complete = True
    finally:
        notes.close(remove=complete)
    if args.failures and result.failures:
        arrays.save(
            args.failures,
            {
                str(key): np.stack([each[index] for index in result.failures])
                for key, each in enumerate(data.samples.inputs)
            }
            | {"index": np.array(result.failures), "labels": data.samples.labels[result.failures]},
        )
    found = {
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
    if reference and found["exact"] not in (None, result.samples):
        ui.result(found, render(found))
        raise MismatchError(
            f"{result.samples - result.exact:,} of {result.samples:,} samples differ from the "
            f"reference {args.reference}"
        )
    return found


def _check_stateless(path: Path, compiled: Description) -> None:
    """Samples go to workers in blocks: what a sample leaves behind would differ from run to run."""
    if any(name in STATEFUL for name in compiled.cpu_operators):
        raise InputError(
            f"{path} is a streaming model, whose variables pass from sample to sample; samples of "
            "a data set are independent: compare a stream with `ethosu run --reference`"
        )


def _check_reference(reference: ModelFile | None, compiled: Description) -> None:
    if reference is None:
        return
    found = reference.description
    shapes = [[each.shape for each in ends] for ends in (found.inputs, found.outputs)]
    if shapes != [[each.shape for each in ends] for ends in (compiled.inputs, compiled.outputs)]:
        raise InputError(
            f"{reference} has inputs and outputs of other shapes than the compiled model"
        )


def _promises_bits(reference: ModelFile | None, compiled: Description) -> bool:
    """Do outputs equal the reference's bit by bit? Not those of a float model."""
    if reference is None:
        return True
    same = [tensor.dtype for tensor in reference.description.outputs] == [
        tensor.dtype for tensor in compiled.outputs
    ]
    return same and models.is_quantised(reference)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ethosu" / "validate"


def render(data: dict[str, Any]) -> str:
    """Say how good it is."""
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
    from ..validate.results import BINS

    names = ["0", *(f"<={each}" for each in BINS[1:]), f">{BINS[-1]}"]
    shown = ", ".join(
        f"{name}: {count:,}" for name, count in zip(names, error["histogram"], strict=True) if count
    )
    return (
        f"output {index}    largest error {error['largest']:g} steps, "
        f"mean {error['total'] / max(1, error['values']):.4g}; {shown}"
    )


def _confusion(data: dict[str, Any]) -> list[str]:
    """The matrix, if it is small; else the classes that are confused most."""
    counts = {(label, found): count for label, found, count in data["confusion"]}
    if not counts:
        return []
    size = 1 + max(max(pair) for pair in counts)
    names = data["classes"] or [str(index) for index in range(size)]
    names = [*names, *(str(index) for index in range(len(names), size))]
    if size <= _CONFUSION_MOST:
        width = max(len(str(count)) for count in counts.values()) + 1
        head = max(map(len, names))
        lines = ["rows: class, columns: found, from 0 on"]
        for label in range(size):
            row = "".join(f"{counts.get((label, found), 0):>{width}}" for found in range(size))
            lines.append(f"{names[label]:>{head}} {row}")
        return lines
    wrong = sorted(((count, *pair) for pair, count in counts.items() if pair[0] != pair[1]))[::-1]
    return [f"{names[a]} taken for {names[b]}  {count:,}" for count, a, b in wrong[:10]]
