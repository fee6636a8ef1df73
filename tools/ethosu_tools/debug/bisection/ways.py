# SPDX-License-Identifier: MIT
"""Ways to compute a model: TFLite's kernels, or Vela and the simulated NPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...base.errors import BoardError, CannotRunError, InputError
from ...boards import VelaFacts, targets
from ...compile import load, vela
from ...model import ModelFile
from ...model.arrays import Array
from ...sim import litert, simulation
from ...sim.oracle import Oracle

Steps = Sequence[Sequence[Array]]
# Outputs of each step, or the error that ended the run.
Outcome = list[list[Array]] | str


class Way(Protocol):
    """Computes models before Vela."""

    @property
    def title(self) -> str:
        """The way, in a few words."""

    def run(self, source: ModelFile, steps: Steps) -> Outcome:
        """Compute the outputs of a model."""


@dataclass(frozen=True)
class Reference:
    """TFLite's reference kernels."""

    @property
    def title(self) -> str:
        """The way, in a few words."""
        return f"TFLite's reference kernels (LiteRT {litert.installed()})"

    def run(self, source: ModelFile, steps: Steps) -> list[list[Array]]:
        """Compute the outputs of a model; InputError if LiteRT cannot run it."""
        oracle = Oracle(source)
        return [oracle.step(step) for step in steps]


@dataclass(frozen=True)
class Npu:
    """Vela and the simulator; `facts` are those of the `board`, `python` has another Vela."""

    npu: str
    facts: VelaFacts | None = None
    memory_mode: str | None = None
    python: str | None = None
    board: str | None = None
    _made: dict[bytes, ModelFile] = field(default_factory=dict, compare=False, repr=False)

    @property
    def release(self) -> str:
        """The release of Vela."""
        return vela.release(self.python)

    @property
    def mode(self) -> str:
        """The memory mode."""
        return self.memory_mode or (self.facts or targets.TARGETS[self.npu]).memory_mode

    @property
    def system_config(self) -> str:
        """Vela's section of the system."""
        return (self.facts or targets.TARGETS[self.npu]).system_config

    @property
    def title(self) -> str:
        """NPU, memory mode, release."""
        return f"{self.npu}, {self.mode}, Vela {self.release}"

    def compile(self, source: ModelFile) -> ModelFile:
        """Compile a model, and plan the memory of its CPU operators."""
        if source.data not in self._made:
            made = vela.compiled(
                source,
                self.npu,
                board=self.facts,
                memory_mode=self.memory_mode,
                python=self.python,
            )
            self._made[source.data], _ = load.prepare(source, made.file)
        return self._made[source.data]

    def run(self, source: ModelFile, steps: Steps) -> Outcome:
        """Compute the outputs of a model; a crash of Vela or an NPU error is an outcome, too."""
        try:
            return simulation.outputs(self.compile(source), steps)
        except CannotRunError:
            raise
        except (InputError, BoardError) as error:
            return str(error)
