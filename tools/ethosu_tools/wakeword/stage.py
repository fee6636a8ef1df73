# SPDX-License-Identifier: MIT
"""Where listen.py runs: on a board, or here with the simulated NPU. It says the same on both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import numpy as np

from .. import qemu, romfs
from ..arrays import Array
from ..board import Board, QemuBoard
from ..deploy import deploy
from ..port import OnOutput
from ..sim import Simulation
from ..tflite import Tensor
from ..ui import visible
from . import listen
from .words import WakeWord

SILENCE_TIMEOUT_S = 30
# No sound that a board's ROM holds takes it so long.
SOUND_TIMEOUT_S = 3600

Say = Callable[[str], None]
Stage = Callable[[WakeWord, str, Say], None]
"""Streams the named sound through a fresh model of the word, handing out each line."""


class Runner(Protocol):
    """A loaded model: the simulated NPU's, or the reference's."""

    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]

    def step(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Run once."""


class PcModel:
    """A runner with the face of `ethosu.Model`, as far as listen.py needs it."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.input_shape = [tensor.shape for tensor in runner.inputs]
        self.input_scale = [tensor.scale for tensor in runner.inputs]
        self.input_zero_point = [tensor.zero_point for tensor in runner.inputs]
        self.output_scale = [tensor.scale for tensor in runner.outputs]
        self.output_zero_point = [tensor.zero_point for tensor in runner.outputs]

    def predict(self, inputs: Sequence[Array]) -> list[Array]:
        """Run once with flat arrays."""
        shaped = [
            np.asarray(array, tensor.dtype).reshape(tensor.shape)
            for array, tensor in zip(inputs, self._runner.inputs, strict=True)
        ]
        return [output.ravel() for output in self._runner.step(shaped)]


@contextlib.contextmanager
def open_stage(where: str, npu: str, rom: Path) -> Iterator[Stage]:
    """Open `where` (sim, qemu or a serial port), with the files of `rom` in its ROM."""
    if where == "sim":
        yield on_pc(lambda word: Simulation(rom / f"{word.name}.tflite", npu), rom)
        return
    with _board(where, npu, rom) as board:
        board.soft_reset()  # mounts what was deployed
        board.exec("import ethosu\nfrom listen import listen")
        yield on_board(board)


def on_pc(load: Callable[[WakeWord], AbstractContextManager[Runner]], rom: Path) -> Stage:
    """A stage in this process."""

    def run(word: WakeWord, sound: str, say: Say) -> None:
        with load(word) as runner:
            model = PcModel(runner)
            listen.listen(model, rom / sound, word.cutoff, word.window, say=say)  # type: ignore[no-untyped-call]

    return run


def on_board(board: Board) -> Stage:
    """A stage on a board that has the files in its ROM and `listen` imported."""

    def run(word: WakeWord, sound: str, say: Say) -> None:
        board.exec(
            command(word, sound),
            timeout=SILENCE_TIMEOUT_S,
            overall=SOUND_TIMEOUT_S,
            on_output=by_lines(say),
        )

    return run


def command(word: WakeWord, sound: str) -> str:
    """What is typed at a board's prompt to hear one sound."""
    model = f'ethosu.Model("/rom/{word.name}.tflite")'
    return f'listen({model}, "/rom/{sound}", cutoff={word.cutoff}, window={word.window})'


def by_lines(say: Say) -> OnOutput:
    """Gather a board's output and return whole lines."""
    pending = bytearray()

    def take(piece: bytes) -> None:
        pending.extend(piece)
        while (end := pending.find(b"\n")) >= 0:
            line = visible(pending[:end].decode(errors="replace").strip())
            del pending[: end + 1]
            say(line)

    return take


def _board(where: str, npu: str, rom: Path) -> Board:
    if where == "qemu":
        return QemuBoard(qemu.Machine(npu, romfs=romfs.load_image(rom)))
    deploy(where, romfs.read_tree(rom))
    return Board(where)
