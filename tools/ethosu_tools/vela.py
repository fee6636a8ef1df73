# SPDX-License-Identifier: MIT
"""Runs Vela, Arm's compiler for Ethos-U NPUs, in a separate process.

Its native core can crash on a damaged model.
"""

import argparse
import csv
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from . import debug_table
from .advice import reasons
from .boards import BoardFacts, VelaFacts
from .errors import InputError, SetupError, UsageError, named_as
from .files import write_whole
from .model import Model, ModelFile
from .tflite.metadata import put
from .ui import guess

TIMEOUT_S = 1800
_RELEASE = re.compile(r"\d+\.\d")


@dataclass(frozen=True)
class Target:
    """Vela's options for the system around an NPU."""

    system_config: str
    memory_mode: str


# Vela's example system for each NPU.
# Shared_Sram keeps weights in the slow memory and the arena in SRAM; its 4 MiB arena limit is
# exactly the internal SRAM of a Corstone-300. U65 and U85 systems keep the arena in DRAM, with a
# fast scratch in SRAM; a U85 of more MACs has more ports, and the system around it is faster.
_U55 = Target("Ethos_U55_High_End_Embedded", "Shared_Sram")
_U65 = Target("Ethos_U65_High_End", "Dedicated_Sram")
_U85_LOW, _U85_MID, _U85_HIGH = (
    Target(f"Ethos_U85_SYS_DRAM_{size}", "Dedicated_Sram") for size in ("Low", "Mid", "High")
)
TARGETS = {
    "ethos-u55-32": _U55,
    "ethos-u55-64": _U55,
    "ethos-u55-128": _U55,
    "ethos-u55-256": _U55,
    "ethos-u65-256": _U65,
    "ethos-u65-512": _U65,
    "ethos-u85-128": _U85_LOW,
    "ethos-u85-256": _U85_LOW,
    "ethos-u85-512": _U85_MID,
    "ethos-u85-1024": _U85_MID,
    "ethos-u85-2048": _U85_HIGH,
}
NPUS = tuple(TARGETS)


def npus_of(board: BoardFacts) -> tuple[str, ...]:
    """NPUs that a board supports: its own, the default first, and any if its emulator does."""
    others = NPUS if board.qemu and board.qemu.any_npu else ()
    return tuple(dict.fromkeys((*board.npus, *others)))


def add_npu_option(
    parser: argparse.ArgumentParser,
    text: str,
    *,
    default: str | None = "ethos-u55-128",
    option: str = "--npu",
) -> None:
    """Declare an option that takes an NPU; unknown names are a command line error."""
    parser.add_argument(option, default=default, type=_npu, metavar="NPU", help=text)


def _npu(text: str) -> str:
    if text in NPUS:
        return text
    named = re.search(r"u\d\d", text.lower())
    family = [npu for npu in NPUS if named and named[0] in npu]
    raise argparse.ArgumentTypeError(
        f"unknown NPU {text!r}; {guess(text, NPUS, family)}expected one of {', '.join(NPUS)}"
    )


_SCRATCH_SIZES = ("256KB", "384KB", "512KB")
# Memory placement in each mode of Vela's own configuration file.
MEMORY_MODES = {
    "Sram_Only": "all in SRAM",
    "Shared_Sram": "weights in flash or DRAM, the arena in SRAM",
    "Dedicated_Sram": "weights and arena in DRAM, SRAM is the NPU's fast scratch",
    **{f"Dedicated_Sram_{size}": f"the same, with {size} of SRAM" for size in _SCRATCH_SIZES},
}

CONFIG_FILE = "Arm/vela.ini"
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
    """A compiled model, its facts (requirements and Vela's estimates, for JSON), Vela's report."""

    file: ModelFile
    facts: dict[str, Any]
    report: str


def compiled(
    source: ModelFile,
    npu: str,
    *,
    board: VelaFacts | None = None,
    config: str = CONFIG_FILE,
    system_config: str | None = None,
    memory_mode: str | None = None,
    more_options: Sequence[str] = (),
    debug: bool = True,
    python: str | None = None,
    database: Path | None = None,
) -> Compiled:
    """Compile a model; `python` is one with another release of Vela.

    System config and memory mode default to the `board`'s, else to Vela's own for the NPU; they are
    sections of `config` or of the board's file. `more_options` are passed to Vela; `debug` stores
    the table of operators for error messages; a copy of Vela's debug database goes to `database`.
    """
    if npu not in NPUS:
        raise InputError(f"unknown NPU {npu!r}; expected one of {', '.join(NPUS)}")
    if source.is_program:
        raise InputError(f"{source} is not a TensorFlow Lite model, but an ExecuTorch program")
    before = source.description
    if before.npu is not None:
        raise InputError(f"{source} is already compiled, for {before.npu}")
    _check_mode(memory_mode, config, board)
    default = board or TARGETS[npu]
    target = Target(system_config or default.system_config, memory_mode or default.memory_mode)
    with tempfile.TemporaryDirectory(prefix="ethosu-vela-") as folder:
        work = Path(folder)
        options = [
            *vela_options(npu, target, board=board, config=config, debug=debug or bool(database)),
            *("--output-dir", folder),
            *more_options,
        ]
        path = work / "source" / f"{Path(str(source)).stem}.tflite"
        path.parent.mkdir()
        path.write_bytes(source.data)
        with named_as(str(source), path):
            report = run_vela(path, options, python)
            result, summary = _products(work, path)
        row = _summary_row(summary)
        if database:
            write_whole(database, (work / f"{path.stem}_debug.xml").read_bytes())
        notes = {"vela_version": release(python).encode()}
        warnings = []
        if debug:
            streams = [call.stream for call in ModelFile(result).calls()]
            table = debug_table.make(work / f"{path.stem}_debug.xml", source.graph, streams)
            if table is None:
                warnings.append(NO_TABLE)
            else:
                notes[debug_table.NAME] = table
        file = source.with_data(put(result.read_bytes(), notes))
    facts = {
        "system_config": row["system_config"],
        "memory_mode": row["memory_mode"],
        **file.description.as_dict(),
        "estimate": _estimate(row),
        "warnings": warnings,
        "reasons": [asdict(reason) for reason in reasons.parse(report, source)],
    }
    return Compiled(file, facts, report)


def vela_options(
    npu: str,
    target: Target,
    *,
    board: VelaFacts | None = None,
    config: str = CONFIG_FILE,
    debug: bool = True,
) -> list[str]:
    """Vela's command line options for an NPU and the system around it."""
    return [
        *("--accelerator-config", npu),
        *("--config", config),
        *(("--config", str(board.config)) if board else ()),
        *("--system-config", target.system_config),
        *("--memory-mode", target.memory_mode),
        "--verbose-performance",
        *([debug_table.VELA_OPTION] if debug else []),
    ]


def _check_mode(mode: str | None, config: str, board: VelaFacts | None) -> None:
    """Reject a memory mode missing in Vela's own file; other files may define any."""
    if mode and config == CONFIG_FILE and board is None and mode not in MEMORY_MODES:
        modes = ", ".join(f"{name} ({what})" for name, what in MEMORY_MODES.items())
        raise UsageError(f"unknown memory mode {mode!r}; expected one of {modes}")


@cache
def release(python: str | None = None) -> str:
    """The release of Vela in this Python or another one."""
    if python is None:
        from importlib.metadata import version  # slow to load

        return version("ethos-u-vela")
    script = "from importlib.metadata import version; print(version('ethos-u-vela'))"
    try:
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SetupError(f"{python} cannot be run: {error.strerror}") from error
    if done.returncode or not _RELEASE.match(done.stdout):  # any program, such as `true`
        raise SetupError(f"{python} has no Vela; run: {python} -m pip install ethos-u-vela")
    return done.stdout.strip()


def run_vela(source: Path, options: Sequence[str], python: str | None = None) -> str:
    """Run Vela and return its output; InputError if it rejects the model or crashes."""
    # Imported here so that commands that compile nothing start without it.
    from .vela_process import VelaProcess

    words = [*map(str, options), str(source)]
    try:
        if python:
            command = [python, "-m", "ethosu.vela", *words]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
            code, said, complaint = done.returncode, done.stdout, done.stderr
        else:
            code, said, complaint = VelaProcess.shared().run(words, TIMEOUT_S)
    except (subprocess.TimeoutExpired, TimeoutError):
        raise InputError(f"Vela did not finish compiling {source} within {TIMEOUT_S} s") from None
    except ValueError as error:
        raise InputError(f"Vela did not finish compiling {source}: {error}") from error
    if "No module named" in complaint:
        raise SetupError("Vela is not installed here; run: pip install ethos-u-vela==5.2.0")
    if code < 0:
        raise InputError(
            f"Vela crashed on {source} (signal {-code}){_suspect(source)}: the model is damaged, "
            "or triggers a defect in Vela"
        )
    if code:
        raise InputError(f"Vela rejected {source}: {_last_line(complaint or said)}")
    return said


def _suspect(source: Path) -> str:
    """The operator that caused a crash, if the model has only one kind."""
    try:
        graphs = ModelFile(source).graphs
    except InputError:
        return ""
    names = {each.name for graph in graphs for each in graph.operators}
    return f" in operator {names.pop()}" if len(names) == 1 else ""


def _last_line(text: str) -> str:
    """The last line of a traceback, without the exception's class."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "it printed no reason"
    return re.sub(r"^[\w.]+(Error|Exception): ", "", lines[-1]).strip("'\". ")


def _products(work: Path, source: Path) -> tuple[Path, Path]:
    compiled = work / f"{source.stem}_vela.tflite"
    summaries = list(work.glob("*_summary_*.csv"))
    if not compiled.is_file() or not summaries:
        raise InputError(f"Vela reported success but wrote no model for {source}")
    return compiled, summaries[0]


def _summary_row(summary: Path) -> dict[str, str]:
    """The target and the figures in Vela's summary file."""
    with summary.open(newline="") as file:
        return next(csv.DictReader(file))


def _estimate(row: Mapping[str, str]) -> dict[str, float]:
    """Vela's figures for one inference."""
    return {
        "clock_mhz": float(row["core_clock"]) / 1e6,
        "cycles": int(float(row["cycles_total"])),
        "npu_cycles": int(float(row["cycles_npu"])),
        "macs": int(float(row["nn_macs"])),
        "sram_kib": float(row["sram_memory_used"]),
        "dram_kib": float(row["dram_memory_used"]),
        "flash_kib": float(row["off_chip_flash_memory_used"]),
    }
