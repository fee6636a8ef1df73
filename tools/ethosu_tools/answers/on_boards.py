# SPDX-License-Identifier: MIT
"""This project's boards: does a file fit them, does it run, how exactly, and how fast?

A file that was never compiled is compiled for each NPU of each board, and its results are compared
with TFLite's reference kernels. A compiled file runs as it is; without its original there is
nothing to compare it with, apart from the test cases of a bundled program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..base.errors import BoardError, InputError, SetupError, ToolError
from ..base.ui import Ui
from ..boards import setup
from ..boards.setup import BoardSetup
from ..boards.systems import System
from ..compile import load, vela_defects
from ..compile.known import known_of
from ..model import Case, ModelFile, arrays
from ..model.arrays import Array
from ..sim import fit, latency
from ..sim.difference import EXECUTORCH, Difference, NotComparableError
from ..sim.fit import Status
from ..sim.latency import Latency
from ..sim.need import Need
from ..sim.oracle import Oracle, check_original
from ..sim.simulation import Simulation

# Steps with random inputs; a model with state gets other ones in each.
STEPS = 3


@dataclass(frozen=True)
class Run:
    """One compiled form of the file on the simulated NPU.

    `file`: that form; None if it cannot be loaded, for the reason `refused`. `exact`: None if there
    was nothing to compare with; `differing` of `values` are not equal, by up to `by`.
    """

    npu: str | None
    file: ModelFile | None = None
    refused: str = ""
    exact: bool | None = None
    differing: int = 0
    values: int = 0
    by: float = 0.0
    mean: float = 0.0
    steps: int = 0
    note: str = ""
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        data = {key: value for key, value in vars(self).items() if key != "file"}
        return data | {"warnings": list(self.warnings)}

    @property
    def proof(self) -> dict[str, Any]:
        """Figures of the comparison, as in a Difference; "why": the reason if there was none."""
        if self.exact is None:
            return {"why": self.refused or self.note}
        names = {"steps": "steps", "values": "values", "differing": "differing", "largest": "by"}
        return {key: getattr(self, name) for key, name in (names | {"mean": "mean"}).items()}


@dataclass(frozen=True)
class Row:
    """One NPU of a board; `run` is an index of the runs, None if the file is for another NPU.

    `need`: None if it cannot be loaded there; `lacks`: missing bytes, as in fit.Fit.
    """

    board: str
    npu: str
    status: Status
    short: tuple[str, ...]
    need: Need | None = None
    lacks: Mapping[str, int] = field(default_factory=dict)
    estimate: dict[str, Any] | None = None
    run: int | None = None

    def __post_init__(self) -> None:
        """Check what holds for each status."""
        assert bool(self.short) == (self.status not in (Status.RUNS, Status.UNKNOWN))
        assert (self.need is None) == (self.status in (Status.OTHER_NPU, Status.CANNOT_LOAD))

    @property
    def runs(self) -> bool:
        """Whether this board can run the file."""
        return not self.short

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        need = self.need.as_dict() if self.need else None
        plain = {"short": list(self.short), "lacks": dict(self.lacks), "need": need}
        return vars(self) | {"runs": self.runs} | plain


class Examination:
    """All runs of one file, each compiled form once, and a row for each board and NPU."""

    def __init__(
        self,
        file: ModelFile,
        reference: ModelFile | None,
        ui: Ui,
        *,
        steps: int = STEPS,
        reserve: int = 0,
    ) -> None:
        """Examine a file; `reference` is the original of a compiled one.

        `steps`: number of random inputs; `reserve`: bytes of the heap that are not for the model.
        """
        if reference:
            check_original(reference, file)
        self.file = file
        self.reference = reference if file.description.compiled else file
        self.runs: list[Run] = []
        self.rejected = ""  # by LiteRT, and why
        self._ui, self._steps, self._reserve = ui, steps, reserve
        self._known: dict[tuple[str, str, str], int] = {}

    def row(self, chosen: BoardSetup, estimate: Latency | None = None) -> Row:
        """The row of one NPU, which may be another than the file's; `estimate`: if it is known."""
        if not setup.runs_on(self.file, chosen):
            other = f"compiled for {self.file.description.npu}, another NPU"
            return Row(chosen.name, ", ".join(chosen.board.npus), Status.OTHER_NPU, (other,))
        self._ui.note(f"{chosen.name}: {chosen.npu}")
        system = chosen.system
        index = self._run(system)
        run = self.runs[index]
        if run.file is None:
            why = (run.refused,)
            return Row(system.name, system.npu, Status.CANNOT_LOAD, why, run=index)
        need = Need.of(latency.as_written(self.file, run.file, system.name))
        fits, time = None, None
        if chosen.facts:
            room = fit.room_of(chosen.facts, self._reserve)
            fits = fit.check(need, replace(room, npus=(system.npu,))) if room else None
        if run.npu:
            whole = (estimate or latency.estimate(run.file, system)).as_dict()
            time = {key: whole[key] for key in ("ms", "low_ms", "high_ms", "basis")}
        name, npu = system.name, system.npu
        if fits is None:
            return Row(name, npu, Status.UNKNOWN, (), need, {}, time, index)
        return Row(name, npu, fits.status, fits.short, need, fits.lacks, time, index)

    def run(self, system: System) -> Run:
        """The run of the form for this system."""
        return self.runs[self._run(system)]

    @property
    def cpu_operators(self) -> dict[str, int]:
        """What stays on the CPU: of a file as trained, the most of all its compiled forms."""
        most: Counter[str] = Counter()
        compiled = self.file.description.compiled
        for form in [self.file] if compiled else [run.file for run in self.runs]:
            most |= Counter(dict(form.description.cpu_operators) if form else {})
        return dict(most)

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
            made = load.compile_for(self.file, system)
            warnings = vela_defects.warnings(self.reference, made) if self.reference else []
            # A program is planned by its exporter.
            if not made.is_program:
                made, _ = load.prepare(self.file, made)
            run = Run(made.description.npu, made, warnings=tuple(warnings))
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
            found = [simulation.step(inputs) for inputs in self._feeds]
        ran = f"it ran with {self._steps} random inputs; "
        if self.reference is None:
            what = "an ExecuTorch program" if made.is_program else "a compiled model"
            nothing = f"{what} holds nothing to compare the results with"
            remedy = "" if made.is_program else ": pass the original with --reference"
            return replace(run, note=f"{ran}{nothing}{remedy}")
        expected, why = self._expected
        if why:
            return replace(run, note=f"{ran}{why}")
        try:
            found_here = Difference.of_outputs(found, expected)
        except NotComparableError as error:
            return replace(run, note=f"{ran}{error}")
        known = known_of(self.reference.graph) if found_here.differing else ""
        return _with_difference(run, found_here, known)

    @cached_property
    def _feeds(self) -> list[list[Array]]:
        original = self.reference or self.file
        inputs, positive = self.file.description.inputs, original.needs_positive
        return arrays.random_steps(inputs, self._steps, positive=positive)

    @cached_property
    def _expected(self) -> tuple[list[list[Array]], str]:
        """The reference's outputs, which all forms share, or the reason why there are none."""
        if self.reference is None:
            return [], ""
        try:
            oracle = Oracle(self.reference)
            return [oracle.step(inputs) for inputs in self._feeds], ""
        except InputError as error:
            why = str(error)
            if self.reference is self.file:
                why = self.rejected = why.replace(str(self.file), "the file")
            return [], why
        except SetupError as error:
            return [], str(error)


def _section(system: System) -> tuple[str, str]:
    return system.facts.system_config, system.facts.memory_mode


def _with_cases(run: Run, pairs: Sequence[tuple[list[Array], Case]]) -> Run:
    """Compare with the cases of a bundled program, with ExecuTorch's tolerances."""
    found = [outputs for outputs, _ in pairs]
    expected = [case.outputs for _, case in pairs]
    note = f"compared with the {len(pairs)} test cases of the file"
    return _with_difference(run, Difference.of_outputs(found, expected, EXECUTORCH), note)


def _with_difference(run: Run, found: Difference, note: str) -> Run:
    return replace(
        run,
        exact=not found.differing,
        differing=found.differing,
        values=found.values,
        by=found.largest,
        mean=found.mean,
        steps=found.steps,
        note=note,
    )
