# SPDX-License-Identifier: MIT
"""Tries the changes of rewrites.py on a model: compiles, runs and measures each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ...answers.timeline import perfetto
from ...base.errors import InputError, SetupError
from ...base.ui import counted
from ...boards.systems import System
from ...compile.leftover import Leftover
from ...model import ModelFile, arrays
from ...model.arrays import Array
from ...sim import simulation
from ...sim.difference import Difference
from ...sim.oracle import Oracle
from . import rewrites
from .rewrites import Rewrite

STEPS = 3
Compile = Callable[[ModelFile], ModelFile]


@dataclass(frozen=True)
class Trial:
    """The result of a change.

    operators: outputs of the replaced operators; on_cpu: kinds that are still on the CPU;
    difference: from the results of `reference`, as in a Difference; before and after: milliseconds
    of an inference; unknown: why these lack the CPU's time, or ""; error: why the changed model
    cannot be compiled or run, or "".
    """

    operator: str
    operators: list[str]
    becomes: str
    on_cpu: dict[str, int]
    difference: dict[str, Any] | None
    reference: str
    before: float | None
    after: float | None
    unknown: str
    error: str

    @property
    def pays(self) -> bool:
        """Whether the change works and saves time, as far as that is known."""
        if self.error or self.difference is None or self.after is None:
            return False
        return bool(self.unknown) or self.before is None or self.after < self.before

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        known = self.before is not None and self.after is not None and not self.unknown
        saved = (self.before or 0.0) - (self.after or 0.0) if known else None
        return {**asdict(self), "saved": saved, "pays": self.pays}


class Bench:
    """The original model, and the results with which every change is compared."""

    def __init__(
        self, source: ModelFile, compiled: ModelFile, compile_: Compile, system: System
    ) -> None:
        """Run and measure the original."""
        self.source, self._compile, self._system = source, compile_, system
        positive = source.needs_positive
        self._given = arrays.random_steps(compiled.description.inputs, STEPS, positive=positive)
        self._before: float | None = None
        self._unknown = ""
        with suppress(InputError):  # with --force, the model may not run here
            self._before, self._unknown = self._time(compiled)
        try:
            oracle = Oracle(source)
            self._expected = [oracle.step(each) for each in self._given]
            self._reference = "TFLite's reference kernels"
        except (InputError, SetupError):  # LiteRT's reference kernels lack an operator
            self._use(self._run(compiled))
            return
        with suppress(InputError):
            own = self._run(compiled)
            if Difference.of_outputs(own, self._expected).differing:  # the original differs, too
                self._use(own)

    def _use(self, results: list[list[Array]]) -> None:
        """Compare changes with results of the compiled original."""
        self._expected = results
        self._reference = "the unchanged model on the simulator"

    def try_(self, changes: Sequence[tuple[Rewrite, Iterable[str]]]) -> Trial | None:
        """Make these changes together; None if none of them applies."""
        changed, names = change(self.source, changes)
        if not names:
            return None
        found: dict[str, Any] = {"on_cpu": {}, "difference": None, "after": None, "error": ""}
        unknown = self._unknown
        try:
            made = self._compile(changed)
            found["on_cpu"] = dict(made.description.cpu_operators)
            found["difference"] = Difference.of_outputs(self._run(made), self._expected).as_dict()
            found["after"], other = self._time(made)
            unknown = unknown or other
            exact = all(rewrite.exact for rewrite, _ in changes)
            if exact and found["difference"]["differing"]:
                found["error"] = f"wrong results: {_near(found['difference'], self._reference)}"
        except InputError as error:
            found["error"] = str(error)
        return Trial(
            operator=", ".join(dict.fromkeys(rewrite.operator for rewrite, _ in changes)),
            operators=names,
            becomes="; ".join(rewrite.becomes for rewrite, _ in changes),
            reference=self._reference,
            before=self._before,
            unknown=unknown,
            **found,
        )

    def _run(self, compiled: ModelFile) -> list[list[Array]]:
        return simulation.outputs(compiled, self._given)

    def _time(self, compiled: ModelFile) -> tuple[float, str]:
        timeline = perfetto.make(compiled, self._system)
        return timeline.milliseconds, timeline.unknown


def change(
    source: ModelFile, changes: Iterable[tuple[Rewrite, Iterable[str]]]
) -> tuple[ModelFile, list[str]]:
    """Apply changes; returns the model and the outputs of the replaced operators."""
    names: list[str] = []
    for rewrite, outputs in changes:
        source, changed = rewrites.apply(source, rewrite, set(outputs))
        names += changed
    return source, names


def candidates(reasons: Sequence[Leftover]) -> list[tuple[Rewrite, list[str]]]:
    """Select the rows of the table for operators that stay on the CPU."""
    rows = (
        (rewrite, [each.output for each in reasons if each.operator == rewrite.operator])
        for rewrite in rewrites.TABLE
    )
    return [(rewrite, outputs) for rewrite, outputs in rows if outputs]


def try_all(
    bench: Bench, reasons: Sequence[Leftover]
) -> tuple[list[Trial], list[tuple[Rewrite, list[str]]]]:
    """Try each change alone, and all that pay together; also returns the latter."""
    trials, paying = [], []
    for candidate in candidates(reasons):
        trial = bench.try_([candidate])
        if trial:
            trials.append(trial)
            paying += [candidate] if trial.pays else []
    together = bench.try_(paying) if len(paying) > 1 else None
    return [*trials, *([together] if together else [])], paying


def _near(found: dict[str, Any], reference: str) -> str:
    return (
        f"{found['differing']:,} of {found['values']:,} values differ from those of {reference}, "
        f"by at most {found['largest']:g}"
    )


def text(row: dict[str, Any]) -> str:
    """One line for a change, from its plain data."""
    head = f"{row['operator']} {', '.join(row['operators'])} as {row['becomes']}"
    if row["error"]:
        return f"{head}: does not work: {row['error']}"
    found = row["difference"]
    how = (
        _near(found, row["reference"])
        if found["differing"]
        else f"exact ({found['values']:,} values equal to those of {row['reference']})"
    )
    if row["before"] is None:
        return f"{head}: {how}; takes {row['after']:.3g} ms, and the original cannot run here"
    if row["unknown"]:
        return f"{head}: {how}; {row['unknown']}"
    change = "saves" if row["pays"] else "does not help: takes"
    amount = abs(row["saved"]) if row["pays"] else row["after"]
    times = f"{row['before']:.3g} ms before, {row['after']:.3g} ms after"
    left = counted(row["on_cpu"])
    rest = f"; still on the CPU: {left}" if left else ""
    return f"{head}: {how}; {change} {amount:.3g} ms ({times}){rest}"
