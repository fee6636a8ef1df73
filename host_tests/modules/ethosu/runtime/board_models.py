# SPDX-License-Identifier: MIT
"""Runs models on a board with the Python module."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.arrays import Array
from ethosu_tools.board import Board
from ethosu_tools.errors import RemoteError

MODEL = "/model.tflite"

_RUN_ALL = """
import ethosu
inputs, outputs = open("/in.bin", "rb"), open("/out.bin", "wb")
with ethosu.Model({model!r}) as m, inputs, outputs:
    for _ in range({steps}):
        for tensor in m.inputs:
            inputs.readinto(tensor.data)
        m.run_into()
        for tensor in m.outputs:
            outputs.write(tensor.data)
"""


def run_all(
    board: Board, compiled: Path, inputs: Sequence[Sequence[Array]], like: Sequence[Array]
) -> list[list[Array]]:
    """Run a compiled model on the inputs of each step; the outputs are shaped as `like`."""
    board.write_file(MODEL, compiled.read_bytes())
    board.write_file("/in.bin", b"".join(array.tobytes() for row in inputs for array in row))
    board.exec(_RUN_ALL.format(model=MODEL, steps=len(inputs)), timeout=120)
    data = board.read_file("/out.bin")
    rows, position = [], 0
    for _ in inputs:
        row = []
        for array in like:
            row.append(np.frombuffer(data, array.dtype, array.size, position))
            position += array.nbytes
        rows.append(row)
    assert position == len(data)
    return rows


def load(board: Board, compiled: Path, name: str = "m") -> None:
    """Put a compiled model on the board and load it there under a name."""
    board.write_file(MODEL, compiled.read_bytes())
    board.exec(f"import ethosu\n{name} = ethosu.Model({MODEL!r})")


def raised(board: Board, code: str) -> str:
    """What an expression or statement raises on the board: "OSError 110 message"."""
    return board.exec(
        "try:\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    print('nothing')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, *error.args)\n"
    ).strip()


def interrupt(board: Board, code: str) -> None:
    """Start code that never returns, and interrupt it with Ctrl-C."""
    board.start(f"print('begun')\n{code}")
    heard = []

    def on_output(data: bytes) -> None:
        heard.append(data)
        if len(heard) == 1:
            time.sleep(0.2)  # the rest of the line is on its way, then the wait begins
            board.inject(b"\x03")

    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        board.finish(timeout=5, on_output=on_output)
