# SPDX-License-Identifier: MIT
"""Counts of one cost at several sizes, and how they grow."""

import gc
import math
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

INSTRUCTIONS = "instructions"
BYTECODES = "bytecodes"
BYTES = "bytes"
# A cost that grows by less than this part of itself over all sizes does not depend on the size.
CONSTANT = 0.05
# The exponent of n log n is below this one for all sizes here; that of n² is 2.
LIMIT = 1.3


@dataclass(frozen=True)
class Series:
    """A cost at increasing sizes."""

    axis: str
    what: str
    unit: str
    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def exponent(self) -> float:
        """The power of the size with which the cost grows at the largest sizes: 1 is linear.

        It is that of the increments, so a fixed cost does not hide it.
        """
        if self.counts[-1] - self.counts[0] <= CONSTANT * self.counts[0]:
            return 0.0
        (n0, n1, n2), (c0, c1, c2) = self.sizes[-3:], self.counts[-3:]
        # A cost that falls depends on something else, such as how blocks lie in a heap, by so much.
        noise = max(c0 - c1, c1 - c2, 1)
        before, after = max(c1 - c0, noise) / (n1 - n0), max(c2 - c1, noise) / (n2 - n1)
        return max(0.0, 1 + math.log(after / before) / math.log((n1 + n2) / (n0 + n1)))

    @property
    def is_linear(self) -> bool:
        """Whether it grows linearly or more slowly."""
        return self.exponent < LIMIT

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**vars(self), "exponent": round(self.exponent, 2), "linear": self.is_linear}


def bytecodes(act: Callable[[], object], files: Sequence[str] = ()) -> int:
    """Bytecode instructions that Python executes in `act`, or only those of some source files.

    Work of C functions is one instruction; `peak_bytes` sees copies that they make.
    """
    gc.collect()
    gc.disable()  # finalisers would count at random places
    try:
        return _count(act, tuple(files))
    finally:
        gc.enable()


if sys.version_info >= (3, 12):

    def _count(act: Callable[[], object], files: tuple[str, ...]) -> int:
        # A trace function sees the instructions of a frame only from its second call on.
        count, events, tool = 0, sys.monitoring, sys.monitoring.PROFILER_ID
        here = sys._getframe().f_code

        def instruction(code: CodeType, _: int) -> Any:
            nonlocal count
            if code is here or (files and not code.co_filename.endswith(files)):
                return events.DISABLE
            count += 1
            return None

        events.use_tool_id(tool, "ethosu")
        try:
            events.register_callback(tool, events.events.INSTRUCTION, instruction)
            events.restart_events()
            events.set_events(tool, events.events.INSTRUCTION)
            act()
        finally:
            events.set_events(tool, events.events.NO_EVENTS)
            events.register_callback(tool, events.events.INSTRUCTION, None)
            events.free_tool_id(tool)
        return count

else:

    def _count(act: Callable[[], object], files: tuple[str, ...]) -> int:
        count = 0

        def local(_: FrameType, event: str, __: Any) -> Any:
            nonlocal count
            count += event == "opcode"
            return local

        def enter(frame: FrameType, _: str, __: Any) -> Any:
            if files and not frame.f_code.co_filename.endswith(files):
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
            return local

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            act()
        finally:
            sys.settrace(before)
        return count


def peak_bytes(act: Callable[[], object]) -> int:
    """The most memory that Python has in use during `act`, beyond what it had before."""
    gc.collect()
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
