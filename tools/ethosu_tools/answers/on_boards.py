# SPDX-License-Identifier: MIT
"""This project's boards: does a file fit them, does it run, how exactly, and how fast?

A file that was never compiled is compiled for each NPU of each board, and its results are compared
with TFLite's reference kernels. A compiled file runs as it is; without its original there is
nothing to compare it with, apart from the test cases of a bundled program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..base.errors import BoardError, InputError, SetupError, ToolError
from ..base.ui import Ui
from ..boards.systems import System
from ..compile import known, load
from ..model import Case, ModelFile, arrays
from ..model.arrays import Array
from ..sim import fit, latency
from ..sim.difference import EXECUTORCH, Difference, NotComparableError
from ..sim.fit import Fit, Status
from ..sim.latency import Latency
from ..sim.need import Need
from ..sim.oracle import Oracle, check_original
from ..sim.simulation import Simulation
from . import cpu

# Number of steps with random inputs, which differ in each step.
STEPS = 3
# The entries of a Fit for a chip, whose memories are unknown.
_NO_FIT: dict[str, Any] = {"lacks": {}, "used": {}, "shares": {}, "heap": None, "rom": None}
_NO_FIT |= {"fast": 0, "reserve": 0, "advice": ""}


@dataclass(frozen=True)
class Run:
    """One compiled form of the file on the simulated NPU.

    `file` is None if it cannot be loaded; `refused` gives the reason. `exact` is None if there was
    nothing to compare with. `differing` of `values` values differ, by up to `by`.
    """

    npu: str | None
    file: ModelFile | None = None
    refused: str = ""
    remedies: tuple[str, ...] = ()
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
        return data | {"remedies": list(self.remedies), "warnings": list(self.warnings)}

    @property
    def proof(self) -> dict[str, Any]:
        """Figures of the comparison, as in a Difference; "why" tells why none was made."""
        if self.exact is None:
            return {"why": self.refused or self.note}
        names = {"steps": "steps", "values": "values", "differing": "differing", "largest": "by"}
        return {key: getattr(self, name) for key, name in (names | {"mean": "mean"}).items()}


@dataclass(frozen=True)
class Row:
    """One NPU of a board or chip; `run` indexes the runs, or is None if the file needs another NPU.

    `need` is None if the file cannot be loaded, `fit` for a chip, whose heap is unknown, and
    `instructions` (of the CPU in an inference) if they were not counted.
    """

    system: System
    status: Status
    short: tuple[str, ...] = ()
    need: Need | None = None
    fit: Fit | None = None
    estimate: Latency | None = None
    instructions: int | None = None
    run: int | None = None

    def __post_init__(self) -> None:
        """Check what holds for each status."""
        assert bool(self.short) == (self.status not in (Status.RUNS, Status.UNKNOWN))
        assert (self.need is None) == (self.status in (Status.OTHER_NPU, Status.CANNOT_LOAD))
        assert self.fit is None or (self.fit.status, self.fit.need) == (self.status, self.need)

    @property
    def runs(self) -> bool:
        """Whether this board can run the file."""
        return not self.short

    @property
    def cpu(self) -> dict[str, Any] | None:
        """The CPU's part of an inference: instructions, and usual and shortest time in ms."""
        if self.instructions is None:
            return None
        ms, low_ms = cpu.milliseconds(self.instructions, self.system)
        return {"instructions": self.instructions, "ms": ms, "low_ms": low_ms}

    @property
    def rank(self) -> tuple[bool, bool, bool, float]:
        """Sort key: boards that run the file first, by time; bounds after times, no time last."""
        time = self.estimate
        if not time:
            return not self.runs, True, True, 0.0
        more = self.cpu["low_ms"] if self.cpu else 0.0
        return (
            not self.runs,
            False,
            time.is_bound,
            more + (time.low_ms if time.is_bound else time.milliseconds),
        )

    @property
    def options(self) -> str:
        """Options of `ethosu compile` for this board; "" for a chip."""
        board = self.system.board
        if not board:
            return ""
        usual = self.system.npu == board.npus[0] or self.status is Status.OTHER_NPU
        return f"--board {board.name}" + ("" if usual else f" --npu {self.system.npu}")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        board = self.system.board if self.status is Status.OTHER_NPU else None
        return (self.fit.as_dict() if self.fit else _NO_FIT) | {
            "board": self.system.name,
            "npu": ", ".join(board.npus) if board else self.system.npu,
            "weights": self.system.weights.name,
            "status": str(self.status),
            "runs": self.runs,
            "options": self.options,
            "short": list(self.short),
            "need": self.need.as_dict() if self.need else None,
            "estimate": self.estimate.as_dict() if self.estimate else None,
            "cpu": self.cpu,
            "run": self.run,
        }


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
        self.rejected = ""  # why LiteRT rejected the file
        self.uncounted = ""  # why the CPU's part is unknown
        self._ui, self._steps, self._reserve = ui, steps, reserve
        self._known: dict[tuple[str, str, str], int] = {}
        self._instructions: dict[int, int | None] = {}

    def row(self, system: System) -> Row:
        """Return the row of a board or chip with one NPU, which need not be the file's."""
        own = self.file.description.npu
        if self.file.description.compiled and own not in (None, system.npu):
            return Row(system, Status.OTHER_NPU, (f"compiled for {own}, another NPU",))
        self._ui.note(f"{system.name}: {system.npu}")
        index = self._run(system)
        run = self.runs[index]
        if run.file is None:
            return Row(system, Status.CANNOT_LOAD, (run.refused,), run=index)
        need = Need.of(latency.as_written(self.file, run.file, system.name))
        fits = fit.on_board(need, system, self._reserve)
        return Row(
            system,
            fits.status if fits else Status.UNKNOWN,
            fits.short if fits else (),
            need,
            fits,
            latency.estimate(run.file, system) if run.npu else None,
            self._counted(index) if system.cpu_mhz else None,
            index,
        )

    def _counted(self, index: int) -> int | None:
        """Count the CPU's instructions if it computes operators beside the NPU."""
        file = self.runs[index].file
        if file is None or not file.description.npu or not file.description.cpu_operators:
            return None
        if index not in self._instructions:
            self._instructions[index] = None
            try:
                self._instructions[index] = cpu.instructions(file)
            except (BoardError, InputError, SetupError) as error:
                self.uncounted = str(error).splitlines()[0]
        return self._instructions[index]

    def run(self, system: System) -> Run:
        """Return the run of the form that is compiled for this system."""
        return self.runs[self._run(system)]

    @property
    def cpu_operators(self) -> dict[str, int]:
        """Operators left to the CPU: of an uncompiled file, the most in any compiled form."""
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
            # A model compiled here has a plan already, and a program has the plan of its exporter.
            if made is self.file and not made.is_program:
                made, _ = load.prepare(self.file, made)
            run = self._compared(Run(made.description.npu, made), made)
            if run.exact or not self.reference or run.note.startswith(known.KNOWN):
                return run
            return replace(run, warnings=tuple(known.warnings(self.reference, made)))
        except (BoardError, InputError) as error:
            remedies = tuple(line.removeprefix("  ") for line in str(error).splitlines()[1:])
            return Run(npu, refused=self._reason(error), remedies=remedies)

    def _reason(self, error: ToolError) -> str:
        """Return an error's first line without the file's name; remedies are on later lines."""
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
        note = known.known_of(self.reference.graph) if found_here.differing else ""
        return _with_difference(run, found_here, note)

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
