# SPDX-License-Identifier: MIT
"""Runs Vela, Arm's compiler for Ethos-U NPUs, in a separate process.

Its native core can crash on a damaged model.
"""

import csv
import math
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from ..base.errors import InputError, SetupError, UsageError, named_as
from ..base.files import LARGEST, write_whole
from ..boards import VelaFacts, targets
from ..model import Model, ModelFile, Tensor, debug_table, reading
from ..model.tflite import detections
from ..model.tflite.metadata import put
from . import leftover, lookup, vela_defects

TIMEOUT_S = 1800
_BLOCKWISE = 2  # a value of TensorFlow Lite's QuantizationDetails
_RELEASE = re.compile(r"\d+\.\d")


NO_TABLE = (
    "error messages will not name operators, because the names of the model's tensors corrupt "
    "Vela's debug database; rename tensors whose names contain control characters or ]]>"
)


def compile_model(
    source: Model, npu: str, output: Path, *, report: Path | None = None, **options: Any
) -> dict[str, Any]:
    """Compile `source` for `npu` into the file `output`, and Vela's report into `report`.

    `options` are those of `compiled`. Returns the facts of the result.
    """
    made = compiled(ModelFile.of(source), npu, **options)
    write_whole(output, made.file.data)
    if report:
        write_whole(report, made.report.encode())
    return made.facts


class Compiled(NamedTuple):
    """A compiled model, its facts (requirements and estimates, for JSON), and Vela's report."""

    file: ModelFile
    facts: dict[str, Any]
    report: str


def compiled(
    source: ModelFile,
    npu: str,
    *,
    board: VelaFacts | None = None,
    config: str = targets.CONFIG_FILE,
    system_config: str | None = None,
    memory_mode: str | None = None,
    more_options: Sequence[str] = (),
    debug: bool = True,
    python: str | None = None,
    database: Path | None = None,
) -> Compiled:
    """Compile a model; `python` is a Python with another release of Vela.

    Float operators that a table can replace are replaced; see lookup.py. System config and memory
    mode default to the `board`'s, else to Vela's own for the NPU; they are sections of `config` or
    of the board's file. `more_options` are passed to Vela; `debug` stores the table of operators
    for error messages; a copy of Vela's debug database goes to `database`.
    """
    if npu not in targets.NPUS:
        raise InputError(f"unknown NPU {npu!r}; expected one of {', '.join(targets.NPUS)}")
    if source.is_program:
        raise InputError(f"{source} is not a TensorFlow Lite model, but an ExecuTorch program")
    before = source.description
    if before.npu is not None:
        raise InputError(f"{source} is already compiled, for {before.npu}")
    source.reject_other_accelerator()
    _check_sizes(source)
    _check_mode(memory_mode, config, board)
    default = board or targets.TARGETS[npu]
    target = targets.Target(
        system_config or default.system_config, memory_mode or default.memory_mode
    )
    run = partial(
        _run,
        options=[
            *vela_options(npu, target, board=board, config=config, debug=debug or bool(database)),
            *more_options,
        ],
        debug=debug,
        python=python,
        database=database,
    )
    replaced = lookup.replace(source)
    made, missing = run(source, replaced)
    if missing:  # this release of Vela writes other tables for the stand-ins
        replaced = lookup.replace(source, missing)
        made, missing = run(source, replaced)
    if missing:
        made, _ = run(source, lookup.unchanged(source))
    return made


def _run(
    source: ModelFile,
    replaced: lookup.Replaced,
    *,
    options: Sequence[str],
    debug: bool,
    python: str | None,
    database: Path | None,
) -> tuple[Compiled, list[str]]:
    """Compile a model with stand-ins; also returns the names of tables that Vela did not write."""
    with tempfile.TemporaryDirectory(prefix="ethosu-vela-") as folder:
        work = Path(folder)
        path = work / "source" / f"{Path(str(source)).stem}.tflite"
        path.parent.mkdir()
        path.write_bytes(detections.with_shapes(replaced.file).data)
        with named_as(str(source), path):
            report = run_vela(path, [*options, "--output-dir", folder], python)
            result, row = _products(work, path)
        if database:
            write_whole(database, (work / f"{path.stem}_debug.xml").read_bytes())
        notes = {"vela_version": release(python).encode()}
        warnings = []
        data, missing = lookup.fill(result.read_bytes(), replaced.tables)
        made = ModelFile(data)
        if debug:
            streams = [call.stream for call in made.calls()]
            xml = work / f"{path.stem}_debug.xml"
            table = debug_table.make(xml, source.graph, streams, replaced.numbers)
            if table is None:
                warnings.append(NO_TABLE)
            else:
                notes[debug_table.NAME] = table
        file = source.with_data(put(vela_defects.with_constants(source, made), notes))
    facts = {
        "system_config": row["system_config"],
        "memory_mode": row["memory_mode"],
        **file.description.as_dict(),
        "vela_estimate": _estimate(row),
        "warnings": warnings,
        "tables": [table.as_dict() for table in replaced.tables],
        "leftover": [asdict(each) for each in leftover.of(report, source, file)],
    }
    return Compiled(file, facts, report), missing


def vela_options(
    npu: str,
    target: targets.Target,
    *,
    board: VelaFacts | None = None,
    config: str = targets.CONFIG_FILE,
    debug: bool = True,
) -> list[str]:
    """Return Vela's command line options for an NPU and the system around it."""
    return [
        *("--accelerator-config", npu),
        *("--config", config),
        *(("--config", str(board.config)) if board else ()),
        *("--system-config", target.system_config),
        *("--memory-mode", target.memory_mode),
        "--verbose-performance",
        *([debug_table.VELA_OPTION] if debug else []),
    ]


def _check_sizes(source: ModelFile) -> None:
    """Reject damaged sizes, because Vela allocates whatever a shape or its signature says.

    A signature of a missing subgraph is rejected, too, because Vela would drop it silently.
    """
    from ethosu.vela.tflite.Model import Model as Stored  # slow to load

    _ = source.signatures
    graphs = source.graphs
    with reading(source):
        root = Stored.GetRootAs(source.data)
        for number, graph in enumerate(graphs):
            stored = root.Subgraphs(number)
            for index, tensor in enumerate(graph.tensors):
                where = f"tensor {index} ({tensor.name}) of subgraph {number} has"
                _check_tensor(tensor, stored.Tensors(index), where)


def _check_tensor(tensor: Tensor, stored: Any, where: str) -> None:
    """Reject a damaged tensor; in the shape signature of `stored`, -1 is any size."""
    quantization = stored.Quantization()
    blockwise = quantization is not None and quantization.DetailsType() == _BLOCKWISE
    if tensor.dtype == "int4" or blockwise:
        how = "scales of blocks" if blockwise else "values of 4 bits"
        raise InputError(
            f"{where} {how}, which neither Vela nor this runtime reads: quantise the weights to "
            "int8, with a scale for each tensor or channel"
        )
    sparse = stored.Sparsity() is not None
    filled = sparse or not tensor.constant or len(tensor.data) == tensor.size
    if tensor.size and not filled:
        raise InputError(
            f"{where} {len(tensor.data):,} bytes of contents, but its shape {list(tensor.shape)} "
            f"of {tensor.dtype} needs {tensor.size:,}: the file is damaged"
        )
    signature = [int(stored.ShapeSignature(i)) for i in range(stored.ShapeSignatureLength())]
    for kind, shape in ("", tensor.shape), (" signature", signature):
        if math.prod(abs(size) for size in shape) > LARGEST:
            raise InputError(
                f"{where} the shape{kind} {list(shape)}, more than {LARGEST:,} values: the file is "
                "damaged, or for another machine than a microcontroller"
            )


def _check_mode(mode: str | None, config: str, board: VelaFacts | None) -> None:
    """Reject a memory mode missing in Vela's own file; other files may define any."""
    own = config == targets.CONFIG_FILE and board is None
    if mode and own and mode not in targets.MEMORY_MODES:
        modes = ", ".join(f"{name} ({what})" for name, what in targets.MEMORY_MODES.items())
        raise UsageError(f"unknown memory mode {mode!r}; expected one of {modes}")


@cache
def release(python: str | None = None) -> str:
    """Return the release of Vela in this Python or another one."""
    if python is None:
        from importlib.metadata import version  # slow to load

        return version("ethos-u-vela")
    script = "from importlib.metadata import version; print(version('ethos-u-vela'))"
    try:
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SetupError(f"{python} cannot be run: {error.strerror}") from error
    if done.returncode or not _RELEASE.match(done.stdout):  # not a Python
        raise SetupError(f"{python} has no Vela; run: {python} -m pip install ethos-u-vela")
    return done.stdout.strip()


def run_vela(source: Path, options: Sequence[str], python: str | None = None) -> str:
    """Run Vela and return its output; InputError if it rejects the model or crashes."""
    # Imported here so that commands that compile nothing start without them.
    from ..base.helper_process import lack_of_memory, limit_memory
    from .vela_process import VelaProcess

    words = [*(_absolute(str(word)) for word in options), str(source)]
    try:
        if python:
            command = [python, "-m", "ethosu.vela", *words]
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as process:
                limit_memory(process.pid)
                try:
                    said, complaint = process.communicate(timeout=TIMEOUT_S)
                except BaseException:
                    process.kill()
                    raise
            code = process.returncode
        else:
            code, said, complaint = VelaProcess.shared().run(words, TIMEOUT_S)
    except (subprocess.TimeoutExpired, TimeoutError):
        raise InputError(f"Vela did not finish compiling {source} within {TIMEOUT_S} s") from None
    except ValueError as error:
        raise InputError(f"Vela did not finish compiling {source}: {error}") from error
    if "No module named" in complaint:
        raise SetupError("Vela is not installed here; run: pip install ethos-u-vela==5.2.0")
    if code and (lack := lack_of_memory(complaint + said)):
        raise InputError(f"Vela did not finish compiling {source}: {lack}")
    if code < 0:
        raise InputError(
            f"Vela crashed on {source} (signal {-code}){_suspect(source)}: the model is damaged, "
            "or triggers a defect in Vela"
        )
    if code:
        raise InputError(f"Vela rejected {source}: {_last_line(complaint or said)}")
    return said


def _absolute(word: str) -> str:
    """Make an option's path absolute, because Vela looks for FOLDER/FILE among its own files."""
    option, equals, value = word.rpartition("=")
    path = Path(value)
    is_own = value in (targets.CONFIG_FILE, path.name)
    return word if is_own or not path.is_file() else f"{option}{equals}{path.absolute()}"


def _suspect(source: Path) -> str:
    """Name the operator that caused a crash, if the model has only one kind."""
    try:
        graphs = ModelFile(source).graphs
    except InputError:
        return ""
    names = {each.name for graph in graphs for each in graph.operators}
    return f" in operator {names.pop()}" if len(names) == 1 else ""


def _last_line(text: str) -> str:
    """Return the last line of a traceback, without the exception's class."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "it printed no reason"
    return re.sub(r"^[\w.]+(Error|Exception): ", "", lines[-1]).strip("'\". ")


def _products(work: Path, source: Path) -> tuple[Path, dict[str, str]]:
    """Read the compiled model, and the target and the figures in Vela's summary."""
    compiled = work / f"{source.stem}_vela.tflite"
    summaries = list(work.glob("*_summary_*.csv"))
    if not compiled.is_file() or not summaries:
        raise InputError(f"Vela reported success but wrote no model for {source}")
    with summaries[0].open(newline="") as file:
        return compiled, next(csv.DictReader(file))


def _estimate(row: Mapping[str, str]) -> dict[str, float]:
    """Return Vela's figures for one inference."""
    return {
        "clock_mhz": float(row["core_clock"]) / 1e6,
        "cycles": int(float(row["cycles_total"])),
        "npu_cycles": int(float(row["cycles_npu"])),
        "macs": int(float(row["nn_macs"])),
        "sram_kib": float(row["sram_memory_used"]),
        "dram_kib": float(row["dram_memory_used"]),
        "flash_kib": float(row["off_chip_flash_memory_used"]),
    }
