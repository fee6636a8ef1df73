# SPDX-License-Identifier: MIT
"""Runs one case through LiteRT, Vela and the functional NPU, and returns the verdict."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np
from ethosu_tools.base.errors import ToolError
from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit.process import isolated

from . import coverage, vela
from .case import Case

# Operators that may stay on the CPU, because they compute nothing.
_FREE = {"CALL_ONCE", "RESHAPE", "VAR_HANDLE"}


class Verdict(Enum):
    """Outcome of a case."""

    EXACT = "exact"
    BOUNDED = "differs within the bound of its operator"
    DIFFERS = "differs"
    FAULT = "driver or NPU refuses the stream"
    CPU = "not on the NPU"
    NO_REFERENCE = "LiteRT does not run it"
    NO_STREAM = "Vela does not compile it"
    DIED = "a process died"

    @property
    def failed(self) -> bool:
        """Whether the model is wrong, or violates an invariant."""
        return self in (Verdict.DIFFERS, Verdict.FAULT, Verdict.DIED)


@dataclass(frozen=True)
class Difference:
    """One output that differs from the reference."""

    feed: int
    output: int
    wrong: int
    elements: int
    largest: int

    def __str__(self) -> str:
        return (
            f"feed {self.feed} output {self.output}: {self.wrong} of {self.elements} elements "
            f"differ, by up to {self.largest}"
        )


@dataclass
class Result:
    """The verdict on a case, and its evidence."""

    verdict: Verdict
    reason: str = ""
    differences: list[Difference] = field(default_factory=list)
    features: Counter[str] = field(default_factory=Counter)
    compiled: bytes = b""
    expected: list[list[np.ndarray]] = field(default_factory=list)
    found: list[list[np.ndarray]] = field(default_factory=list)

    @property
    def largest(self) -> int:
        """The largest difference of any element."""
        return max((difference.largest for difference in self.differences), default=0)


def check(case: Case, *, here: bool = False) -> Result:
    """Run a case; LiteRT, Vela and our model each run in a process of their own.

    With `here`, our model runs in this process.
    """
    try:
        expected = reference(case)
    except ToolError as error:
        return Result(Verdict.NO_REFERENCE, _general(str(error)))
    try:
        compiled = vela.compile_case(case)
    except isolated.DiedError as error:
        return Result(Verdict.NO_STREAM, f"Vela dies of {error} on {'+'.join(case.operators)}")
    except vela.RefusedError as error:
        return Result(Verdict.NO_STREAM, _general(str(error)))
    if here:
        return _check(case, compiled, expected)
    try:
        result: Result = isolated.call(_check, case, compiled, expected)
    except isolated.DiedError as error:
        return Result(Verdict.DIED, str(error))
    return result


def _check(case: Case, compiled: vela.Compiled, expected: list[list[np.ndarray]]) -> Result:
    operators = coverage.operators(compiled.model)
    if operators.keys() - _FREE != {"ethos-u"}:
        left = ", ".join(sorted(operators.keys() - _FREE - {"ethos-u"}))
        return Result(Verdict.CPU, f"{left}: {vela.cpu_reason(compiled.log)}")
    result = Result(Verdict.EXACT, compiled=compiled.model, expected=expected)
    result.features = case.family.features(compiled.model)
    return simulate(case, result)


def reference(case: Case) -> list[list[np.ndarray]]:
    """Compute LiteRT's outputs for all feeds."""
    oracle = Oracle(case.model)
    return [oracle.step(feed) for feed in case.feeds]


def simulate(case: Case, result: Result) -> Result:
    """Add the simulator's outputs of the compiled model to a result."""
    try:
        with Simulation(result.compiled, case.npu) as simulation:
            for feed in case.feeds:
                result.found.append(simulation.step(feed))
    except ToolError as error:
        result.verdict, result.reason = Verdict.FAULT, str(error)
        return result
    result.differences = _compare(result.expected, result.found)
    if result.differences:
        result.verdict, result.reason = _judge(case, result)
    return result


def _judge(case: Case, result: Result) -> tuple[Verdict, str]:
    """Judge whether differences are within the bound of an operator."""
    for operator in case.operators:
        if result.largest <= BOUNDS.get(operator, 0):
            return Verdict.BOUNDED, f"{operator}: by up to {result.largest}"
    return Verdict.DIFFERS, str(result.differences[0])


def _compare(expected: list[list[np.ndarray]], found: list[list[np.ndarray]]) -> list[Difference]:
    differences = []
    for feed, (wanted_all, got_all) in enumerate(zip(expected, found, strict=True)):
        for output, (wanted, got) in enumerate(zip(wanted_all, got_all, strict=True)):
            delta = np.abs(wanted.astype(np.int64) - got.reshape(wanted.shape).astype(np.int64))
            if delta.any():
                wrong = int(np.count_nonzero(delta))
                differences.append(Difference(feed, output, wrong, delta.size, int(delta.max())))
    return differences


def _general(text: str) -> str:
    """Remove this case's numbers from a reason, so that equal reasons can be counted."""
    return re.sub(r"-?\d+", "#", text)[:160]


def write_failure(case: Case, result: Result, folder: Path) -> Path:
    """Save everything about a failing case; returns its folder."""
    name = "-".join(case.operators).lower() or "case"
    where = folder / f"{name[:60]}-{case.npu}-{case.seed if case.seed is not None else 'replay'}"
    where.mkdir(parents=True, exist_ok=True)
    (where / "model.tflite").write_bytes(case.model)
    (where / "model_vela.tflite").write_bytes(result.compiled)
    (where / "choices.txt").write_text(" ".join(map(str, case.choices)) + "\n")
    text = [str(case), f"{result.verdict.value}: {result.reason}", *map(str, result.differences)]
    (where / "about.txt").write_text("\n".join(text) + "\n")
    for kind, rows in (
        ("input", case.feeds),
        ("expected", result.expected),
        ("found", result.found),
    ):
        arrays = {f"{feed}_{i}": a for feed, row in enumerate(rows) for i, a in enumerate(row)}
        np.savez(where / f"{kind}.npz", allow_pickle=False, **arrays)
    return where
