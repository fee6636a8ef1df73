# SPDX-License-Identifier: MIT
"""A loaded model, ready to run: on the simulator, on an emulated board or on a real one."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from .arrays import Array, Feed
from .model import ModelFile, Tensor
from .ui import Update

if TYPE_CHECKING:
    from .board import Board


class Runner(Protocol):
    """What all three have in common."""

    npu: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model step by step, keeping its state; yields the outputs of each step."""

    def reset(self) -> None:
        """Put the model's state back to the beginning."""

    def close(self) -> None:
        """Release what it holds."""


def open_runner(
    model: Path | ModelFile,
    where: "str | Board" = "sim",
    *,
    npu: str | None = None,
    board: str | None = None,
    console: str = "fast",
    coherence: str | None = None,
    data: Path | None = None,
    progress: Update | None = None,
) -> Runner:
    """Load a compiled model on `where`: "sim", "qemu", "web", "accel" or a device of Linux,
    a port, or a board that is open, which stays so.

    A port is a serial port or pyserial URL; devices of Linux are /dev/accel/accel*.

    A simulated NPU is the one that the model was compiled for, unless `npu` names another. `board`
    is the one to emulate, see boards.py; `coherence` is the mode of its CPU's data cache. `data` is
    the data file of a program, if it is not the one in the program's folder.
    `progress` is told how much of a model has gone over a serial line.
    """
    file = ModelFile.of(model, data)
    if not isinstance(where, str):
        from .remote import SerialRunner

        return SerialRunner(file, where, progress)
    # Each of these loads much that the others do not need.
    if where == "sim":
        from .sim import Simulation

        return Simulation(file, npu, coherence=coherence)
    from .accel import AccelModel, is_device

    if is_device(where):
        return AccelModel(file, where)
    from .remote import EmulatedRunner, SerialRunner, WebRunner

    if where == "web":
        return WebRunner(file, npu)
    if where == "qemu":
        return EmulatedRunner(file, npu, board=board, console=console, coherence=coherence)
    return SerialRunner(file, where, progress)
