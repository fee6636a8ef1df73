# SPDX-License-Identifier: MIT
"""This project's boards: does a file fit them, does it run, how exactly, and how fast?

A file that was never compiled is compiled for each NPU of each board, and its results are compared
with TFLite's reference kernels. A compiled file runs as it is; without its original there is
nothing to compare it with, apart from the test cases of a bundled program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .. import arrays, boards, fit, vela, vela_defects, verdict
from ..arrays import Array
from ..bisection.known import BOUNDS
from ..errors import BoardError, InputError, ToolError
from ..estimate import latency, systems
from ..estimate.systems import System
from ..model import Case, ModelFile, differing
from ..oracle import Oracle
from ..sim import Simulation
from ..ui import Ui

# Steps with random inputs; a model with state gets other ones in each.
STEPS = 3


@dataclass(frozen=True)
class Run:
    """One compiled form of the file on the simulated NPU.

    `file`: that form; `need`: None if it cannot be loaded, for the reason `refused`. `exact`: None
    if there was nothing to compare with; `differing` of `values` are not equal, by up to `by`.
    """

    npu: str | None
    file: ModelFile | None = None
    need: fit.Need | None = None
    refused: str = ""
    exact: bool | None = None
    differing: int = 0
    values: int = 0
    by: float = 0.0
    note: str = ""
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        data = {key: value for key, value in vars(self).items() if key not in ("file", "need")}
        need = asdict(self.need) if self.need else None
        return data | {"need": need, "warnings": list(self.warnings)}


@dataclass(frozen=True)
class Row:
    """One NPU of a board; `run` is an index of the runs, None if the file is for another NPU."""

    board: str
    npu: str
    runs: bool
    short: tuple[str, ...]
    estimate: dict[str, Any] | None
    run: int | None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return vars(self) | {"short": list(self.short)}


class Examination:
    """All runs of one file, each compiled form once, and a row for each board and NPU."""

    def __init__(
        self, file: ModelFile, reference: ModelFile | None, ui: Ui, reserve: int = 0
    ) -> None:
        """Of a file; `reference` is the original of a compiled one.

        `reserve`: bytes of each board's heap that the model must not need.
        """
        self.file = file
        self.reference = file if not file.description.compiled else reference
        self.runs: list[Run] = []
        self.rejected = ""  # by LiteRT, and why
        self._ui = ui
        self._reserve = reserve
        self._known: dict[tuple[str, str, str], int] = {}

    def rows(self, names: Sequence[str]) -> Iterator[Row]:
        """A row for each NPU of these boards."""
        own = self.file.description.npu
        for name in names:
            board = boards.load(name)
            # A board that is asked for by name may be emulated with other NPUs.
            npus = (own,) if own and not names[1:] and own in vela.npus_of(board) else board.npus
            for npu in npus:
                if self.file.description.compiled and own not in (None, npu):
                    if own in board.npus:
                        continue  # the row of its other NPU
                    short = f"compiled for {own}, another NPU"
                    fitted = ", ".join(board.npus)
                    yield Row(name, fitted, runs=False, short=(short,), estimate=None, run=None)
                    break
                self._ui.note(f"{name}: {npu}")
                yield self._row(systems.find(name, npu))

    def _row(self, system: System) -> Row:
        index = self._run(system)
        run = self.runs[index]
        short = [run.refused] if run.refused else []
        room = fit.room_of(boards.load(system.name), self._reserve)
        if run.need and room:
            short += fit.check(run.need, replace(room, npus=(system.npu,))).short
        time = None
        if run.file and run.need and run.npu:
            whole = latency.estimate(run.file, system).as_dict()
            time = {key: whole[key] for key in ("ms", "low_ms", "high_ms", "basis")}
        return Row(system.name, system.npu, not short, tuple(short), time, index)

    def _run(self, system: System) -> int:
        compiled = self.file.description.compiled
        key = ("", "", "") if compiled else (system.npu, *_section(system))
        if key not in self._known:
            self._known[key] = len(self.runs)
            self.runs.append(self._try(system))
        return self._known[key]

    def _try(self, system: System) -> Run:
        """Compile the file if needed, load it as a board does, and run it."""
        npu = self.file.description.npu if self.file.description.compiled else system.npu
        try:
            made = systems.compile_for(self.file, system)
            warnings = vela_defects.warnings(self.file, made) if made is not self.file else []
            # A program is planned by its exporter.
            if not made.is_program:
                made, _ = verdict.prepare(self.file, made)
            need = fit.need_of(made)
            run = Run(made.description.npu, made, need, warnings=tuple(warnings))
            return self._compared(run, made)
        except (BoardError, InputError) as error:
            return Run(npu, refused=self._reason(error))

    def _reason(self, error: ToolError) -> str:
        """The reason alone, without the file's name; remedies follow on lines of their own."""
        text = str(error).splitlines()[0]
        for start in (f"{self.file} can't run here: ", f"{self.file}: "):
            text = text.removeprefix(start)
        return text.replace(str(self.file), "the file")

    def _compared(self, run: Run, made: ModelFile) -> Run:
        cases = [case for case in made.cases if case.method == "forward"]
        with Simulation(made) as simulation:
            if cases:
                arranged = [case.arrange(made.methods["forward"]) for case in cases]
                pairs = [(list(simulation.step(case.inputs)), case) for case in arranged]
                return _with_cases(run, pairs)
            random = np.random.default_rng(0)
            feeds = [arrays.random_inputs(simulation.inputs, random) for _ in range(STEPS)]
            found = [simulation.step(inputs) for inputs in feeds]
        if self.reference is None:
            what = "an ExecuTorch program" if made.is_program else "a compiled model"
            return replace(
                run,
                note=f"it ran with {STEPS} random inputs; {what} holds nothing to compare the "
                "results with"
                + ("" if made.is_program else ": pass the original with --reference"),
            )
        try:
            oracle = Oracle(self.reference)
            expected = [oracle.step(inputs) for inputs in feeds]
        except InputError as error:
            why = str(error)
            if self.reference is self.file:
                why = self.rejected = why.replace(str(self.file), "the file")
            return replace(run, note=f"it ran with {STEPS} random inputs; {why}")
        compared = _difference(run, found, expected)
        names = {each.name for each in self.reference.graph.operators}
        rounded = " and ".join(name for name in BOUNDS if name in names)
        note = f"as known of {rounded}, which the NPU rounds in another way" if rounded else ""
        return compared if compared.exact else replace(compared, note=note)


def _section(system: System) -> tuple[str, str]:
    return system.facts.system_config, system.facts.memory_mode


def _difference(
    run: Run, found: Sequence[Sequence[Array]], expected: Sequence[Sequence[Array]]
) -> Run:
    """Compare all outputs of all steps bit by bit."""
    count = total = 0
    by = 0.0
    for step, reference in zip(found, expected, strict=True):
        for array, other in zip(step, reference, strict=True):
            wrong = array != other
            count += int(np.count_nonzero(wrong))
            total += array.size
            if wrong.any():
                far = np.abs(array.astype(np.float64) - other.astype(np.float64))
                by = max(by, float(np.nanmax(far)))
    return replace(run, exact=not count, differing=count, values=total, by=by)


def _with_cases(run: Run, pairs: Sequence[tuple[list[Array], Case]]) -> Run:
    """Compare with the cases of a bundled program, with ExecuTorch's tolerances."""
    wrong = total = 0
    for outputs, case in pairs:
        for array, expected in zip(outputs, case.outputs, strict=True):
            wrong += differing(array, expected)
            total += expected.size
    note = f"compared with the {len(pairs)} test cases of the file"
    return replace(run, exact=not wrong, differing=wrong, values=total, note=note)
