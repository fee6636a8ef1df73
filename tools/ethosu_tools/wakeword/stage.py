# SPDX-License-Identifier: MIT
"""Where listen.py runs: on a board, or here with the simulated NPU. It says the same on both."""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .. import audio, qemu, romfs
from ..arrays import Array
from ..board import Board, QemuBoard
from ..deploy import deploy
from ..model.graph import Tensor
from ..port import OnOutput
from ..sim import Simulation
from ..ui import visible
from . import features, listen
from .words import WakeWord

SILENCE_TIMEOUT_S = 30
# No sound that a board's ROM holds takes it so long.
SOUND_TIMEOUT_S = 3600

# Samples that a ring holds: a quarter of a second.
RING = 4096
IMPORTS = """\
import ethosu
from ethosu_audio import MicroFrontend, Ring
from listen import Console, Word, listen"""

# What the board's listen.py says when it wants more of a sound that comes over the console.
ASKS = "send "


@dataclass(frozen=True)
class Source:
    """Where a board hears a sound: 16-bit samples in a file of its ROM, or over the console."""

    file: str
    pcm: bytes
    streamed: bool


Say = Callable[[str], None]
Stage = Callable[[Sequence[WakeWord], Source, Say], None]
"""Gives a sound to fresh models of the words, handing out each line."""


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
        (self._input,) = runner.inputs
        self.input_shape = [self._input.shape]
        self.output_scale = [tensor.scale for tensor in runner.outputs]
        self.output_zero_point = [tensor.zero_point for tensor in runner.outputs]

    def predict(self, inputs: Sequence[Any]) -> list[Array]:
        """Run once with real numbers."""
        real = np.asarray(inputs[0]).reshape(self._input.shape)
        return [output.ravel() for output in self._runner.step([features.raw(real, self._input)])]


@contextlib.contextmanager
def open_stage(where: str, npu: str, rom: Path, name: str | None = None) -> Iterator[Stage]:
    """Open `where` (sim, qemu or a serial port), with the files of `rom` in its ROM.

    `name` is that of the board that qemu emulates.
    """
    if where == "sim":
        yield on_pc(lambda word: Simulation(rom / f"{word.name}.tflite", npu))
        return
    with _board(where, npu, rom, name) as board:
        board.soft_reset()  # mounts what was deployed
        board.exec(IMPORTS)
        yield on_board(board)


def on_pc(load: Callable[[WakeWord], AbstractContextManager[Runner]]) -> Stage:
    """A stage in this process."""

    def run(words: Sequence[WakeWord], source: Source, say: Say) -> None:
        with contextlib.ExitStack() as stack:
            models = [PcModel(stack.enter_context(load(word))) for word in words]
            listen.listen(  # type: ignore[no-untyped-call]
                audio.MicroFrontend(),
                audio.Ring(RING),
                [
                    listen.Word(word.name, model, word.cutoff, word.window)  # type: ignore[no-untyped-call]
                    for word, model in zip(words, models, strict=True)
                ],
                io.BytesIO(source.pcm),
                say,
            )

    return run


def on_board(board: Board) -> Stage:
    """A stage on a board that has the files in its ROM, after IMPORTS."""

    def run(words: Sequence[WakeWord], source: Source, say: Say) -> None:
        rest = io.BytesIO(source.pcm)

        def answer(line: str) -> None:
            if line.startswith(ASKS):
                piece = rest.read(int(line.removeprefix(ASKS)))
                board.inject(base64.b64encode(piece) + b"\n")
            else:
                say(line)

        board.exec(
            command(words, source),
            timeout=SILENCE_TIMEOUT_S,
            overall=SOUND_TIMEOUT_S,
            on_output=by_lines(answer),
        )

    return run


def command(words: Sequence[WakeWord], source: Source) -> str:
    """What is typed at a board's prompt, after IMPORTS, to hear one sound."""
    models = ", ".join(
        f'Word("{name}", ethosu.Model("/rom/{name}.tflite"), {word.cutoff}, {word.window})'
        for word in words
        for name in (word.name,)
    )
    sound = "Console()" if source.streamed else f'open("/rom/{source.file}", "rb")'
    return f"listen(MicroFrontend(), Ring({RING}), [{models}], {sound})"


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


def _board(where: str, npu: str, rom: Path, name: str | None) -> Board:
    if where == "qemu":
        return QemuBoard(qemu.Machine(npu, board=name, romfs=romfs.load_image(rom)))
    deploy(where, romfs.read_tree(rom))
    return Board(where)
