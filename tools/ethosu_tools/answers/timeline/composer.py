# SPDX-License-Identifier: MIT
"""Merges the steps of the CPU and the calls of the NPU into one time line.

An emulated board counts the instructions of each step; the estimate gives the length of the
NPU's calls. A CPU that waits for the NPU continues when the NPU has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...base.errors import InputError
from . import processor
from .processor import Watched

_NAMES = {"step_copy": "copy", "step_fill": "fill", "step_jump": "branch"}
_CALL = "call of the model"


class Span(NamedTuple):
    """A piece of the CPU's time, in microseconds; `interrupt` if it handles the NPU's interrupt."""

    name: str
    begin: float
    end: float
    instructions: int
    interrupt: bool = False


@dataclass
class Composer:
    """Follows the events of one inference.

    clock: MHz of the CPU; durations: of each NPU call, in microseconds; kernels: names.
    Results: `spans` of the CPU, `starts` of the NPU's calls, and the time `now`.
    """

    clock: float
    durations: Sequence[float]
    kernels: Iterator[str]
    spans: list[Span] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    now: float = 0.0
    _count: int = 0  # instructions until now
    _step: str = _CALL  # "" while the CPU sleeps
    _interrupt: bool = False
    _begin: tuple[float, int] = (0.0, 0)  # time and instructions at the start of the step
    _waits: bool = False
    _npu_end: float = 0.0

    def follow(self, watched: Watched) -> None:
        """Compose the whole inference."""
        for event in watched.events:
            self._advance(event.at)
            if event.what == processor.NPU_STARTS:
                self._npu_starts()
            elif event.what in (processor.NPU_ENDS, processor.HANDLER):
                self._interrupted(handler=event.what == processor.HANDLER)
            else:
                self._enter(event.what)
        self._advance(watched.instructions)
        self._catch_up()
        self._leave()

    def _advance(self, count: int) -> None:
        self.now += (count - self._count) / self.clock
        self._count = count

    def _catch_up(self) -> None:
        """Let a CPU that waits for the NPU wait until the end of the call."""
        if self._waits:
            self.now = max(self.now, self._npu_end)

    def _leave(self) -> None:
        """End the step that the CPU is in."""
        if self._step:
            begin, count = self._begin
            instructions = self._count - count
            self.spans.append(Span(self._step, begin, self.now, instructions, self._interrupt))
        self._step, self._interrupt = "", False

    def _begin_step(self, name: str, *, interrupt: bool = False) -> None:
        self._leave()
        self._step, self._interrupt = name, interrupt
        self._begin = self.now, self._count

    def _npu_starts(self) -> None:
        if len(self.starts) == len(self.durations):
            raise InputError(
                f"the NPU was started more than {len(self.starts)} times, as often as the model's "
                "commands are known to run"
            )
        self._npu_end = self.now + self.durations[len(self.starts)]
        self.starts.append(self.now)
        # If a model has a single call, no step of the runtime starts and awaits it.
        self._waits = self._waits or self._step == _CALL
        if self._waits:
            self._leave()

    def _interrupted(self, *, handler: bool) -> None:
        """Continue after the NPU's end; a running kernel's time includes its interrupts."""
        if not self._waits:
            return
        self._catch_up()
        if handler and not self._interrupt:
            self._begin_step("NPU's interrupt, return to the runtime", interrupt=True)

    def _enter(self, what: str) -> None:
        self._catch_up()
        self._begin_step(self._name(what))
        self._waits = what in (processor.START, processor.WAIT)

    def _name(self, what: str) -> str:
        if what == processor.KERNEL:
            return next(self.kernels)
        if what in (processor.START, processor.START_ONLY):
            return f"start of ethos-u {len(self.starts)}"
        if what == processor.WAIT:
            return f"wait for ethos-u {len(self.starts) - 1}"
        return _NAMES.get(what, what.removeprefix(processor.STEP))
