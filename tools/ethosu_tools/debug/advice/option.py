# SPDX-License-Identifier: MIT
"""The option --try of `ethosu compile`, and its output about operators on the CPU."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...base.errors import InputError, SetupError, UsageError
from ...base.files import Output
from ...boards.systems import System
from ...compile import leftover, load
from ...compile.leftover import Leftover
from ...compile.vela import Compiled
from ...model import ModelFile, arrays
from ...sim.oracle import Oracle
from . import trial

NO_CHANGE = "no change of the model is known that brings one of them to the NPU"
ALL_ON_NPU = "nothing: Vela left no operator to the CPU"
NO_REFERENCE = "nothing: neither TFLite's reference kernels nor this runtime run the original"
ONLY_NAMES = "nothing: what is left to the CPU only reads and writes variables, or changes shapes"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--try",
        nargs="?",
        type=Output,
        const=True,
        metavar="CHANGED",
        help="try changes of the model that bring operators from the CPU to the NPU: compile, run "
        "and measure each of them; save the model, before Vela, with those that save time here",
    )


def asked(args: argparse.Namespace) -> Path | bool:
    """Return the file of --try; True if it names none, False if it was not given."""
    return vars(args)["try"] or False


def check(args: argparse.Namespace) -> None:
    """Reject options that contradict each other."""
    if asked(args) and (args.system_config or args.memory_mode or args.cmsis_nn):
        raise UsageError(
            "--try estimates times on a board: it cannot be combined with --system-config, "
            "--memory-mode and --cmsis-nn; choose a board with --board"
        )


def run(
    args: argparse.Namespace,
    models: tuple[ModelFile, ModelFile, ModelFile],
    run_vela: Callable[[ModelFile], Compiled],
    system: System,
    rows: Sequence[dict[str, Any]],
) -> tuple[dict[str, Any], dict[Path, bytes]]:
    """Try the changes for these operators; returns data for JSON, and files to write.

    models: the model as given, as passed to Vela, and compiled.
    """
    model, source, compiled = models
    why = [Leftover(**row) for row in rows]
    path = asked(args)
    unchanged: dict[str, Any] = {"changed": None} if isinstance(path, Path) else {}
    if not trial.candidates(why):
        return {"tried": [], **unchanged}, {}

    def compile_(changed: ModelFile) -> ModelFile:
        return load.prepare(model, run_vela(changed).file)[0]

    try:
        bench = trial.Bench(source, compiled, compile_, system)
    except InputError:
        return {"tried": [], "untried": NO_REFERENCE, **unchanged}, {}
    trials, paying = trial.try_all(bench, why)
    data: dict[str, Any] = {"tried": [each.as_dict() for each in trials]}
    if not paying or not isinstance(path, Path):
        return data | unchanged, {}
    changed, _ = trial.change(model, paying)
    try:  # the file that is saved, as another runtime reads it
        Oracle(changed).step(arrays.random_steps(changed.description.inputs, 1)[0])
    except (InputError, SetupError) as error:
        return data | {"changed": None, "unsaved": str(error)}, {}
    return data | {"changed": str(path)}, {path: changed.data}


def render(data: dict[str, Any]) -> list[str]:
    """Explain why operators stay on the CPU, and what was tried."""
    lines = [
        f"{'' if number else 'on the CPU':<10} {line}"
        for group in leftover.text(data["leftover"])
        for number, line in enumerate(group)
    ]
    if "tried" in data:
        lines += [f"tried      {trial.text(row)}" for row in data["tried"]]
        if not data["tried"]:
            lines.append(f"tried      {_nothing(data)}")
    elif trial.candidates([Leftover(**row) for row in data["leftover"]]):
        lines.append(f"{'':<10} --try tries changes of the model")
    if "changed" in data:
        why = data.get("unsaved", "no change saves time")
        changed = data["changed"] or f"nothing: {why}, so no file was written"
        lines.append(f"changed    {changed}")
    return lines


def _nothing(data: dict[str, Any]) -> str:
    """Explain why nothing was tried."""
    if "untried" in data:
        return str(data["untried"])
    if data["leftover"]:
        return NO_CHANGE
    return ONLY_NAMES if data["cpu_operators"] else ALL_ON_NPU
