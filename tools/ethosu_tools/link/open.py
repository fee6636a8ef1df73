# SPDX-License-Identifier: MIT
"""Loads a compiled model where it is to run: in this process, on an emulated board or a port."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import addons
from ..base.errors import UsageError
from ..base.ui import Update
from ..boards.setup import BoardSetup, emulated
from ..model import ModelFile
from ..sim.runner import Runner

if TYPE_CHECKING:
    from .board import Board


def native(where: str) -> Any:
    """Find an add-on's class for an NPU of this machine, by name or device in /dev/NAME."""
    folder = Path(where).parent
    name = folder.name if folder.parent == Path("/dev") else where
    return addons.load("native", name)


def places() -> list[str]:
    """List what `open_runner` takes, apart from ports."""
    return ["sim", "qemu", *addons.offers("native"), *addons.offers("runner")]


def open_runner(
    model: Path | ModelFile,
    where: "str | Board" = "sim",
    *,
    npu: str | None = None,
    setup: BoardSetup | None = None,
    coherence: str | None = None,
    data: Path | None = None,
    signature: str | None = None,
    progress: Update | None = None,
) -> Runner:
    """Load a compiled model on `where`: "sim", "qemu", an add-on's place, a port, or an open board,
    which stays open.

    A port is a serial port or pyserial URL.

    A simulated NPU is the one that the model was compiled for, unless overridden by `npu`. `setup`
    is the board to emulate, see boards.setup.emulated; `coherence` is the mode of the data cache of
    the simulator's CPU. `data` is the data file of a program, if it is not the one in the program's
    folder. `signature` is one of a `.tflite` with several; None: its first subgraph.
    `progress` is called while a model is sent over a serial line.
    """
    from ..model.tflite import signatures  # flatbuffers, which models in this process do not need

    file = signatures.select(ModelFile.of(model, data), signature)
    # Imported here: each of these loads modules that the others do not need.
    if where == "sim":
        from ..sim.simulation import Simulation

        return Simulation(file, npu, coherence=coherence)
    from .remote import EmulatedRunner, SerialRunner

    if not isinstance(where, str):
        return SerialRunner(file, where, progress)
    if where == "qemu":
        return EmulatedRunner(file, setup or emulated(npu=npu, file=file))
    if maker := native(where):
        opened: Runner = maker(file, where)
        return opened
    if maker := addons.load("runner", where):
        opened = maker(file, npu)
        return opened
    if not re.search(r"[/:]|^COM\d+$", where, re.IGNORECASE):
        raise UsageError(
            f"cannot run on {where!r}: expected {', '.join(places())} or a port like /dev/ttyACM0"
        )
    return SerialRunner(file, where, progress)
