# SPDX-License-Identifier: MIT
"""Steps of the CPU in an inference, in instructions, counted on an emulated board.

The emulator reports when the CPU enters the functions that run a step (modules/ethosu/runtime) and
the NPU's interrupt handler, and when an NPU starts and ends.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ... import boards
from ...base import paths
from ...base.errors import BoardError
from ...boards.setup import emulated
from ...compile.plan.kernels import needs_kernel
from ...link.emulator.emulator_log import LEFT_OUT
from ...link.remote import EmulatedRunner
from ...model import ModelFile
from . import elf

HANDLER = "ethosu_irq_handler"
STEP = "step_"
KERNEL, START, START_ONLY, WAIT = "step_kernel", "step_npu", "step_npu_start", "step_npu_end"
NPU_STARTS, NPU_ENDS = "starts", "ends"
_INFERENCES = 4
_LINE = re.compile(r"^ethosu: watch: (\d+) (?:0x([0-9a-f]+)|\S+ (starts|ends))$", re.MULTILINE)


@dataclass(frozen=True)
class Event:
    """The CPU enters a function, or the NPU starts or ends; `at`: instructions since the call."""

    at: int
    what: str


@dataclass(frozen=True)
class Watched:
    """One inference; `instructions` counts from the call of `run_into()` to its return."""

    events: list[Event]
    instructions: int


def watch(compiled: ModelFile) -> Watched:
    """Run a compiled model on the board that accepts any NPU; its firmware must be built."""
    functions = {
        value & ~1: name
        for name, value in elf.symbols(paths.firmware(boards.DEFAULT)).items()
        if name == HANDLER or name.startswith(STEP)
    }
    with EmulatedRunner(
        compiled, emulated(boards.DEFAULT, file=compiled), repeatable=True, watch=tuple(functions)
    ) as runner:
        begin, end = runner.count_instructions(_INFERENCES)
        log = runner.log()
    if LEFT_OUT in log:
        raise BoardError("the inference has too many steps to be watched")
    events = list(_parse(log, functions, begin, end))
    return Watched(events, end - begin)


def _parse(log: str, functions: dict[int, str], begin: int, end: int) -> Iterator[Event]:
    for line in _LINE.finditer(log):
        count, address, npu = int(line[1]), line[2], line[3]
        if begin <= count < end:
            yield Event(count - begin, npu or functions[int(address, 16)])


def kernel_names(compiled: ModelFile, count: int) -> Sequence[str]:
    """Name the operators of the `count` kernels that an inference runs, in order."""
    if compiled.is_program:
        operators = [each for method in compiled.methods.values() for each in method.operators]
        names = [operator.name for operator in operators if operator.on_cpu]
    else:
        graph = compiled.graph
        operators = [graph.operators[index] for index in needs_kernel(graph)]
        names = [f"{each.name} {graph.tensors[each.outputs[0]].name}" for each in operators]
    # Loops and branches of a program run an operator several times, or not at all.
    return names if len(names) == count else ["CPU operator"] * count
