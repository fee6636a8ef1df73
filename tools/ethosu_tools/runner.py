# SPDX-License-Identifier: MIT
"""A loaded model, ready to run: on the simulator, on an emulated board or on a real one."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .arrays import Array, Feed
from .closeable import Closeable
from .errors import UsageError
from .model import ModelFile, Tensor
from .ui import Update

if TYPE_CHECKING:
    from .board import Board


class Runner(Closeable):
    """Common base of all three."""

    npu: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]

    @abstractmethod
    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model step by step, keeping its state; yields the outputs of each step."""

    @abstractmethod
    def reset(self) -> None:
        """Reset the model's state."""


def open_runner(
    model: Path | ModelFile,
    where: "str | Board" = "sim",
    *,
    npu: str | None = None,
    board: str | None = None,
    console: str | None = None,
    coherence: str | None = None,
    data: Path | None = None,
    progress: Update | None = None,
) -> Runner:
    """Load a compiled model on `where`: "sim", "qemu", "web", "accel" or a Linux device, a port,
    or an open board, which stays open.

    A port is a serial port or pyserial URL; devices of Linux are /dev/accel/accel*.

    A simulated NPU is the one that the model was compiled for, unless overridden by `npu`. `board`
    is the one to emulate, see boards.py; `coherence` is the mode of its CPU's data cache. `data` is
    the data file of a program, if it is not the one in the program's folder.
    `progress` is called while a model is sent over a serial line.
    """
    file = ModelFile.of(model, data)
    if not isinstance(where, str):
        from .remote import SerialRunner

        return SerialRunner(file, where, progress)
    # Imported here: each of these loads modules that the others do not need.
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
    if "/" not in where and ":" not in where:
        raise UsageError(
            f"cannot run on {where!r}: expected sim, qemu, accel, web or a port like /dev/ttyACM0"
        )
    return SerialRunner(file, where, progress)
