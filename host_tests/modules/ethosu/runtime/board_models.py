# SPDX-License-Identifier: MIT
"""Runs models on a board with the Python module."""

import io
import time
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.board import Board
from ethosu_tools.errors import RemoteError

from .reference_cases import Case, assert_exact

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


def check(board: Board, case: Case, compiled: Path) -> None:
    """A compiled model computes on the board what the reference does, in each step."""
    board.write_file(MODEL, compiled.read_bytes())
    board.write_file("/in.bin", b"".join(array.tobytes() for row in case.inputs for array in row))
    board.exec(_RUN_ALL.format(model=MODEL, steps=len(case.inputs)), timeout=120)
    data = io.BytesIO(board.read_file("/out.bin"))
    found = [
        [np.frombuffer(data.read(array.nbytes), array.dtype) for array in row]
        for row in case.outputs
    ]
    assert_exact(case, found)
    assert not data.read()


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
