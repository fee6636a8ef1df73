# SPDX-License-Identifier: MIT
"""Estimate the four models of MLPerf Tiny on all NPUs and boards."""

import argparse
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.answers import cpu, subject, text, views
from ethosu_tools.answers.on_boards import Examination
from ethosu_tools.answers.subject import Subject
from ethosu_tools.answers.validate import data
from ethosu_tools.base.errors import InputError
from ethosu_tools.base.files import Output, write_whole
from ethosu_tools.base.ui import Ui, markdown
from ethosu_tools.boards import systems, targets
from ethosu_tools.boards.systems import System
from ethosu_tools.model import ModelFile
from ethosu_tools.model.arrays import quantise_all
from ethosu_tools.sim import simulation

from host_tests.lab import script

EPILOG = """\
The models belong to MLCommons and are not part of this project. Copy the four files from its
repository mlcommons/tiny, folder benchmark/training, into a folder, and pass that with --models.
Each is compared with TFLite's reference kernels on every NPU.

Accuracy needs MLCommons' data sets, which are not part of this project either. --data is a folder
with NAME.npz (or NAME.csv, or a folder NAME) for a model NAME.tflite, in the format of
`ethosu validate`; the label of a sound is 1 for a window with an anomaly, else 0. Without --data,
accuracy is not measured.

    python -m host_tests.lab.mlperf_tiny --models MODELS --instructions --page docs/mlperf_tiny.md
"""


@dataclass(frozen=True)
class Task:
    """A model of the benchmark: its file, the hash of its contents, and its task."""

    file: str
    sha256: str
    title: str
    anomaly: bool = False  # the score is the distance between output and input


TASKS = (
    Task(
        "kws_ref_model.tflite",
        "aeea436800704fce17b17292e4412630ad856e9d777c044c64ef748a880bd0ae",
        "keyword spotting: DS-CNN, 12 words",
    ),
    Task(
        "vww_96_int8.tflite",
        "597a384c8c2c8a1276f04702f25013b7838f2f814f1ca7c174d295b73e3d6b7b",
        "visual wake words: MobileNetV1 0.25, 96 x 96",
    ),
    Task(
        "pretrainedResnet_quant.tflite",
        "3c002613d1b2475eb51dd78dfb85a546c8ae658dee71cf6ade43b022fe205415",
        "image classification: ResNet-8, CIFAR-10",
    ),
    Task(
        "ad01_int8.tflite",
        "87cf24194ef93d1d9b11a591d805526b98008e351655d29883c825c9c106ba24",
        "anomaly detection: auto-encoder, 640 values",
        anomaly=True,
    ),
)
HEAD = ("system", "NPU", "MHz", "weights", "latency", "NPU cycles", "instructions", "file bytes",
        "arena bytes", "equals LiteRT")  # fmt: skip
INTRODUCTION = """\
<!-- SPDX-License-Identifier: MIT -->
# MLPerf Tiny on all NPUs and boards

`python -m host_tests.lab.mlperf_tiny --models MODELS --instructions --page docs/mlperf_tiny.md`
generated this page. No chip was measured: the latencies come from `ethosu profile`, and
[latency.md](latency.md) explains their accuracy. "At least" marks a lower bound, all that can be
given for off-chip weights or tensors, and for Ethos-U65 and U85. The last rows of each table are
Vela's example systems. "Instructions" are CPU instructions per inference, counted on an emulated
board: driver, runtime, CPU operators and the Python call. The last column compares all values of
three random inputs with TFLite's reference kernels. Accuracy needs MLCommons' data sets, which are
not part of this project: `--data FOLDER` measures it. These are not MLCommons benchmark results.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--models", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="data sets, for the accuracy")
    targets.add_npu_option(parser, "only this NPU", default=None)
    parser.add_argument(
        "--instructions", action="store_true", help="count CPU instructions on an emulated board"
    )
    parser.add_argument("--page", type=Output, metavar="MD", help="write the tables to this file")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Examine each model on each system."""
    paths = {task.file: args.models / task.file for task in TASKS}
    tasks = [task for task in TASKS if paths[task.file].is_file()]
    if not tasks:
        raise InputError(f"{args.models} has none of {', '.join(paths)}; see --help for a source")
    selected = [system for system in systems.every() if args.npu in (None, system.npu)]
    rows: list[dict[str, Any]] = []
    accuracies: dict[str, dict[str, Any]] = {}
    counts: dict[str, int] = {}
    with ui.progress("models") as update:
        for task in tasks:
            model = _open(task, paths[task.file])
            examination = Examination(model, None, ui)
            for system in selected:
                update(len(rows), len(tasks) * len(selected))
                row, examined = _row(task, examination, system)
                if examined and args.instructions:
                    row["instructions"] = _instructions(examined, counts)
                if examined and task.file not in accuracies:
                    accuracies[task.file] = _accuracy(task, examined, args.data)
                rows.append(row)
    result: dict[str, Any] = {
        "rows": rows,
        "accuracy": accuracies,
        "missing": [task.file for task in TASKS if task not in tasks],
    }
    if args.page:
        write_whole(args.page, page(result).encode())
        result["page"] = str(args.page)
    return result


def _open(task: Task, path: Path) -> ModelFile:
    file = ModelFile(path)
    if hashlib.sha256(file.data).hexdigest() != task.sha256:
        raise InputError(f"{path} is not MLCommons' file: expected SHA-256 {task.sha256}")
    return file


def _row(
    task: Task, examination: Examination, system: System
) -> tuple[dict[str, Any], Subject | None]:
    row: dict[str, Any] = {
        "model": task.file,
        "system": system.name,
        "npu": system.npu,
        "clock_mhz": system.clock_hz / 1e6,
        "weights": system.weights.name,
        "instructions": None,
    }
    try:
        examined = subject.examine(examination.file, system)
    except InputError as error:
        return row | {"error": str(error)}, None
    facts = examined.as_dict()
    row |= {key: facts[key] for key in ("cycles", "bytes", "arena", "estimate")}
    return row | {"reference": examination.run(system).proof}, examined


def _instructions(examined: Subject, counts: dict[str, int]) -> int:
    """Count once per compiled file, which systems with the same NPU often share."""
    key = hashlib.sha256(examined.file.data).hexdigest()
    if key not in counts:
        counts[key] = cpu.instructions(examined.file)
    return counts[key]


def _accuracy(task: Task, examined: Subject, folder: Path | None) -> dict[str, Any]:
    """Accuracy of the compiled model on the simulator; "why": the reason if unknown."""
    name = Path(task.file).stem
    candidates = [folder / f"{name}{end}" for end in (".npz", ".csv", "")] if folder else []
    path = next(filter(Path.exists, candidates), None)
    if path is None:
        reason = f"{folder} has no {name}.npz" if folder else "no data set was given"
        return {"why": f"{reason}; use --data"}
    description = examined.file.description
    tensors = description.inputs
    samples = data.read(str(path), tensors, data.classes_of(description.outputs[0])).samples
    arrays = quantise_all(samples.inputs, tensors)
    given = [[array[index] for array in arrays] for index in range(len(samples))]
    results, labels = simulation.outputs(examined.file, given), samples.labels
    if not task.anomaly:
        classes = [int(np.argmax(output)) for (output,) in results]
        right = int(np.count_nonzero(classes == labels))
        return {"samples": len(labels), "top1": right / len(labels)}
    pairs = zip(given, results, strict=True)
    scores = np.array([np.mean((np.int32(x) - np.int32(y)) ** 2) for (x,), (y,) in pairs])
    return {"samples": len(labels), "auc": area(scores, labels)}


def area(scores: Any, labels: Any) -> float:
    """Area under the ROC curve: how often an anomaly scores higher than a normal sample."""
    bad, good = scores[labels != 0][:, None], scores[labels == 0][None, :]
    if not bad.size or not good.size:
        raise InputError("all labels are the same, so there is no ROC curve")
    return float(np.mean((bad > good) + 0.5 * (bad == good)))


def page(data: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [INTRODUCTION]
    for task in TASKS:
        rows = [row for row in data["rows"] if row["model"] == task.file]
        title = task.title[:1].upper() + task.title[1:]
        why = data["accuracy"].get(task.file, {}).get("why")
        said = "its accuracy was not measured." if why else _accuracy_text(data, task)
        lines += [f"## {title}\n", f"`{task.file}`; {said}"]
        if rows:
            lines += ["", *markdown(HEAD, map(_cells, rows))]
        lines.append("")
    return "\n".join(lines)


def _accuracy_text(data: dict[str, Any], task: Task) -> str:
    accuracy = data["accuracy"].get(task.file)
    if accuracy is None:
        return "the model was not given."
    if "why" in accuracy:
        return f"accuracy not measured: {accuracy['why']}."
    kind = "auc" if task.anomaly else "top1"
    name = "area under the ROC curve" if task.anomaly else "top-1 accuracy"
    return f"{name} {accuracy[kind]:.4f} of {accuracy['samples']:,} samples."


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    first = (row["system"], row["npu"], f"{row['clock_mhz']:g}", row["weights"])
    if "error" in row:
        return (*first, row["error"], "", "", "", "", "")
    count, proof = row["instructions"], row["reference"]
    return (
        *first,
        text.figure(row["estimate"]) if row["estimate"] else "-",
        f"{row['cycles']:,}",
        "-" if count is None else f"{count:,}",
        f"{row['bytes']:,}",
        f"{row['arena']:,}",
        proof.get("why") or ("no" if proof["differing"] else "yes"),
    )


def render(data: dict[str, Any]) -> str:
    """One table per model."""
    return "\n\n".join(_render(data)) + (f"\n\npage  {data['page']}" if "page" in data else "")


def _render(data: dict[str, Any]) -> Iterator[str]:
    for task in TASKS:
        rows = [_cells(row) for row in data["rows"] if row["model"] == task.file]
        yield f"{task.title}; {_accuracy_text(data, task)}"
        if rows:
            yield views.text(HEAD, rows, "MHz", *HEAD[5:9])


if __name__ == "__main__":
    script.main(sys.modules[__name__])
