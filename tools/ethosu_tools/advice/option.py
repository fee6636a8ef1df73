# SPDX-License-Identifier: MIT
"""The options of `ethosu compile` that try changes, and its lines about the CPU's operators."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import verdict
from ..errors import UsageError
from ..estimate.systems import System
from ..files import Output
from ..model import ModelFile
from ..vela import Compiled
from . import reasons, trial
from .reasons import Reason

NO_CHANGE = "no change of the model is known that brings one of them to the NPU"
ALL_ON_NPU = "nothing: Vela left no operator to the CPU"
ONLY_NAMES = "nothing: what is left to the CPU only reads and writes variables, or changes shapes"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--try",
        dest="try_changes",
        action="store_true",
        help="try changes of the model that bring operators from the CPU to the NPU: compile, run "
        "and measure each of them",
    )
    parser.add_argument(
        "--changed",
        type=Output,
        metavar="TFLITE",
        help="with --try: save the model, before Vela, with the changes that save time",
    )


def check(args: argparse.Namespace) -> None:
    """Reject options that contradict each other."""
    if args.changed and not args.try_changes:
        raise UsageError("--changed saves the model that --try changes: use both")
    if args.try_changes and (args.system_config or args.memory_mode or args.cmsis_nn):
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
    """Try the changes for operators with these reasons; returns data for JSON, files to write.

    models: as given, as passed to Vela, and compiled.
    """
    model, source, compiled = models
    why = [Reason(**row) for row in rows]
    unchanged: dict[str, Any] = {"changed": None} if args.changed else {}
    if not trial.candidates(why):
        return {"tried": [], **unchanged}, {}

    def compile_(changed: ModelFile) -> ModelFile:
        return verdict.prepare(model, run_vela(changed).file)[0]

    trials, paying = trial.try_all(trial.Bench(source, compiled, compile_, system), why)
    data: dict[str, Any] = {"tried": [each.as_dict() for each in trials]}
    if not paying or not args.changed:
        return data | unchanged, {}
    changed, _ = trial.change(model, paying)
    return data | {"changed": str(args.changed)}, {args.changed: changed.data}


def render(data: dict[str, Any]) -> list[str]:
    """Why operators stay on the CPU, and what was tried."""
    lines = [
        f"{'' if number else 'on the CPU':<10} {line}"
        for group in reasons.text(data["reasons"])
        for number, line in enumerate(group)
    ]
    if "tried" in data:
        lines += [f"tried      {trial.text(row)}" for row in data["tried"]]
        if not data["tried"]:
            lines.append(f"tried      {_nothing(data)}")
    elif trial.candidates([Reason(**row) for row in data["reasons"]]):
        lines.append(f"{'':<10} --try tries changes of the model")
    if "changed" in data:
        changed = data["changed"] or "nothing: no change saves time, so no file was written"
        lines.append(f"changed    {changed}")
    return lines


def _nothing(data: dict[str, Any]) -> str:
    """Why nothing was tried."""
    if data["reasons"]:
        return NO_CHANGE
    return ONLY_NAMES if data["cpu_operators"] else ALL_ON_NPU
