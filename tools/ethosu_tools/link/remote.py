# SPDX-License-Identifier: MIT
"""Runs compiled models on boards: over the serial line, or through an emulated board's memory."""

import contextlib
import hashlib
import itertools
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import indent

import numpy as np

from ..base import verification
from ..base.errors import BoardError, InputError, RemoteError
from ..base.ui import Update
from ..boards.setup import BoardSetup, emulated
from ..model import ModelFile, arrays, romfs
from ..model.arrays import Array, Feed
from ..sim.runner import Runner
from .board import Board, QemuBoard
from .emulator.qemu import Machine

# A longer silence means that the board hangs; large models take seconds when emulated.
STEP_TIMEOUT_S = 120
# Maximum number of steps on the board before their outputs are fetched.
BLOCK_STEPS = 32
# Maximum number of models kept on a board; fewer if its disk is small.
KEPT_MODELS = 4
ROM_NAME = "model"
_IDS = itertools.count()

# Code for the board: one step on the bytes of all inputs and outputs, or several steps on memory.
# An open board may have several models, so names with an `id` suffix belong to one model.
_LOAD = """\
import ethosu, uctypes
_model{id} = ethosu.Model({path!r}{data}{signature}{verify})
def _parts(data, sizes):
    view, parts, at = memoryview(data), [], 0
    for size in sizes:
        parts.append(view[at:at + size])
        at += size
    return parts
def _step{id}(source, target):
    _model{id}.run_into(_parts(source, {inputs}), _parts(target, {outputs}))
def _block{id}(data, count):
    outputs, data = bytearray(count * {output_bytes}), memoryview(bytearray(data))
    target = memoryview(outputs)
    for index in range(count):
        _step{id}(data[index * {input_bytes}:(index + 1) * {input_bytes}],
              target[index * {output_bytes}:(index + 1) * {output_bytes}])
    return outputs
def _steps{id}(count, source, target):
    for _ in range(count):
        _step{id}(uctypes.bytearray_at(source, {input_bytes}),
              uctypes.bytearray_at(target, {output_bytes}))
        source += {input_bytes}
        target += {output_bytes}
def _copy(target, source, size):
    memoryview(uctypes.bytearray_at(target, size))[:] = uctypes.bytearray_at(source, size)
_answer = ethosu.npus()[_model{id}.npu]
"""
# Prints the addresses of the loaded model's tensors.
_ADDRESSES = "[uctypes.addressof(tensor.data) for tensor in {model}.{tensors}]"

# Counts instructions before counting, before an inference and after it.
COUNTED = """\
def _counted(model):
    from emulator import instructions
    first = instructions()
    begin = instructions()
    model.run_into()
    end = instructions()
    return first, begin, end
"""
_COUNT = (
    COUNTED
    + """\
_answer = []
for _ in range({count}):
{refill}
    _answer.append(_counted({model}))
"""
)
_COUNT_TIMEOUT_S = 300

# Adds a model to the list of used ones, and removes the least recently used ones.
_KEEP = """\
import os
def _keep(path, size, limit):
    list_file = '/ethosu_models'
    try:
        with open(list_file) as file:
            text = file.read()
    except OSError:
        text = ''
    present = ['/' + name for name in os.listdir('/')
               if name.startswith('ethosu_') and '/' + name != list_file]
    names = [name for name in text.split() if name in present and name != path]
    names = [name for name in present if name not in names and name != path] + names
    while names:
        state = os.statvfs('/')
        if len(names) < limit and state[0] * state[3] > size + 4 * state[0]:
            break
        os.remove(names.pop(0))
    new = ' '.join(names + [path])
    if new != text:
        with open(list_file, 'w') as file:
            file.write(new)
_keep({path!r}, {size}, {limit})
"""


class _BoardRunner(Runner):
    """A model on a board; subclasses transfer the bytes."""

    board: Board

    def __init__(self, model: Path | ModelFile) -> None:
        """Describe the model, so that an invalid file is rejected before a board is opened."""
        self._file = ModelFile.of(model)
        description = self._file.compiled
        self._id = next(_IDS)
        self.name = f"_model{self._id}"  # name of the loaded model on the board
        self.inputs, self.outputs = description.inputs, description.outputs
        self.input_bytes = sum(tensor.size for tensor in self.inputs)
        self.output_bytes = sum(tensor.size for tensor in self.outputs)
        self.path = ""  # path of the model on the board, once it is there
        self.data_path: str | None = None  # path of the data file

    def close(self) -> None:
        """Disconnect from the board."""
        self.board.close()

    def reset(self) -> None:
        """Reset the model's state."""
        self.board.ask(f"{self.name}.reset()")

    def _load(self, path: str, data: str | None = None) -> None:
        self.path, self.data_path = path, data
        chosen = self._file.signature
        code = _LOAD.format(
            id=self._id,
            path=path,
            data=f", data={data!r}" if data else "",
            signature=f", signature={chosen!r}" if chosen else "",
            verify=verification.board_argument(),
            inputs=[tensor.size for tensor in self.inputs],
            outputs=[tensor.size for tensor in self.outputs],
            input_bytes=self.input_bytes,
            output_bytes=self.output_bytes,
        )
        try:
            self.npu = self.board.ask(code, timeout=STEP_TIMEOUT_S, kind=str)
        except RemoteError as error:
            if error.kind == "ValueError":  # the model is at fault, as on the simulator
                text = verification.with_hint(error.text)
                raise InputError(f"{self._file}: {text}") from error
            raise

    @contextlib.contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


class EmulatedRunner(_BoardRunner):
    """A model on an emulated board; model and tensors go directly into the board's memory."""

    def __init__(
        self,
        model: Path | ModelFile,
        setup: BoardSetup | None = None,
        *,
        repeatable: bool = False,
        watch: Sequence[int] = (),
    ) -> None:
        """Start a board with the model and its data file in its ROM.

        The default for `setup` is the board that the model was compiled for. `repeatable`: see
        `Machine`. `watch` has addresses of code; `log` gets a line whenever the CPU reaches one.
        """
        super().__init__(model)
        files = self._file.named_files(ROM_NAME)
        self._machine = Machine(
            setup or emulated(file=self._file),
            romfs=romfs.build(files),
            repeatable=repeatable,
            plugin_options=[f"watch={address:x}" for address in watch],
        )
        self.board = QemuBoard(self._machine)
        step_bytes = max(self.input_bytes, self.output_bytes, 1)
        self._window = self._machine.window
        self._block = min(BLOCK_STEPS, self._window.size // 2 // step_bytes)
        with self._closing_on_error():
            self._load(*(f"/rom/{name}" for name in files))

    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model in blocks of steps."""
        if self._block == 0:
            yield from self._run_in_pieces(feed)
            return
        memory, source = self._machine.memory, self._window.start
        target = source + self._window.size // 2
        for start in range(0, feed.steps, self._block):
            block = feed.block(start, min(start + self._block, feed.steps))
            memory.write(source, b"".join(block))
            code = f"_steps{self._id}({len(block)}, {source}, {target})"
            self.board.exec(code, timeout=STEP_TIMEOUT_S)
            for index in range(len(block)):
                data = memory.read(target + index * self.output_bytes, self.output_bytes)
                yield arrays.split(data, self.outputs)

    def refill(self, inputs: Sequence[Array]) -> str:
        """Return code for the board that fills the model's inputs with these arrays.

        InputError: the arrays are larger than the window to the board's memory.
        """
        if self.input_bytes > self._window.size:
            raise InputError(
                f"the inputs have {self.input_bytes:,} bytes, more than the {self._window.size:,} "
                "of the emulated board's window to the host"
            )
        addresses = self.board.eval(_ADDRESSES.format(model=self.name, tensors="inputs"))
        at, lines = self._window.start, []
        for address, array in zip(addresses, inputs, strict=True):
            data = np.asarray(array).tobytes()
            self._machine.memory.write(at, data)
            lines.append(f"_copy({address}, {at}, {len(data)})")
            at += len(data)
        return "\n".join(lines)

    def count_instructions(self, count: int) -> tuple[int, int]:
        """Run `count` inferences on random inputs; returns when the shortest one began and ended.

        Both are numbers of instructions since the board started, without those of counting. The
        first inference, which initialises variables, does not count; an interrupt of the console
        may occur in others.
        """
        # Inputs may share memory with other tensors, and indices must be valid.
        refill = indent(self.refill(arrays.random_inputs(self.inputs)), "    ")
        code = _COUNT.format(model=self.name, refill=refill, count=count)
        rows = self.board.ask(code, timeout=_COUNT_TIMEOUT_S, kind=list)
        counting = statistics.median_low(begin - first for first, begin, _ in rows)
        _, begin, end = min(rows[1:], key=lambda row: row[2] - row[1])
        # Half of the counting's own instructions come before the call, half after it.
        return begin + counting // 2, end - (counting - counting // 2)

    def log(self) -> str:
        """Return the output of emulator and plugin."""
        return self._machine.log()

    def _run_in_pieces(self, feed: Feed) -> Iterator[list[Array]]:
        """Run step by step, with tensors that do not all fit into the window."""
        inputs, outputs = (
            self.board.eval(_ADDRESSES.format(model=self.name, tensors=tensors))
            for tensors in ("inputs", "outputs")
        )
        memory, window = self._machine.memory, self._window
        for index in range(feed.steps):
            for address, array in zip(inputs, feed.step(index), strict=True):
                data = np.asarray(array).tobytes()
                for at in range(0, len(data), window.size):
                    piece = data[at : at + window.size]
                    memory.write(window.start, piece)
                    self.board.exec(f"_copy({address + at}, {window.start}, {len(piece)})")
            self.board.exec(f"{self.name}.run_into()", timeout=STEP_TIMEOUT_S)
            result = bytearray()
            for address, tensor in zip(outputs, self.outputs, strict=True):
                for at in range(0, tensor.size, window.size):
                    size = min(window.size, tensor.size - at)
                    self.board.exec(f"_copy({window.start}, {address + at}, {size})")
                    result += memory.read(window.start, size)
            yield arrays.split(bytes(result), self.outputs)


class SerialRunner(_BoardRunner):
    """A model on a board at a serial port; the model stays there for the next time.

    The least recently used models make room for new ones.
    """

    def __init__(
        self,
        model: Path | ModelFile,
        where: str | Board,
        progress: Update | None = None,
    ) -> None:
        """Send the model to the board's file system, unless it is already there."""
        super().__init__(model)
        named = self._file.named
        self._owns_board = isinstance(where, str)
        self.board = Board(where) if isinstance(where, str) else where
        with self._closing_on_error():
            kind = self._file.kind
            path = self._send(self._file.whole, kind.suffix, progress)
            data = None if named is None else self._send(named, kind.data_suffix, progress)
            self._load(path, data)

    def close(self) -> None:
        """Free the model's memory, and close the board unless it was open before."""
        if self._owns_board:
            super().close()
        else:
            with contextlib.suppress(BoardError):
                self.board.ask(f"{self.name} = None")

    def _send(self, data: bytes, suffix: str, progress: Update | None) -> str:
        """Make sure a file is on the board; returns its path."""
        expected = hashlib.sha256(data)
        path = f"/ethosu_{expected.hexdigest()[:12]}{suffix}"
        present = self.board.file_hash(path) == expected.digest()
        self.board.ask(_KEEP.format(path=path, size=0 if present else len(data), limit=KEPT_MODELS))
        if not present:
            self.board.write_file(path, data, progress=progress)
            if self.board.file_hash(path) != expected.digest():
                raise BoardError(
                    f"{path} on the board differs from the data sent; the disk may be full"
                )
        return path

    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model in blocks of steps, each transferred at once."""
        step_bytes = max(self.input_bytes, self.output_bytes, 1)
        steps = min(BLOCK_STEPS, max(1, self.board.piece_bytes() // step_bytes))
        for start in range(0, feed.steps, steps):
            block = feed.block(start, min(start + steps, feed.steps))
            work = f"lambda data: _block{self._id}(data, {len(block)})"
            data = self.board.exchange(b"".join(block), work, timeout=STEP_TIMEOUT_S)
            if len(data) != len(block) * self.output_bytes:
                raise BoardError(
                    f"the board sent {len(data):,} bytes of outputs, "
                    f"expected {len(block)} times {self.output_bytes:,}"
                )
            for at in range(0, len(data), self.output_bytes):
                yield arrays.split(data[at : at + self.output_bytes], self.outputs)
