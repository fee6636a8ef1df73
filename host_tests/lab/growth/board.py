# SPDX-License-Identifier: MIT
"""Guest instructions and heap bytes on an emulated board whose clock counts instructions."""

from collections.abc import Sequence
from pathlib import Path

from ethosu_tools import boards
from ethosu_tools.boards.coherence import OFF
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.qemu import Machine

from host_tests.lab.growth import models
from host_tests.lab.growth.series import BYTES, INSTRUCTIONS, Series

_TIMEOUT_S = 300
# The heap is swept before each measurement, so that its state does not depend on the last one. The
# code runs in a function: with locals, as in a program.
_CODE = """\
import emulator, ethosu, gc, uctypes
def count(act, *values):
    gc.collect()
    begin = emulator.instructions()
    act(*values)
    return emulator.instructions() - begin
def costs(address, size):
    file = uctypes.bytearray_at(address, size)
    gc.collect()
    before = gc.mem_alloc()
    model = ethosu.Model(file)
    gc.collect()
    heap = gc.mem_alloc() - before
    ins = [bytearray(len(bytes(t.data))) for t in model.inputs]
    outs = [bytearray(len(bytes(t.data))) for t in model.outputs]
    model.run_into()
    in_c = emulator.model_costs(file)
    return (in_c['load'], in_c['invoke'], count(ethosu.Model, file),
            count(model.run_into), count(model.run_into, ins, outs), heap)
def several(address, size, number):
    file = uctypes.bytearray_at(address, size)
    ethosu.Model(file).run_into()
    def load():
        for at in range(number):
            loaded[at] = ethosu.Model(file)
    def run():
        for model in loaded:
            model.run_into()
    loaded = [None] * number
    gc.collect()
    before = gc.mem_alloc()
    loading = count(load)
    gc.collect()
    heap = gc.mem_alloc() - before
    count(run)
    return loading, emulator.model_costs(file)['load'], count(run), heap
"""
LOAD = "load in C, verified"
INVOKE = "inference in C"
MODEL = "Model()"
RUN_INTO = "run_into()"
RUN_INTO_COPIES = "run_into(inputs, outputs)"
HEAP = "heap"
_COSTS = {
    LOAD: INSTRUCTIONS,
    INVOKE: INSTRUCTIONS,
    MODEL: INSTRUCTIONS,
    RUN_INTO: INSTRUCTIONS,
    RUN_INTO_COPIES: INSTRUCTIONS,
    HEAP: BYTES,
}
LOAD_ALL, LOAD_MORE = "Model() of all of them", "load one more in C, verified"
RUN_ALL, HEAP_ALL = "run_into() of each", "heap of all of them"


class Counter:
    """An emulated board that counts."""

    def __init__(self) -> None:
        """Start it."""
        machine = Machine(emulated(boards.DEFAULT, models.NPU, coherence=OFF), repeatable=True)
        self._machine, self._board = machine, QemuBoard(machine)
        self._board.exec(_CODE)

    def __enter__(self) -> "Counter":
        return self

    def __exit__(self, *_: object) -> None:
        self._board.close()

    def costs(self, model: Path) -> tuple[int, ...]:
        """What one model costs, in the order of `_COSTS`."""
        return self._ask("costs", model)

    def several(self, model: Path, number: int) -> tuple[int, ...]:
        """What a model costs several times: to load all, one more, to run each, their heap."""
        return self._ask("several", model, number)

    def _ask(self, function: str, model: Path, *values: int) -> tuple[int, ...]:
        """Call a function of the board with a file in memory that nothing else uses."""
        data, start = model.read_bytes(), self._machine.window.start
        self._machine.memory.write(start, data)
        words = ", ".join(map(str, (start, len(data), *values)))
        found: tuple[int, ...] = self._board.eval(f"{function}({words})", timeout=_TIMEOUT_S)
        return found


def of_models(axis: str, sizes: Sequence[int], files: Sequence[Path], *wanted: str) -> list[Series]:
    """Costs of one model for each size."""
    with Counter() as counter:
        rows = zip(*map(counter.costs, files), strict=True)
        found = dict(zip(_COSTS, rows, strict=True))
    return [Series(axis, name, _COSTS[name], tuple(sizes), tuple(found[name])) for name in wanted]


def of_several(axis: str, sizes: Sequence[int], model: Path) -> list[Series]:
    """Costs of several loaded models, all from one file."""
    names = {
        LOAD_ALL: INSTRUCTIONS,
        LOAD_MORE: INSTRUCTIONS,
        RUN_ALL: INSTRUCTIONS,
        HEAP_ALL: BYTES,
    }
    with Counter() as counter:
        rows = zip(*(counter.several(model, number) for number in sizes), strict=True)
    return [
        Series(axis, name, unit, tuple(sizes), tuple(counts))
        for (name, unit), counts in zip(names.items(), rows, strict=True)
    ]
