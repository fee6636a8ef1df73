# SPDX-License-Identifier: MIT
"""A loaded model ready to run, wherever it is: simulated, on an emulated board, on a real one."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from .arrays import Array, Feed
from .tflite import Tensor
from .ui import Update


class Session(Protocol):
    """What all ways of running a model have in common."""

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

    def close(self) -> None:
        """Give back what the session holds."""


def open_session(
    model: Path,
    where: str = "sim",
    *,
    npu: str | None = None,
    console: str = "fast",
    progress: Update | None = None,
) -> Session:
    """Load a compiled model on `where`: "sim", "qemu", or a serial port or pyserial URL.

    A simulated or emulated NPU is the one that the model was compiled for, unless `npu` names
    another. `progress` is told how much of a model has gone over a serial line.
    """
    # Each of these loads much that the others do not need.
    if where == "sim":
        from .sim import Simulation

        return Simulation(model, npu)
    from .remote import EmulatedSession, SerialSession

    if where == "qemu":
        return EmulatedSession(model, npu, console=console)
    return SerialSession(model, where, progress)
