# SPDX-License-Identifier: MIT
"""The serial campaign runs commands on an emulated board over a line that loses, doubles, damages,
delays and floods bytes, and deploys to a board that is reset at any moment.

make campaign-serial RUNS=10000

Each round draws its faults from the seed and its number. Its command must end with the right
result, or with exit code 5 and one sentence; the same command over a good line must then produce
the right result. Time-outs are shortened, so a busy host may fail a command, never a round.
"""

import contextlib
import io
import json
import random
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from ethosu_tools import cli
from ethosu_tools.base import deadline
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile.vela import compile_model
from ethosu_tools.link import board, deploy
from ethosu_tools.link.emulator import qemu
from ethosu_tools.model import make_model, romfs, tflite
from ethosu_tools.sim.oracle import run as reference

from .bad_line import KINDS, BadLine, Fault
from .common import Counts, FoundError, repeat

NPU = "ethos-u55-128"
STEPS = 2
MODELS = ("small_cnn", "small_streaming")
ROM = {"old.txt": b"what was there", "lib": {"old.py": b"x = 1\n"}}
# The tools' longest time-out is reduced to 3 s.
FASTER = 40
# A command that still runs after this time hangs, since no command has so many time-outs.
HANG_S = 600


class HangError(Exception):
    """A command hung."""


@dataclass
class Outcome:
    """The outcome of a command."""

    code: int
    out: str
    err: str


class Line:
    """A board, a bad line to it, and the commands with their expected results."""

    def __init__(self, folder: Path, compiled=None) -> None:
        """Start a board; `compiled` compiles a model, or returns an earlier result."""
        self.folder = folder
        self._compiled = compiled or self._compile
        self.machine = qemu.Machine(emulated(npu=NPU), romfs=romfs.build(ROM))
        board.Board(self.machine.port).close()
        self.line = BadLine(self.machine.port)
        self.commands = [self._make_run(name) for name in MODELS] + [self._deploy]
        self.seen: Counter[str] = Counter()

    def close(self) -> None:
        """Close line and board."""
        self.line.close()
        self.machine.close()

    def round(self, seed: int, number: int) -> None:
        """Run a command over a bad line, then over a good one; AssertionError reports a failure."""
        dice = random.Random(f"{seed} {number}")
        command = dice.choice(self.commands)
        forget = dice.random() < 0.3
        faults = [_draw(dice) for _ in range(dice.choice((1, 1, 1, 2, 4, 16)))]
        kinds = sorted({each.kind for each in faults})
        if command == self._deploy and dice.random() < 0.4:
            faults, kinds = [], ["reset"]
        self.bad, self.reset_after = True, dice.uniform(0, 2) if kinds == ["reset"] else None
        code = self._play(command, faults, dice, forget=forget)
        assert code in (0, 5), f"{kinds}: code {code}"
        self.seen.update(f"{kind} {code}" for kind in kinds)
        self.bad, self.reset_after = False, None
        assert self._play(command, [], dice) == 0, "a sound line"
        self.seen["sound 0"] += 1

    def _play(self, command, faults: list[Fault], dice: random.Random, *, forget=False) -> int:
        self.line.begin(faults, dice)
        try:
            return command(forget)
        finally:
            self.line.begin([], dice)

    def ethosu(self, *words: object) -> Outcome:
        """Run a command in this process."""
        out, err = io.StringIO(), io.StringIO()
        signal.signal(signal.SIGALRM, _hangs)
        signal.alarm(HANG_S)
        try:
            with (
                faster() if self.bad else contextlib.nullcontext(),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                code = cli.main([str(word) for word in words])
        finally:
            signal.alarm(0)
        outcome = Outcome(code, out.getvalue(), err.getvalue())
        assert code == 0 or len(outcome.err.splitlines()) == 1, outcome
        assert all(each.isprintable() or each == "\n" for each in outcome.out + outcome.err), (
            outcome
        )
        return outcome

    def _make_run(self, name: str):
        source = self.folder / f"{name}.tflite"
        source.write_bytes(make_model.MODELS[name]())
        compiled, given = self._compiled(source, NPU), self.folder / f"{name}.npz"
        dice = np.random.default_rng(1)
        inputs = {
            str(index): dice.integers(-128, 128, (STEPS, *tensor.shape)).astype(tensor.dtype)
            for index, tensor in enumerate(tflite.describe(source).inputs)
        }
        np.savez(given, **inputs)
        expected = reference(source, inputs)

        def command(forget: bool) -> int:
            if forget:
                self._forget_models()
            output = self.folder / "out.npz"
            output.unlink(missing_ok=True)
            words = ("run", compiled, "--on", self.line.port, "--input", given)
            done = self.ethosu(*words, "--output", output, "--json")
            assert output.exists() == (done.code == 0), done
            if done.code == 0:
                assert json.loads(done.out)["npu"] == NPU
                with np.load(output) as found:
                    assert set(found) == set(expected)
                    for key, array in expected.items():
                        assert np.array_equal(found[key], array), f"output {key} is wrong"
            return done.code

        return command

    def _compile(self, source: Path, npu: str) -> Path:
        compile_model(source, npu, source.with_suffix(".vela"))
        return source.with_suffix(".vela")

    def _forget_models(self) -> None:
        self.line.pause()
        with board.Board(self.machine.port) as handle:
            handle.exec(
                "import os\nfor name in os.listdir('/'):\n"
                " if name.startswith('ethosu_'): os.remove('/' + name)"
            )
        self.line.resume()

    def _deploy(self, forget: bool) -> int:
        path = self.folder / "new"
        if forget or not path.exists():
            path.write_bytes(random.randbytes(random.randrange(20_000)))
        before = self._files()
        timer = threading.Timer(self.reset_after or 0, self.machine.reset)
        if self.reset_after is not None:
            timer.start()
        done = self.ethosu("deploy", path, "--on", self.line.port, "--json")
        if self.reset_after is not None:
            timer.join()
        after = self._files()
        new = dict(romfs.files(ROM)) | {"new": path.read_bytes()}
        assert after == new or (done.code and after == before), (
            f"code {done.code}: files {[*after]}"
        )
        return done.code

    def _files(self) -> dict[str, bytes]:
        """Read the board's ROM over a separate line."""
        self.line.pause()
        with board.Board(self.machine.port) as handle:
            handle.soft_reset()
            names = handle.ask(deploy._OPEN)
            files = {
                path: handle.ask(f"_answer = _rom.open({path!r}, 'rb').read()") for path, _ in names
            }
        self.line.resume()
        return files


def _draw(dice: random.Random) -> Fault:
    kind = dice.choice(KINDS)
    place = int(2 ** dice.uniform(0, 15.5))
    return Fault(dice.random() < 0.5, place, kind, dice.choice((1, 1, 1, 2, 3, 10, 300)))


def _hangs(*_) -> None:
    raise HangError(f"the command is at work for {HANG_S} s")


@contextlib.contextmanager
def faster():
    """Shorten all time-outs."""
    real = deadline.Deadline.__init__

    def shorter(self, seconds, process=None):
        real(self, None if seconds is None else seconds / FASTER, process)

    with (
        patch.object(deadline.Deadline, "__init__", shorter),
        patch.object(board, "_QUIET_S", board._QUIET_S / FASTER),
    ):
        yield


@dataclass(frozen=True)
class Serial:
    """The campaign; `compiled` compiles a model, or returns an earlier result."""

    compiled: Callable[[Path, str], Path] | None = None
    chunk = 50

    def run(self, seed: int, first: int, count: int) -> Counts:
        """Play rounds; returns counts of each kind of fault with the resulting exit codes."""
        with tempfile.TemporaryDirectory() as folder:
            line = Line(Path(folder), self.compiled)
            with contextlib.closing(line):
                for number in range(first, first + count):
                    try:
                        line.round(seed, number)
                    except (AssertionError, HangError) as error:
                        raise FoundError(f"{error}\n{repeat('serial', seed, number)}") from error
            return dict(line.seen)
