# SPDX-License-Identifier: MIT
"""`ethosu compile`: compile a model for an NPU, with Vela (TFLite) or ExecuTorch (PyTorch)."""

import argparse
import contextlib
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .. import boards
from ..answers import contents, text
from ..answers.pictures import arena
from ..base import addons
from ..base.errors import (
    BoardError,
    CannotRunError,
    InputError,
    MismatchError,
    SetupError,
    UsageError,
)
from ..base.files import Output, keep, read_whole, write_all, write_whole
from ..base.ui import Ui
from ..boards import setup, targets
from ..boards.facts import BoardFacts
from ..compile import convert, known, load, plan, vela
from ..compile.plan.fold import fold_quantization
from ..compile.strip import strip_checked
from ..debug import remedies
from ..debug.advice import option
from ..debug.remedies import Change
from ..model import BOARD, PROGRAM, SOURCE, ModelFile, arrays, c_array, reading
from ..model.tflite import model_metadata, signatures
from ..model.tflite.metadata import put
from ..model.vela_versions import add_data_option, open_model, warn
from ..sim import fit, latency, selftest, simulation
from ..sim.difference import Difference
from ..sim.need import Need
from ..sim.oracle import Oracle

DEFAULT_NPU = "ethos-u55-128"
EPILOG = f"""\
With --board, the NPU, clocks and memories are those of the board's board.toml, which gives the
source of each figure and marks guesses. A model that does not fit the board, because its arena is
larger than the heap (less --reserve) or its file larger than /rom, is rejected: the exit code is 3,
no model is written, and an older compiled file stays as it was. The message says what is missing,
and what helps: a model other than PyTorch's is compiled again with `--optimise Size`, in other
memory modes and for the board's other NPUs. With --force it is written all the same, and nothing is
tried. The compiled file records the board, which other commands then use as their default.

Without --board, --system-config and --memory-mode, an Ethos-U55 is assumed to be in a system like
Corstone-300: weights stay in slow memory (flash, DDR), tensors are in SRAM (Shared_Sram). For U65
and U85 the memory mode is Dedicated_Sram. The latency is then that of a board with this NPU:
ETHOSU_BOARD or {boards.DEFAULT} if it has it, else the first one. Vela's memory modes are:

{"".join(f"    {name:<22}{what}{chr(10)}" for name, what in targets.MEMORY_MODES.items())}
If operators stay on the CPU, the memory of their tensors and scratch is planned, and the plan is
stored as metadata (OfflineMemoryAllocation and ethosu_plan). A compiled file gets a new plan, if a
newer runtime requires it; tensors that the NPU addresses stay where Vela put them:

    ethosu compile model_vela.tflite -o planned.tflite [--overlap] [--cmsis-nn]

--strip leaves out what no board needs: of an ExecuTorch program unused constants, and options of
the compiler with paths of the machine that it ran on. Both programs are run on the simulator, and
their outputs must be equal:

    ethosu compile kws.pte --strip -o kws_small.pte

Pass more options to Vela with --vela:

    ethosu compile model.tflite --npu ethos-u55-128 --vela='--optimise Size'

One random input is run and compared with TFLite's reference kernels. If values are wrong, the file
is written, the defects of Vela that the model may show are named, and the exit code is 6.

For each operator on the CPU, Vela's reason and its rule are shown. --try changes the model so that
the NPU takes them, compiles and runs each change, and shows whether it is exact and what it saves:

    ethosu compile model.tflite --board BOARD --try changed.tflite

A Keras model (.keras, .h5), a SavedModel or an ONNX file is first converted and quantised by
TensorFlow or onnx2tf, with the samples of --calibrate. Install these packages once with
`ethosu doctor --install convert`, or pass a Python that has them with --python. The quantised model
is saved next to the compiled one (NAME_vela.tflite or NAME.tflite) as NAME_int8.tflite. Use it for
--reference of other commands, `ethosu check` and `ethosu profile`. Loops of LSTM and GRU layers of
a Keras model are unrolled.

    ethosu compile kws.keras --calibrate samples.npz --npu ethos-u55-128
""" + "".join(f"\n{text}" for text in addons.texts("export").values())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "model",
        type=Path,
        help="a .tflite file, int8 or int16 quantised, or compiled; a .pte with --strip; with "
        "--calibrate a Keras model (.keras, .h5), the folder of a SavedModel or an .onnx file; or "
        "a PyTorch model (.pt2, .py)",
    )
    boards.add_option(parser, "target board", None)
    fit.add_reserve_option(parser)
    targets.add_npu_option(
        parser,
        "NPU and its number of MACs, such as ethos-u55-256 "
        f"(default: the board's, or {DEFAULT_NPU} without a board)",
        default=None,
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Output,
        help="compiled model (default: NAME_vela.tflite or NAME.pte in the current folder)",
    )
    parser.add_argument(
        "--c-array",
        type=Output,
        metavar="FILE",
        help="also write the compiled model as a C array, NAME[] in NAME.h (static), NAME.c or "
        "NAME.cc (external), and its size NAME_len: for TensorFlow Lite Micro, Zephyr, Arduino",
    )
    parser.add_argument(
        "--c-section", metavar="SECTION", help="section of the linker for that array"
    )
    parser.add_argument(
        "--vela-report", type=Output, metavar="FILE", help="save Vela's complete report here"
    )
    parser.add_argument("--config", default=targets.CONFIG_FILE, help="Vela configuration file")
    parser.add_argument("--system-config", help="section of that file: clocks and memories")
    parser.add_argument("--memory-mode", help="section of that file: placement in memories")
    parser.add_argument(
        "--vela", type=shlex.split, default=[], metavar="OPTIONS", help="more options for Vela"
    )
    parser.add_argument(
        "--selftest",
        action="store_true",
        help="store a seed and hashes of the reference outputs in the model, for Model.selftest()",
    )
    parser.add_argument(
        "--quantized-io",
        action="store_true",
        help="remove QUANTIZE after float inputs and DEQUANTIZE before float outputs: the compiled "
        "model has quantised inputs and outputs, and predict() converts real numbers. Not the "
        "default, because programs that pass raw floats to the model would have to change",
    )
    parser.add_argument(
        "--cmsis-nn", action="store_true", help="plan for firmware built with CMSIS_NN_DIR"
    )
    parser.add_argument(
        "--overlap",
        action="store_true",
        help="let the CPU work while the NPU runs, even if that needs a larger arena",
    )
    parser.add_argument(
        "--strip",
        action="store_true",
        help="leave out what no board needs: of a .tflite the table of operators, a few hundred "
        "bytes, by which the error of a failed inference names the operator",
    )
    add_data_option(parser)
    parser.add_argument(
        "--debug-db",
        type=Output,
        metavar="XML",
        help="keep Vela's debug database here: the tables of operators and commands for other "
        "programs, such as ExecuTorch's visualize.py",
    )
    option.add(parser)
    model_metadata.add_options(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="write the model even if this runtime or the board cannot run it (for other "
        "runtimes), or if its results are not PyTorch's",
    )
    other = parser.add_argument_group("models of other formats")
    other.add_argument(
        "--python", metavar="PATH", help="Python that has TensorFlow, onnx2tf or ExecuTorch"
    )
    other.add_argument(
        "--calibrate",
        type=Path,
        metavar="NPZ",
        help="calibration samples for quantising a Keras, ONNX or SavedModel: one array of real "
        "values per input, under the input's name or number; the first dimension is the sample",
    )
    torch = parser.add_argument_group("PyTorch models")
    torch.add_argument(
        "--channels-last",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="export images with the channels as the last dimension (default: yes); otherwise the "
        "NPU has to transpose them",
    )
    torch.add_argument(
        "--float-io",
        action="store_true",
        help="keep float inputs and outputs, which the CPU quantises and dequantises in each run",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Compile, and write the result as a C array, too."""
    file, section = args.c_array, args.c_section
    if section and (not file or not re.fullmatch(r"[\w.$-]+", section)):
        raise UsageError("--c-section is a section's name, for the array of --c-array")
    if file:
        c_array.name_of(file)
    data = _execute(args, ui)
    if file:
        made = Path(data["model"])
        text = c_array.source(
            read_whole(made), file, f"{made.name}: {data['bytes']} bytes", section
        )
        write_whole(file, text.encode())
        data["c_array"] = str(file)
    return data


def _execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    if args.reserve and not args.board:
        raise UsageError("--reserve is a part of a board's heap: name the board with --board")
    if args.model.suffix == PROGRAM.suffix and args.strip:
        return _strip(args, ui)
    if args.data:
        raise UsageError("--data is for --strip: the data file of an ExecuTorch program")
    if exporter := addons.load("exporter", args.model.suffix):
        return _export(exporter, args, ui)
    if args.float_io or not args.channels_last:
        raise UsageError("--channels-last and --float-io are for PyTorch models")
    data = b"" if args.model.is_dir() else read_whole(args.model)
    kind = convert.find(args.model, data)
    if kind is None or kind.by is None:
        file = _tflite(args, data)
        return _replan(args, ui, file) if file.description.compiled else _compile(args, ui, file)
    if args.calibrate:
        ui.note_long(f"converting {args.model} with {kind.by}; this can take minutes")
    output = _output(args)
    kept = output.with_name(f"{output.stem.removesuffix('_vela')}_int8.tflite")
    _check_options(args, kept)
    if kept.exists() and not _is_ours(kept):
        raise UsageError(
            f"the quantised model would overwrite {kept}; move that file or choose another -o"
        )
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        made = Path(work) / kept.name
        convert.convert(args.model, kind, args.calibrate, made, args.python)
        data = put(made.read_bytes(), {SOURCE: args.model.name.encode()})
    # The quantised model is not saved yet, so messages name the user's file.
    model = ModelFile(data, name=str(args.model))
    try:
        return _compile(args, ui, model, kept) | {"quantised": str(kept)}
    except CannotRunError:  # keep what took minutes, for other tools
        if kept.exists() and output.exists():
            ui.remark(f"{kept} is still that of {output}; keep this model's with another -o")
        else:
            write_whole(kept, data)
            ui.remark(f"the quantised model is {kept}")
        raise


def _is_ours(kept: Path) -> bool:
    """Whether an earlier run saved this quantised model, so that it may be replaced."""
    try:
        return SOURCE in ModelFile(kept).entries
    except InputError:
        return False


def _tflite(args: argparse.Namespace, data: bytes) -> ModelFile:
    """Return the model to compile; rejects other formats and their options."""
    if args.python or args.calibrate:
        convert.check(args.model)
        ModelFile(args.model)
        raise UsageError("--python and --calibrate are for models that have to be converted")
    file = ModelFile(args.model) if args.model.is_dir() else ModelFile(data, name=str(args.model))
    if file.is_program:
        raise InputError(
            f"{args.model} is an ExecuTorch program, which is already compiled: run it with "
            "`ethosu run`, deploy it with `ethosu deploy`, remove what no board needs with "
            "--strip, or compile the PyTorch model again"
        )
    return file


def _strip(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Remove the parts of an ExecuTorch program that no board needs."""
    file = open_model(ui, args.model, args.data)
    if not args.output:
        raise UsageError("--strip of a program needs -o FILE")
    with reading(file):
        data = strip_checked(file).data
    write_whole(args.output, data)
    return {
        "model": str(args.output),
        "bytes": len(data),
        "before": len(file.data),
    }


def _replan(args: argparse.Namespace, ui: Ui, file: ModelFile) -> dict[str, Any]:
    """Plan the memory of a compiled model again; the rest of the file is unchanged."""
    warn(ui, file)
    if not args.output or args.npu not in (None, file.description.npu):
        raise InputError(
            f"{file} is already compiled: -o FILE writes it with a new plan of its memory, "
            "`ethosu inspect --memory` shows that; pass the original model, before Vela"
        )

    def planned(file: ModelFile) -> tuple[plan.Plan, ModelFile]:
        found, data = plan.plan_model(file, overlap=args.overlap, cmsis_nn=args.cmsis_nn)
        return found, file.with_data(data)

    def other(file: ModelFile, _name: str) -> ModelFile:
        return planned(file)[1] if plan.needs_plan(file) else file

    found, made = planned(file)
    made = signatures.changed(made, other)
    board = boards.load(args.board) if args.board else None
    data = {"plan": found.as_dict(), **_check_fit(args, board, made)}
    write_whole(args.output, made.data)
    described = contents.describe(made)
    del described["debug_table"]
    return described | data | {"model": str(args.output), "report": None}


def _check_options(args: argparse.Namespace, model: Path) -> tuple[BoardFacts | None, str]:
    """Return the board and the NPU selected by options; `model` is the `.tflite` to compile."""
    option.check(args)
    others = ("vela_report", "debug_db", "try")
    given = [(f"--{name.replace('_', '-')}", getattr(args, name)) for name in others]
    named = [(name, path) for name, path in given if isinstance(path, Path)]
    keep((model,), [("the compiled model", _output(args)), *named])
    if args.selftest and args.quantized_io:
        raise UsageError(
            "--selftest cannot be combined with --quantized-io: it compares outputs in the types "
            "of the original model"
        )
    board = boards.load(args.board, args.npu) if args.board else None
    return board, _npu(args.npu, board)


def _compile(
    args: argparse.Namespace, ui: Ui, model: ModelFile, kept: Path | None = None
) -> dict[str, Any]:
    """Compile a `.tflite`; `kept` is where a copy of the source goes."""
    warn(ui, model)
    board, npu = _check_options(args, kept or args.model)
    output = _output(args)
    metadata = model_metadata.given(args, model)
    notes: dict[str, bytes] = {}
    if args.selftest:  # first, since the reference kernels may reject the model
        ui.note("running the reference kernels for the self-test")
        notes[selftest.NAME] = selftest.make(model)
    ui.note(f"compiling {args.model} for {npu}")
    source, folded = fold_quantization(model) if args.quantized_io else (model, [])

    def run_vela(
        change: Change, other: ModelFile = source, database: Path | None = None
    ) -> vela.Compiled:
        chosen = change.npu or npu
        return vela.compiled(
            other,
            chosen,
            board=boards.vela_facts(boards.load(board.name, chosen)) if board else None,
            config=args.config,
            system_config=args.system_config,
            memory_mode=change.mode or args.memory_mode,
            more_options=[*args.vela, *change.vela],
            debug=change.table and not args.strip,
            database=database,
        )

    made, facts, report = run_vela(Change(), database=args.debug_db)
    if args.vela_report:
        write_whole(args.vela_report, report.encode())
    data = {"model": str(output), "report": args.vela_report and str(args.vela_report), **facts}
    if args.debug_db:
        data["debug_db"] = str(args.debug_db)

    def try_changes_of(made: ModelFile) -> tuple[dict[str, Any], dict[Path, bytes]]:
        ui.note("trying changes of the model")
        system = setup.resolve(None, board.name if board else None, npu).system
        run = partial(run_vela, Change())
        return option.run(args, (model, source, made), run, system, data["leftover"])

    ui.note("loading it as on a board")
    try:
        planning: dict[str, Any] = {
            "cmsis_nn": args.cmsis_nn,
            "overlap": args.overlap,
            "last": load.FORCE,
        }
        with _tried(args, data):
            made, planned = load.prepare(model, made, **planning)
            if planned:
                data["plan"] = planned.as_dict()
            made = signatures.changed(
                made,
                lambda own, name: load.prepare(signatures.select(model, name), own, **planning)[0],
            )
            if not args.cmsis_nn:  # the library here has no CMSIS-NN
                for each in signatures.each(made):
                    original = signatures.select(model, each.signature)
                    load.check(original, each, last=load.FORCE)
                data["proof"] = _run_once(source, made)
            proof = data.get("proof", {})
            if wrong := _wrong(proof):
                data["warnings"].append(wrong)
                data["exit_code"] = MismatchError.exit_code
            if proof.get("differing") != 0 and not proof.get("note"):
                data["warnings"] += known.warnings(source, made)
            data |= contents.describe_signatures(made)
    except CannotRunError as error:
        found, files = try_changes_of(made) if option.asked(args) else ({}, {})
        write_all(files)
        lines = [str(error), *(f"  {line}" for line in option.render(data | found))]
        raise CannotRunError("\n".join(lines)) from error
    if folded:
        data["folded"] = folded
    own_system = bool(args.system_config or args.memory_mode)
    notes |= _add_latency(data, made, board, npu, own_system=own_system)
    if args.selftest:
        data["selftest_bytes"] = len(notes[selftest.NAME])
    if board:
        notes[BOARD] = board.name.encode()

    def finish(made: ModelFile) -> ModelFile:
        written = put(made.data, notes)
        if metadata is None:
            return made.with_data(model_metadata.copy(model.data, written))
        return made.with_data(
            model_metadata.write(written, metadata, len(data["inputs"]), len(data["outputs"]))
        )

    def need_after(change: Change) -> Need:
        ui.note(f"trying {change}")
        again = load.prepare(model, run_vela(change).file)[0]
        return Need.of(finish(again))

    def try_changes(found: fit.Fit) -> str:
        assert board is not None
        own = {"npu": npu, "mode": args.memory_mode, "given": " ".join(args.vela)}
        return remedies.tried(found, board, need_after, **own)

    made = finish(made)
    data = _check_fit(args, board, made, model, try_changes) | data
    files = {output: made.data} | ({kept: model.data} if kept else {})
    if option.asked(args):
        tried, changed = try_changes_of(made)
        data, files = data | tried, files | changed
    write_all(files)
    for warning in data["warnings"]:
        ui.warn(warning)
    return data | {"bytes": len(made.data)}


def _run_once(source: ModelFile, made: ModelFile) -> dict[str, Any]:
    """Run one random input, and compare its outputs with TFLite's; "why" if they were not.

    CannotRunError: the inference fails, as it would on a board.
    """
    given = arrays.random_steps(made.description.inputs, 1)
    try:
        found = simulation.outputs(made, given)
    except BoardError as error:
        raise CannotRunError(f"{source} can't run here: {error}\n  {load.FORCE}") from error
    try:
        proof = Difference.of_outputs(found, [Oracle(source).step(given[0])]).as_dict()
        return proof | {"note": known.known_of(source.graph) if proof["differing"] else ""}
    except (InputError, SetupError) as error:
        return {"why": str(error)}


def _proved(data: dict[str, Any]) -> list[str]:
    """Return what the run of a random input shows about the results."""
    found = data.get("proof")
    if found is None:
        return []
    if "why" in found:
        return [f"checked    not compared with TFLite's reference kernels: {found['why']}"]
    if not found["differing"]:
        return ["checked    one random input: every value equals TFLite's reference kernels"]
    return [f"checked    {_differing(found)}, {found['note']}"] if found["note"] else []


def _differing(found: dict[str, Any]) -> str:
    return (
        f"{found['differing']:,} of {found['values']:,} values of one random input differ from "
        f"TFLite's reference kernels, by at most {found['largest']:g}"
    )


def _wrong(proof: dict[str, Any]) -> str:
    """Report results that are wrong beyond known deviations of NPU and reference; or ""."""
    if not proof.get("differing") or proof["note"]:
        return ""
    return f"wrong results: {_differing(proof)}; `ethosu bisect` finds the layer"


def _check_fit(
    args: argparse.Namespace,
    board: BoardFacts | None,
    made: ModelFile,
    source: ModelFile | None = None,
    try_changes: Callable[[fit.Fit], str] = lambda _: "",
) -> dict[str, Any]:
    """Compare what the model needs with what the board has; without --force, reject a misfit.

    `try_changes` runs first, to say what would help.
    """
    data: dict[str, Any] = {}
    if board is None:
        return data
    room = fit.room_of(board, args.reserve)
    if room is None or args.cmsis_nn:
        why = "the library of the PC has no CMSIS-NN" if room else f"its {boards.FILE} has no heap"
        return {"unchecked": f"whether it fits {board.name}: {why}"}
    with _tried(args, data):
        comparison = fit.check(Need.of(made), room)
        if not args.force and comparison.short:
            tried = try_changes(comparison)
            fit.refuse(comparison, str(args.model), "--force writes it anyway", source, tried)
        data["fit"] = comparison.as_dict()
    return data


@contextlib.contextmanager
def _tried(args: argparse.Namespace, data: dict[str, Any]) -> Iterator[None]:
    """Check a model by loading it; without --force, a rejected model ends the command."""
    try:
        yield
    except InputError as error:
        if not args.force:
            raise
        data["refused"] = str(error)
    except SetupError as error:
        data["unchecked"] = str(error)


def _output(args: argparse.Namespace) -> Path:
    return args.output or Path(f"{args.model.stem}_vela.tflite")


def _export(exporter: Any, args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Export a PyTorch model by an add-on and describe the result."""
    others = ("selftest", "quantized_io", "cmsis_nn", "overlap", "labels", "normalise")
    if given := [f"--{name.replace('_', '-')}" for name in others if getattr(args, name)]:
        raise UsageError(f"{' and '.join(given)} cannot be used for a PyTorch model")
    if args.debug_db:
        raise UsageError("--debug-db is for TFLite models: ExecuTorch runs Vela itself")
    board = boards.load(args.board, args.npu) if args.board else None
    npu = _npu(args.npu, board)
    facts = boards.vela_facts(board) if board else None
    output = args.output or Path(args.model.stem + PROGRAM.suffix)
    # Absolute, because the exporter runs in the model's folder.
    own = (
        () if args.config == targets.CONFIG_FILE else (f"--config={Path(args.config).absolute()}",)
    )
    options = exporter.Options(
        npu,
        channels_last=args.channels_last,
        integer_io=not args.float_io,
        system_config=args.system_config or (facts.system_config if facts else None),
        memory_mode=args.memory_mode or (facts.memory_mode if facts else None),
        vela=(*args.vela, *own, *((f"--config={facts.config}",) if facts else ())),
    )
    read_whole(args.model)  # fail early if it does not exist
    ui.note_long(f"exporting {args.model} for {npu}; this can take minutes")
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        made, samples = (Path(work) / name for name in (f"model{PROGRAM.suffix}", "samples.npz"))
        report = exporter.export(args.model, made, samples, options, args.python)
        file = ModelFile(read_whole(made), name=str(args.model))
        found = _prove(exporter.proof, args, ui, file, samples) | _check_fit(args, board, file)
    write_whole(output, file.data)
    if args.vela_report:
        write_whole(args.vela_report, report.encode())
    return {
        "model": str(output),
        "bytes": len(file.data),
        "report": args.vela_report and str(args.vela_report),
        **file.description.as_dict(),
        **found,
    }


def _prove(
    proof: Any, args: argparse.Namespace, ui: Ui, program: ModelFile, samples: Path
) -> dict[str, Any]:
    """Compare a program with the PyTorch model; without --force, reject a wrong program."""
    data: dict[str, Any] = {}
    ui.note("running samples on the simulator, to compare them with PyTorch")
    with _tried(args, data):
        load.check_program(program, last=load.FORCE)
        data["proof"] = proof.prove(program, samples)
        data["proof"]["text"] = proof.text(data["proof"])
        reason = proof.reason(program, data["proof"])
        if reason and not args.force:
            raise MismatchError(reason)
    return data


def _add_latency(
    data: dict[str, Any], made: ModelFile, board: BoardFacts | None, npu: str, *, own_system: bool
) -> dict[str, bytes]:
    """Estimate the latency on the board, or else on the default board; returns it as metadata."""
    if own_system or (board and not board.estimate):
        data["latency_error"] = "use `ethosu check` with your Vela configuration file"
        return {}
    try:
        system = setup.resolve(None, board.name if board else None, npu).system
        estimate = latency.estimate(made, system)
    except (BoardError, InputError, SetupError) as error:  # only the estimate is missing
        data["latency_error"] = str(error)
        return {}
    data["latency"] = estimate.as_dict()
    return latency.metadata(estimate) if board else {}


def _npu(requested: str | None, board: BoardFacts | None) -> str:
    """Return the NPU to compile for; the data in the board's file does not apply to others."""
    if board is None:
        return requested or DEFAULT_NPU
    if board.vela is None:
        raise InputError(f"no Vela settings for {board.name}: its {boards.FILE} has no [vela]")
    npu = requested or board.npus[0]
    others = [each for each in targets.npus_of(board) if _family(each) == _family(board.npus[0])]
    if npu not in (*board.npus, *others):
        raise UsageError(f"{board.name} has {' and '.join(board.npus)}, not {npu}")
    return npu


def _family(npu: str) -> str:
    return npu.rpartition("-")[0]


def _fit(data: dict[str, Any]) -> list[str]:
    """Format whether the model fits, why it cannot run, or why that was not checked."""
    lines = [f"fits       {fit.describe(data['fit'])}"] if "fit" in data else []
    return lines + [f"{key:<10} {data[key]}" for key in ("refused", "unchecked") if key in data]


def _latency(data: dict[str, Any]) -> list[str]:
    """Format the latency as `ethosu profile` does."""
    if "latency_error" in data:
        return [f"latency    not estimated: {data['latency_error']}"]
    return [f"{key:<10} {line}" for key, line in text.summary(data["latency"])]


def _tables(data: dict[str, Any]) -> list[str]:
    """Format which float operators the NPU computes with lookup tables."""
    return [
        f"table      {', '.join(row['operators'])} {row['output']}: on the NPU, exact for all "
        f"{row['values']:,} values"
        for row in data["tables"]
    ]


def render(data: dict[str, Any]) -> str:
    """Describe the compiled model."""
    if "before" in data:
        return (
            f"{data['model']}: {data['bytes']:,} bytes, {data['before'] - data['bytes']:,} fewer; "
            "its outputs are the same"
        )
    report = _fit(data)
    report += [f"report     {data['report']}"] if data["report"] else []
    report += [f"debug db   {data['debug_db']}"] if "debug_db" in data else []
    report += [f"C array    {data['c_array']}"] if "c_array" in data else []
    sizes = [f"plan       {arena.sizes(data['plan'])}"] if "plan" in data else []
    if "vela_estimate" not in data:
        lines = data["proof"]["text"] if "proof" in data else []
        proved = [f"{'' if number else 'pytorch':<10} {line}" for number, line in enumerate(lines)]
        return "\n".join([contents.text(data), *sizes, *proved, *report])
    dtypes = [tensor["dtype"] for tensor in (*data["inputs"], *data["outputs"])]
    return "\n".join(
        [
            contents.text(data),
            *sizes,
            *([f"quantised  {data['quantised']}"] if "quantised" in data else []),
            *([f"folded     {', '.join(data['folded'])}"] if "folded" in data else []),
            *_tables(data),
            *(f"float      {line}" for line in text.float_ends(data["cpu_operators"], dtypes)),
            *option.render(data),
            *_latency(data),
            *_proved(data),
            *report,
        ]
    )
