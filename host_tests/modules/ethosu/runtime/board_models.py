# SPDX-License-Identifier: MIT
"""Runs models on a board with the Python module."""

import io
import time
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.arrays import Array
from ethosu_tools.board import Board
from ethosu_tools.errors import RemoteError

from .reference_cases import Case, assert_exact

MODEL = "/model.tflite"

# Maximum bytes of inputs, or of one step's inputs, that the board's root holds at a time.
BLOCK_BYTES = 64 << 10

# An inference allocates nothing: with the heap locked, an allocation raises MemoryError.
_RUN = """
import ethosu, micropython
def run(m, steps):
    with open("/in.bin", "rb") as inputs, open("/out.bin", "wb") as outputs:
        for _ in range(steps):
            for tensor in m.inputs:
                inputs.readinto(tensor.data)
            micropython.heap_lock()
            try:
                m.run_into()
            finally:
                micropython.heap_unlock()
            for tensor in m.outputs:
                outputs.write(tensor.data)
"""


def check(board: Board, case: Case, compiled: Path | bytes, *, rom: str = "") -> None:
    """A compiled model on the board matches the reference in each step, and allocates nothing.

    It is sent to the board, unless it has this name in the board's ROM.
    """
    if not rom:
        data = compiled if isinstance(compiled, bytes) else compiled.read_bytes()
        board.write_file(MODEL, data)
    model = f"/rom/{rom}" if rom else MODEL
    board.exec(f"{_RUN}\nm = ethosu.Model({model!r})")
    found: list[list[Array]] = []
    steps = max(1, BLOCK_BYTES // sum(array.nbytes for array in case.inputs[0]))
    for start in range(0, len(case.inputs), steps):
        found += _run(board, case, slice(start, start + steps))
    board.exec("m.deinit()")
    assert_exact(case, found)


def _run(board: Board, case: Case, block: slice) -> list[list[Array]]:
    """Outputs of some steps of the model `m`."""
    rows = case.inputs[block]
    board.write_file("/in.bin", b"".join(array.tobytes() for row in rows for array in row))
    board.exec(f"run(m, {len(rows)})", timeout=120)
    data = io.BytesIO(board.read_file("/out.bin"))
    found = [
        [np.frombuffer(data.read(array.nbytes), array.dtype) for array in row]
        for row in case.outputs[block]
    ]
    assert not data.read()
    return found


def load(board: Board, compiled: Path, name: str = "m") -> None:
    """Put a compiled model on the board and load it there under this name."""
    board.write_file(MODEL, compiled.read_bytes())
    board.exec(f"import ethosu\n{name} = ethosu.Model({MODEL!r})")


def raised(board: Board, code: str) -> str:
    """The exception that code raises on the board: "OSError 110 message"."""
    return board.exec(
        "try:\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    print('nothing')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, *error.args)\n"
    ).strip()


def interrupt(board: Board, code: str, *, after_s: float = 0.2) -> None:
    """Start code that never returns, and interrupt it with Ctrl-C after this many seconds."""
    board.start(f"print('begun')\n{code}")
    heard = []

    def on_output(data: bytes) -> None:
        heard.append(data)
        if len(heard) == 1:
            time.sleep(after_s)  # by default the rest of the line has arrived and the wait begun
            board.inject(b"\x03")

    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        board.finish(timeout=10, on_output=on_output)
