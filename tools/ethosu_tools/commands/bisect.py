# SPDX-License-Identifier: MIT
"""`ethosu bisect`: find the first layer whose values differ, and make a bug report of it."""

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from ..answers import views
from ..base.errors import InputError, MismatchError, UsageError
from ..base.files import keep
from ..base.ui import Ui, positive, positive_number, visible
from ..boards import setup, systems, targets
from ..boards.setup import Why
from ..compile import known
from ..debug.bisection import operations, registers, report, shrink, structure
from ..debug.bisection.search import Found, Row, Search, largest_drop
from ..debug.bisection.sides import Side, is_same_structure
from ..debug.bisection.ways import Npu, Reference
from ..model import ModelFile, Tensor, arrays
from ..model.arrays import Array
from ..model.tflite.cut import Whole
from ..model.vela_versions import open_model

EPILOG = """\
One model is compared with itself before and after Vela; with --other-... options, with itself
compiled in another way. Two files are compared as they are: a model before Vela runs on TFLite's
reference kernels, a compiled one on the simulator; with --npu, --board, --memory-mode or --vela,
quantised models are compiled. A is what is expected, B what was found. Values must be equal, unless
one model is a float model: then a layer differs if its signal-to-noise ratio is below --tolerance.

    ethosu bisect kws.tflite --npu ethos-u55-128
    ethosu bisect kws.tflite kws_vela.tflite
    ethosu bisect kws.tflite --npu ethos-u85-256 --other-memory-mode Sram_Only
    ethosu bisect kws.tflite --vela old/bin/python --other-npu ethos-u55-256
    ethosu bisect kws_float.tflite kws.tflite --npu ethos-u55-128 --tolerance 15

Of two models it is also listed what differs in them, even where values do not: operators,
parameters, types, shapes, scales, axes and constants.

If a layer differs, the exit code is 6, and four files are written: PREFIX.repro.tflite, a model of
this layer and as few others as possible; PREFIX.repro.npz, its inputs; PREFIX.outputs.npz, the
outputs of both sides; PREFIX.bug.md, the text of a bug report.
"""
_DEFAULT_TOLERANCE = 20.0
_SEED = 0
_WAY = ("board", "npu", "memory_mode", "vela")  # options of each side
_LONGEST_NAME = 60  # in the table; converters join the names of fused layers
_SHOWN = 12  # at most this many differences of two models
_HEAD = ("layer", "values", "differ", "largest", "dB")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="A", help="a .tflite file, compiled or not")
    parser.add_argument("other", type=Path, metavar="B", nargs="?", help="another one")
    parser.add_argument(
        "--source", type=Path, metavar="MODEL", help="what compiled files were compiled from"
    )
    systems.add_options(parser)
    _add_ways(parser, "", "")
    systems.add_board(parser, "--other-board", "that of A")
    targets.add_npu_option(parser, "NPU of B", default=None, option="--other-npu")
    _add_ways(parser, "other-", " for B")
    parser.add_argument(
        "--inputs", type=Path, metavar="NPZ", help="input arrays (default: random numbers)"
    )
    parser.add_argument(
        "--steps", type=positive, default=3, help="number of random inputs (default: 3)"
    )
    parser.add_argument(
        "--tolerance",
        type=positive_number,
        metavar="DB",
        help="least signal-to-noise ratio of a layer; default: equal values, or "
        f"{_DEFAULT_TOLERANCE:g} for a float model",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PREFIX",
        help="start of the names of the files (default: that of A, in this folder)",
    )


def _add_ways(parser: argparse.ArgumentParser, prefix: str, which: str) -> None:
    parser.add_argument(f"--{prefix}memory-mode", metavar="MODE", help=f"Vela's memory mode{which}")
    parser.add_argument(
        f"--{prefix}vela",
        metavar="PYTHON",
        help=f"Python of an environment with another release of Vela{which}",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run both sides, search, and write the files."""
    prefix = args.output or Path(args.model.stem)
    outputs = [(f"-o {prefix}", Path(f"{prefix}.{end}")) for end in report.ENDS]
    keep((args.model, args.other, args.source, args.inputs), outputs)
    a, b = _sides(args, ui)
    tolerance = _tolerance(args, a, b)
    given = _inputs(args, a, b)
    with ui.progress("running both models") as progress:
        for done, (side, steps) in enumerate(zip((a, b), given, strict=True)):
            progress(done, 2)
            side.run(steps)
    data = {
        "a": report.side_dict(a),
        "b": report.side_dict(b),
        "steps": len(given[0]),
        "seed": None if args.inputs else _SEED,
        "tolerance": tolerance,
    }
    if a.whole is None or b.whole is None:
        return data | operations.compare(a, b, tolerance)
    for side in (a, b):
        if side.way is None and side.file.description.npu:
            side.learn(_way(side.file, args, "" if side is a else "other_"))
    with ui.progress("searching for the first layer") as progress:
        search = Search(a, b, tolerance, _tick(progress))
        rows = search.rows()
        found = search.find(rows)
        repro = shrink.shrink(search, found) if found else None
    data |= _facts(rows, found)
    if args.other and a.whole and b.whole and a.whole is not b.whole:
        data["changes"] = [asdict(each) for each in structure.changes(a.whole, b.whole)]
    if found is None:
        nothing = bool(args.other) and not data["compared"]
        return data | {"exit_code": InputError.exit_code if nothing else 0}
    made = report.write(
        prefix,
        search,
        found,
        repro,
        _registers(search, found),
        _defects(search, repro),
        _command(args),
    )
    return data | {
        "registers": [asdict(row) for row in made.registers],
        "registers_of_a": report.registers_of_a(search),
        "defects": [{"name": each.name, "text": each.text} for each in made.defects],
        "note": made.note or None,
        "judgement": made.judgement or None,
        "operators": list(repro.trial.cuts[0].operators) if repro else [],
        "reproduced": made.reproduced,
        "files": made.files,
        "exit_code": MismatchError.exit_code,
    }


def _command(args: argparse.Namespace) -> list[str]:
    """Return the command line, for the report."""
    words = ["ethosu", "bisect", str(args.model), *([str(args.other)] if args.other else [])]
    for name in ("source", *_WAY, *(f"other_{each}" for each in _WAY), "inputs", "tolerance"):
        if getattr(args, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(args, name))]
    return [*words, "--steps", str(args.steps)]


def _tick(progress: Callable[[int, int], None]) -> Callable[[], None]:
    """Advance the bar of a search of unknown length, which is always at least half full."""
    counter = count(1)
    return lambda: progress(done := next(counter), max(8, done + 2))


def _facts(rows: list[Row], found: Found | None) -> dict[str, Any]:
    return {
        "layers": [row.as_dict() for row in rows],
        "compared": sum(row.measure is not None for row in rows),
        "largest_drop": largest_drop(rows),
        "first": found
        and {
            "number": found.number,
            "name": found.name,
            "difference": found.measure and found.measure.as_dict(),
            "error": found.error or None,
            "group": list(found.group),
        },
        "exit_code": 0,
    }


def _sides(args: argparse.Namespace, ui: Ui) -> tuple[Side, Side]:
    file = open_model(ui, args.model)
    others = any(_given(args, "other_"))
    if args.other is None:
        if file.description.compiled:
            if args.source is None:
                raise UsageError(
                    f"{file} is compiled: pass the model before Vela, too, or a second file"
                )
            before = open_model(ui, args.source)
            return Side.of_source(before, Reference()), Side.of_compiled(file, Whole(before))
        if args.source is not None:
            raise UsageError(f"{file} is not compiled: it is its own source, omit --source")
        first = _way(file, args, "")
        if others:
            second = _way(file, args, "other_")
            if first == second:
                raise UsageError("both sides are compiled in the same way")
            return Side.of_source(file, first), Side.of_source(file, second)
        return Side.of_source(file, Reference()), Side.of_source(file, first)
    other = open_model(ui, args.other)
    source = open_model(ui, args.source) if args.source else None
    if source is None:
        uncompiled = [each for each in (file, other) if not each.description.compiled]
        source = uncompiled[0] if len(uncompiled) == 1 else None
    whole = Whole(source) if source else None
    return (
        _side(file, whole, args, "", compile_it=any(_given(args, ""))),
        _side(other, whole, args, "other_", compile_it=others or any(_given(args, ""))),
    )


def _side(
    file: ModelFile, whole: Whole | None, args: argparse.Namespace, prefix: str, compile_it: bool
) -> Side:
    if file.description.compiled:
        return Side.of_compiled(file, whole)
    if compile_it and file.is_quantised:
        return Side.of_source(file, _way(file, args, prefix))
    return Side.of_source(file, Reference())


def _given(args: argparse.Namespace, prefix: str) -> list[Any]:
    return [getattr(args, prefix + name) for name in _WAY]


def _way(file: ModelFile, args: argparse.Namespace, prefix: str) -> Npu:
    """Return how a side is compiled; options not given for B are those of A."""
    board, npu, mode, python = _given(args, prefix)
    if prefix:
        first = _given(args, "")
        npu = npu or (None if board else first[1])
        board, mode, python = board or first[0], mode or first[2], python or first[3]
    chosen = setup.resolve(file, board, npu)
    system, own = chosen.system, chosen.why not in (Why.OPTION, Why.FILE)
    # Without a board, Vela's example system applies, which has all memory modes.
    facts = None if own and (npu or mode or file.description.compiled) else system.facts
    return Npu(system.npu, facts, mode, python, board=system.name if facts else None)


def _tolerance(args: argparse.Namespace, a: Side, b: Side) -> float | None:
    if args.tolerance is not None:
        return float(args.tolerance)
    floats = [_is_float(side) for side in (a, b)]
    return _DEFAULT_TOLERANCE if floats[0] != floats[1] else None


def _is_float(side: Side) -> bool:
    whole = side.whole
    return whole is not None and not whole.file.is_quantised


def _inputs(
    args: argparse.Namespace, a: Side, b: Side
) -> tuple[list[list[Array]], list[list[Array]]]:
    """Return the inputs of each step on both sides: equal, or of equal real values."""
    shapes = [[tensor.shape for tensor in side.inputs] for side in (a, b)]
    if shapes[0] != shapes[1]:
        raise InputError(
            f"the models have inputs of shapes {shapes[0]} and {shapes[1]}: expected the same"
        )
    tensors = b.inputs if _is_float(a) else a.inputs
    if args.inputs:
        given = arrays.in_order(arrays.load(args.inputs), tensors)
        raw = arrays.quantise_all(given, tensors)
        feed = arrays.check({str(n): each for n, each in enumerate(raw)}, tensors)
        steps = [feed.step(index) for index in range(feed.steps)]
    else:
        steps = arrays.random_steps(tensors, args.steps, _SEED)
    return _as(steps, tensors, a.inputs), _as(steps, tensors, b.inputs)


def _as(steps: list[list[Array]], tensors: Any, wanted: Any) -> list[list[Array]]:
    """Convert to other types with the same real values."""
    return [
        [_converted(*each) for each in zip(step, tensors, wanted, strict=True)] for step in steps
    ]


def _converted(array: Array, given: Tensor, wanted: Tensor) -> Array:
    if given.dtype == wanted.dtype:
        return array
    real = arrays.dequantise(array, given).astype("float32")
    converted = arrays.quantise("an input", real, wanted)
    if converted.dtype.name != wanted.dtype:
        raise InputError(
            f"input {wanted.name} is {wanted.dtype}, and {given.dtype} in the other model"
        )
    return converted


def _registers(search: Search, found: Found) -> list[registers.Setting]:
    """List registers of the layer in which two compiled forms of the same model differ."""
    a, b = search.a, search.b
    one, other = a.compiled, b.compiled
    if one is None and other is not None and b.way is None:  # use what this Vela would write
        try:
            one = b.guess.compile(b.contents.file) if b.guess else None
        except InputError:
            return []
    if one is None or other is None or one.description.npu != other.description.npu:
        return []
    rows = registers.differences(one, other) or []
    names = {search.a.contents.name(number) for number in (found.number, *found.group)}
    cut = {name[: len(row.layer)] for name in names for row in rows}
    own = [row for row in rows if not row.layer or row.layer in cut]
    return own or rows


def _defects(search: Search, repro: shrink.Repro | None) -> list[known.Defect]:
    """List the known defects of either side's Vela."""
    if repro is None or not is_same_structure(search.a.contents, search.b.contents):
        return []
    part = ModelFile(repro.trial.cuts[1].data, name=str(search.b.file))
    ways = [side.way for side in (search.a, search.b) if isinstance(side.way, Npu)]
    rows = [row for way in ways for row in known.known(part, way.npu, way.release)]
    return list({row.name: row for row in rows}.values())


def render(data: dict[str, Any]) -> str:
    """Format the first layer, the difference and the files, then the layers around it."""
    lines = [_side_text(name, data[name.lower()]) for name in ("A", "B")]
    first = data["first"]
    if first is None:
        figures = f"{data['compared']} of {len(data['layers'])} layers were compared"
        if data.get("largest_drop"):  # values differ, but within the tolerance
            lines += ["", views.text(_HEAD, [_row(row) for row in data["layers"]], *_HEAD[1:]), ""]
        said = "no difference" if data["compared"] else "nothing to compare"
        lines.append(f"{said}: {figures}, with {data['steps']} inputs")
        return "\n".join([*lines, *_drop(data), *_changes(data)])
    if first["error"] and first["group"]:  # no part of the model was tried
        side = "A" if data["a"]["error"] else "B"
        return "\n".join([*lines, "", f"{side} does not run: {first['error']}", *_files(data)])
    near = [row for row in data["layers"] if row["number"] <= first["number"] + 1]
    rows = data["layers"] if data.get("largest_drop") else near[-12:]
    lines += ["", views.text(_HEAD, [_row(row) for row in rows], *_HEAD[1:]), "", *_drop(data)]
    lines.append(f"first layer that differs: {visible(first['name'])}")
    if first["group"]:
        lines.append(f"or, as their values cannot be seen, layers {first['group']} before it")
    if first["error"]:
        lines.append(first["error"])
    for defect in data.get("defects", ()):
        lines.append(f"known defect of Vela: {defect['name']}: {defect['text']}")
    lines += [data[key] for key in ("judgement", "note") if data.get(key)]
    for row in data.get("registers", ())[:8]:
        where = f"{row['register']} of operation {row['operation']}"
        lines.append(f"{where}: {row['a']} in {data.get('registers_of_a', 'A')}, {row['b']} in B")
    return "\n".join([*lines, *_changes(data), *_files(data)])


def _changes(data: dict[str, Any]) -> list[str]:
    """Format the first differences between the models themselves."""
    rows = data.get("changes")
    if rows is None:
        return []
    if not rows:
        return ["the models have the same operators, parameters, types, scales and constants"]
    lines = [
        f"  {visible(row['layer'][:_LONGEST_NAME])}: {row['what']}: {row['a'] or 'absent'} in A, "
        f"{row['b'] or 'absent'} in B"
        for row in rows[:_SHOWN]
    ]
    more = [f"  and {len(rows) - _SHOWN} more, which --json lists"] if rows[_SHOWN:] else []
    return ["what differs between the models:", *lines, *more]


def _drop(data: dict[str, Any]) -> list[str]:
    drop = data.get("largest_drop")
    if drop is None:
        return []
    return [f"largest drop: {drop['from']:.1f} to {drop['to']:.1f} dB, at {visible(drop['name'])}"]


def _files(data: dict[str, Any]) -> list[str]:
    lines = []
    if "files" in data:
        operators = ", ".join(map(str, data["operators"]))
        plural = "s" if len(data["operators"]) > 1 else ""
        what = f"a model of operator{plural} {operators}" if operators else "no part of the model"
        lines.append(f"{what} {_alone(operators, data['reproduced'])}")
        lines += [f"{key:<8} {path}" for key, path in data["files"].items()]
    return lines


def _alone(operators: str, reproduced: bool) -> str:
    return "reproduces it" if reproduced or not operators else "does not reproduce it"


def _side_text(name: str, side: dict[str, Any]) -> str:
    model, way = side["model"], side["way"]
    return f"{name}  {way}" if way.startswith(model) else f"{name}  {model}, {way}"


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    figures, name = row["difference"], row["name"]
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 3]}..."
    if figures is None:
        return (name, "-", "-", "-", "-")
    ratio = figures["snr"]
    return (
        name,
        f"{figures['values']:,}",
        f"{figures['differing']:,}",
        f"{figures['largest']:g}",
        f"{ratio:.1f}" if math.isfinite(ratio) else "",
    )
