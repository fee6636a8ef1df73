# SPDX-License-Identifier: MIT
"""Writes a bug report: a small model, its inputs, both sides' outputs, and a text."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import InputError
from ...base.files import write_whole
from ...base.ui import markdown
from ...compile import vela
from ...compile.known import Defect, expected
from ...model import ModelFile, arrays
from ...model.arrays import Array
from ...sim import litert
from ...sim.difference import Difference
from ...sim.oracle import BUILTIN, kernels_for
from .registers import Setting
from .search import Found, Search
from .shrink import Repro
from .sides import Side
from .ways import Npu, Outcome, Reference, Steps

# Ends of the names of all files that may be written.
ENDS = ("repro.tflite", "repro.npz", "repro_a.tflite", "repro_a.npz", "outputs.npz", "bug.md")
_SHOWN_VALUES = 8
_SHOWN_REGISTERS = 24


@dataclass(frozen=True)
class Report:
    """The facts about a difference.

    alone: what the written files show when they are read again. judgement: which side is right.
    """

    search: Search
    found: Found
    repro: Repro | None
    registers: Sequence[Setting]
    defects: Sequence[Defect]
    files: dict[str, str]
    alone: Difference | str | None
    judgement: str

    @property
    def note(self) -> str:
        """A note that a difference is expected, because the NPU rounds differently from TFLite."""
        ways = self.search.a.way, self.search.b.way
        measured = self.found.measure
        if measured is None or self.search.tolerance is not None:
            return ""
        if not any(isinstance(way, Reference) for way in ways):
            return ""
        contents = self.search.a.contents
        operator = contents.operators[self.found.number]
        share = measured.differing / measured.values
        return expected(operator, contents.graph.tensors, measured.largest, share)

    @property
    def reproduced(self) -> bool:
        """Whether the part alone differs, or fails as the whole model does."""
        return isinstance(self.alone, Difference) or bool(self.alone and self.found.error)


def write(
    prefix: Path,
    search: Search,
    found: Found,
    repro: Repro | None,
    registers: Sequence[Setting],
    defects: Sequence[Defect],
    command: Sequence[str],
) -> Report:
    """Write PREFIX.repro.tflite, PREFIX.repro.npz, PREFIX.outputs.npz and PREFIX.bug.md.

    If the sides have two models, PREFIX.repro_a.tflite is that of side A, and PREFIX.repro_a.npz
    has its inputs if they differ.
    """
    files: dict[str, str] = {}
    alone: Difference | str | None = None
    judgement = ""
    if repro:
        files = _write_repro(prefix, repro)
        alone, judgement = _check(search, found, repro, files)
    files["report"] = f"{prefix}.bug.md"
    report = Report(search, found, repro, registers, defects, files, alone, judgement)
    write_whole(Path(files["report"]), ("\n".join(_text(report, command)) + "\n").encode())
    return report


def _write_repro(prefix: Path, repro: Repro) -> dict[str, str]:
    a, b = repro.trial.cuts
    files = {"model": f"{prefix}.repro.tflite", "inputs": f"{prefix}.repro.npz"}
    write_whole(Path(files["model"]), b.data)
    _save(files["inputs"], repro.inputs)
    if a.data != b.data:
        files["model_a"] = f"{prefix}.repro_a.tflite"
        write_whole(Path(files["model_a"]), a.data)
    if repro.a_inputs is not repro.inputs:
        files["inputs_a"] = f"{prefix}.repro_a.npz"
        _save(files["inputs_a"], repro.a_inputs)
    return files


def _save(path: str, steps: Sequence[Sequence[Array]]) -> None:
    """Save inputs for `ethosu run --input`, with a time axis if there are several steps."""
    arrays.save(Path(path), arrays.collect(steps, has_time=len(steps) > 1))


def _check(
    search: Search, found: Found, repro: Repro, files: dict[str, str]
) -> tuple[Difference | str | None, str]:
    """Run the written files; returns the difference or the error, and which side is right.

    The former is None if there is neither a difference nor an error.
    """
    outcomes: list[Outcome] = []
    for side, key in ((search.a, "_a"), (search.b, "")):
        file = ModelFile(Path(files.get(f"model{key}", files["model"])))
        given = arrays.load(Path(files.get(f"inputs{key}", files["inputs"])))
        feed = arrays.check(given, file.description.inputs)
        steps = [feed.step(index) for index in range(feed.steps)]
        try:
            outcomes.append((side.way or Reference()).run(file, steps))
        except InputError as error:
            outcomes.append(str(error))
    errors = [each for each in outcomes if isinstance(each, str)]
    if errors:
        return errors[0], ""
    outputs = [each for each in outcomes if not isinstance(each, str)]
    _save_outputs(files, outputs)
    measured = search.measure_outputs(repro.trial.cuts, outputs)
    differing = {layer: each for layer, each in measured.items() if each.differs}
    difference = differing.get(found.number, next(iter(differing.values()), None))
    return difference, "" if "model_a" in files else _judge(search, file, steps, outputs)


def _judge(
    search: Search, file: ModelFile, steps: Steps, outputs: Sequence[list[list[Array]]]
) -> str:
    """Tell which of two NPUs gives the values of TFLite's kernels."""
    if not all(isinstance(side.way, Npu) for side in (search.a, search.b)):
        return ""
    try:
        wanted = Reference().run(file, steps)
    except InputError:
        return ""
    right = [
        name
        for name, rows in zip(("A", "B"), outputs, strict=True)
        if not Difference.of_outputs(rows, wanted).differing
    ]
    return f"{right[0] if right else 'neither side'} equals TFLite's reference kernels"


def _save_outputs(files: dict[str, str], outcomes: Sequence[list[list[Array]]]) -> None:
    files["outputs"] = files["model"].removesuffix(".repro.tflite") + ".outputs.npz"
    both: dict[str, Array] = {}
    for name, rows in zip(("a", "b"), outcomes, strict=True):
        columns = arrays.collect(rows, has_time=len(rows) > 1)
        both |= {f"{name}_{key}": array for key, array in columns.items()}
    arrays.save(Path(files["outputs"]), both)


def _text(report: Report, command: Sequence[str]) -> Iterator[str]:
    found, search = report.found, report.search
    runs_not = bool(found.error and found.group)  # and no part of the model was tried
    if runs_not:
        yield f"# {search.a.file if search.errors[0] else search.b.file} does not run"
    else:
        yield f"# {found.name}: {'it fails' if found.error else 'results differ'}"
    yield ""
    yield f"- expected (A): {search.a.title}"
    yield f"- found (B): {search.b.title}"
    if not runs_not:
        yield f"- first layer that {'fails' if found.error else 'differs'}: {found.name}"
    if found.group and not runs_not:
        names = ", ".join(search.a.contents.name(number) for number in found.group)
        yield f"- it, or a layer whose values cannot be seen: {names}"
    if found.measure:
        yield f"- difference: {found.measure.text()}"
    if found.error:
        yield f"- error: {found.error}"
    for defect in report.defects:
        yield f"- known defect of Vela: `{defect.name}`: {defect.text}"
    if report.judgement:
        yield f"- {report.judgement}"
    if report.note:
        yield f"- {report.note}"
    yield ""
    yield from _repro_text(report)
    yield from _registers_text(report.registers, registers_of_a(search))
    yield from ("## Versions", "")
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield f"- ethosu-tools {version('ethosu-tools')}, {system}"
    for name, side in (("A", search.a), ("B", search.b)):
        yield f"- {name}: {side.title}, model {side.file}"
    yield f"- found with: `{shlex.join(command)}`"


def _repro_text(report: Report) -> Iterator[str]:
    yield from ("## How to reproduce", "")
    repro, files, search = report.repro, report.files, report.search
    if repro is None:
        text = "No part of the model alone shows it: attach the model and the compiled file."
        yield from (text, "")
        return
    cut = repro.trial.cuts[1]
    count = len(cut.operators)
    what = "1 operator" if count == 1 else f"{count} operators"
    yield from (f"`{files['model']}` has {what} of the model:", "")
    whole = search.b.contents

    def tensors(numbers: Sequence[int]) -> str:
        return ", ".join(_tensor(whole.graph.tensors[each]) for each in numbers if each >= 0)

    operators = [(whole.name(number), whole.operators[number]) for number in cut.operators]
    rows = [(name, tensors(each.inputs), tensors(each.outputs)) for name, each in operators]
    yield from markdown(("operator", "inputs", "output"), rows)
    yield ""
    if isinstance(report.alone, Difference):
        yield f"With the inputs in `{files['inputs']}`: {report.alone.text()}."
        yield f"`{files['outputs']}` has the outputs of both sides (`a_0`, `b_0`, ...)."
        yield ""
        yield from _values_text(report)
    elif report.alone:
        yield from (f"With the inputs in `{files['inputs']}`: {report.alone}", "")
    else:
        yield from (f"Alone, with the inputs in `{files['inputs']}`, both sides agree.", "")
    yield from _commands_text(search, files, len(repro.inputs))


def _values_text(report: Report) -> Iterator[str]:
    outputs = arrays.load(Path(report.files["outputs"]))
    rows = []
    for key in sorted(key for key in outputs if key.startswith("a_")):
        a, b = outputs[key], outputs[key.replace("a_", "b_")]
        b = b.reshape(a.shape) if a.size == b.size else b
        if a.shape != b.shape:
            continue
        for index in islice(map(tuple, np.argwhere(a != b)), _SHOWN_VALUES):
            rows.append((key.removeprefix("a_"), ", ".join(map(str, index)), a[index], b[index]))
    yield from markdown(("output", "index", "expected", "found"), rows)
    yield ""


def _commands_text(search: Search, files: dict[str, str], steps: int) -> Iterator[str]:
    model, inputs = files["model"], files["inputs"]
    a, b = search.a.way, search.b.way
    npus = [way for way in (a, b) if isinstance(way, Npu)]
    if "model_a" not in files and npus:
        yield from ("With these tools:", "")
        words = ["ethosu", "bisect", model, "--inputs", inputs, *_options(npus[0], "")]
        if len(npus) > 1:
            words += _options(npus[1], "other-")
        yield from (f"    {shlex.join(words)}", "")
    if npus:
        yield from ("With Vela and TensorFlow Lite:", "")
        for way in npus:
            yield f"    {shlex.join(_vela(way, model))}    # Vela {way.release}"
        compiled = f"output/{Path(model).stem}_vela.tflite"
        words = ["ethosu", "run", compiled, "--input", inputs, "--reference", model]
        yield from (f"    {shlex.join(words)}", "")
    names = {operator.name for operator in search.a.contents.graph.operators}
    # Unless the model is changed, the reference kernel of SUM takes int8 for uint8.
    kernels = BUILTIN if "SUM" in names else kernels_for(search.a.contents.file)
    yield (
        f"The expected outputs, in Python 3.11 or 3.12 with ai-edge-litert {litert.RELEASES[0]} "
        "(later releases round FULLY_CONNECTED once):"
    )
    yield ""
    yield "    import numpy as np"
    yield "    from ai_edge_litert.interpreter import Interpreter, OpResolverType"
    yield f"    i = Interpreter({files.get('model_a', model)!r},"
    yield f"                    experimental_op_resolver_type=OpResolverType.{kernels})"
    yield "    i.allocate_tensors()"
    yield f"    inputs = np.load({files.get('inputs_a', inputs)!r})"
    yield f"    for step in range({steps}):"
    yield "        for n, each in enumerate(i.get_input_details()):"
    at = "" if steps == 1 else "[step]"
    yield f"            i.set_tensor(each['index'], inputs[str(n)]{at})"
    yield "        i.invoke()"
    yield "        print([i.get_tensor(each['index']) for each in i.get_output_details()])"
    yield ""


def _options(way: Npu, prefix: str) -> Iterator[str]:
    """Return the options of `ethosu bisect` for a way."""
    if way.board:
        yield from (f"--{prefix}board", way.board)
    yield from (f"--{prefix}npu", way.npu, f"--{prefix}memory-mode", way.mode)
    if way.python:
        yield from (f"--{prefix}vela", way.python)


def _vela(way: Npu, model: str) -> Iterator[str]:
    yield from ("vela", "--accelerator-config", way.npu, "--config", "Arm/vela.ini")
    if way.facts:
        yield from ("--config", str(way.facts.config))
    yield from ("--system-config", way.system_config, "--memory-mode", way.mode)
    yield model


def registers_of_a(search: Search) -> str:
    """Name the source of A's registers: the file, or this Vela if A is not compiled."""
    return "A" if search.a.compiled is not None else f"what Vela {vela.release()} writes for A"


def _registers_text(rows: Sequence[Setting], a: str) -> Iterator[str]:
    if not rows:
        return
    yield from ("## Registers and constants that differ", "")
    shown: list[tuple[object, ...]] = [astuple(row) for row in rows[:_SHOWN_REGISTERS]]
    if len(rows) > _SHOWN_REGISTERS:
        shown.append(("", "", f"{len(rows) - _SHOWN_REGISTERS} more", "", ""))
    yield from markdown(("operation", "layer", "register", a, "B"), shown)
    yield ""


def _tensor(tensor: Any) -> str:
    shape = "x".join(map(str, tensor.shape))
    scale = f" (scale {tensor.scale:.9g}, zero point {tensor.zero_point})" if tensor.scale else ""
    return f"{tensor.name} {tensor.dtype} {shape}{scale}"


def side_dict(side: Side) -> dict[str, Any]:
    """Return a side as plain data, for JSON."""
    way = side.way
    return {
        "model": str(side.file),
        "way": side.title,
        "npu": way.npu if isinstance(way, Npu) else side.file.description.npu,
        "error": side.outcome if isinstance(side.outcome, str) else None,
    }
